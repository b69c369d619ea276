# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the pages that are made from the code; with --check it only tells which of them are not current."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.documentation import errors, modules, variables
from tools.documentation.markdown import ROOT


def made() -> dict[str, str]:
    """Spell every page, by its path in the checkout."""
    return {variables.PAGE: variables.render(), errors.PAGE: errors.render(), **modules.render()}


def stale() -> list[str]:
    """Name the pages that differ from what the code says now, and those of modules that are gone."""
    wanted = made()
    gone = {str(path.relative_to(ROOT)) for path in (ROOT / modules.PLACE).glob("*.md")} - set(wanted)
    differing = {name for name, text in wanted.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text}
    return sorted(differing | gone)


def main() -> int:
    """Write what is not current."""
    found, wanted = stale(), made()
    if "--check" in sys.argv[1:]:
        print("\n".join(found))
        return 1 if found else 0
    for name in found:
        path = ROOT / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name])
        else:
            path.unlink()
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
