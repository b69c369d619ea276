# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads Markdown as a reader does: pages, headings, links, tables and blocks of commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Blocks of these kinds are there to be typed in.
SHELLS = ("sh", "console", "bash", "shell")
_FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<text>.+?) *$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, the line on which it begins and the heading that it is under."""

    page: Path
    line: int
    section: str
    kind: str
    body: str


@dataclass(frozen=True)
class Command:
    """A command of a page, as the words that a shell would hand to the program."""

    page: Path
    line: int
    section: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {shlex.join(self.words)}"


def pages(root: Path = ROOT) -> list[Path]:
    """List every page that a reader may open."""
    found = [root / name for name in ("README.md", "CONTRIBUTING.md", "lab/README.md")]
    return [*found, *sorted(root.glob("docs/**/*.md")), *sorted(root.glob("examples/**/*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page."""
    text = page.read_text()
    for found in _FENCE.finditer(text):
        indent = len(found["indent"])
        body = "\n".join(line[indent:] for line in found["body"].splitlines())
        above = _HEADING.findall(_FENCE.sub("", text[: found.start()]))
        yield Block(page, text.count("\n", 0, found.start()) + 1, above[-1] if above else "", found["kind"], body)


def commands(page: Path) -> Iterator[Command]:
    """Give the commands of a page, without comments, with continued lines put together."""
    for block in blocks(page):
        if block.kind not in SHELLS:
            continue
        for line in block.body.replace("\\\n", " ").splitlines():
            words = tuple(shlex.split(line.removeprefix("$ "), comments=True))
            if words:
                yield Command(page, block.line, block.section, words)


def prose(page: Path) -> str:
    """Give the text of a page without its blocks, in which nothing is a link or a heading."""
    return _FENCE.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Give the targets of all links of a page."""
    return [found["target"] for found in _LINK.finditer(_CODE.sub("", prose(page)))]


def anchors(page: Path) -> set[str]:
    """Give what a link to a part of the page may name, spelled as the usual renderers spell it."""
    found: set[str] = set()
    for heading in _HEADING.finditer(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["text"]).replace("`", "")
        plain = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        candidate, number = plain, 0
        while candidate in found:
            number += 1
            candidate = f"{plain}-{number}"
        found.add(candidate)
    return found


def rows(page: Path, heading: str) -> list[list[str]]:
    """Give the rows of every table under a heading, without those of the titles."""
    _, _, rest = f"\n{page.read_text()}".partition(f"\n{heading}\n")
    section = re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    found: list[list[str]] = []
    table: list[list[str]] = []
    for line in [*section.splitlines(), ""]:
        if line.startswith("|"):
            table.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
        else:
            found += table[2:]
            table = []
    return found
