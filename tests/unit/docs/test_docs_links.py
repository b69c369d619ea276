# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No link of a page leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.documentation.markdown import ROOT, anchors, blocks, links, pages

# Hosts that pages may name; nobody fetches from them here.
_OUTSIDE = ("https://kubernetes.io/", "https://github.com/kubephase/")
# A block of another kind could hold commands that no test sees.
_KINDS = {"sh", "console", "yaml", "ini", "json", "text", "toml"}


def dead(page: Path) -> list[str]:
    """Name the links of a page that lead nowhere."""
    found = []
    for target in links(page):
        if target.startswith("https://"):
            found += [] if target.startswith(_OUTSIDE) else [target]
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists() or (anchor and (place.suffix != ".md" or anchor not in anchors(place))):
            found.append(target)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert dead(page) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_say_what_they_hold(page: Path) -> None:
    assert {block.kind for block in blocks(page)} <= _KINDS


def test_every_page_is_linked_from_another() -> None:
    linked = {(page.parent / target.partition("#")[0]).resolve() for page in pages() for target in links(page) if "://" not in target}
    assert [str(page) for page in pages() if page not in linked and page != ROOT / "README.md"] == []


def test_planted_dead_links_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A b\n\n[x](#a-b) [y](#a-c) [z](none.md) [w](page.md#a-b) `[v](code.md)` [u](https://example.test)\n")
    assert dead(page) == ["#a-c", "none.md", "https://example.test"]
