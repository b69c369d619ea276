# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run in words: lines, the region that is drawn again and again, and the table at the end; nothing is printed here."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Callable

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_model import (
    CHANGED,
    FAILED,
    OUTCOMES,
    SKIPPED,
    UNREACHABLE,
    Cell,
    Finished,
    Part,
    Progress,
    Visit,
)

# Tones beside the outcomes.
HEADING, QUIET, PLAIN, LATE = "heading", "quiet", "plain", "late"

_TITLE_WIDTH = 24
_MOST_NAMES = 6
_MOST_LABEL = 36
# A task that is quicker than this has no use for its deadline.
_LIMIT_AFTER = 3.0


@dataclass(frozen=True)
class Line:
    """A text and how it should look."""

    text: str
    tone: str = PLAIN


@dataclass(frozen=True)
class Style:
    """What the terminal can show, and what a change is called."""

    marks: Mapping[str, str]
    turning: str
    between: str
    cut: str
    checking: bool = False

    def word(self, outcome: str) -> str:
        """Name an outcome; in check mode nothing was changed."""
        return "would change" if outcome == CHANGED and self.checking else outcome


def style(unicode: bool, checking: bool = False) -> Style:
    """Choose signs that can be shown."""
    signs = "-✓✓!!✗✗" if unicode else "-++!!xx"
    return Style(
        dict(zip(OUTCOMES, signs)), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" if unicode else "|/-\\", " · " if unicode else " | ", "…" if unicode else "~", checking
    )


def duration(seconds: float) -> str:
    """Say how long something took."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def clock(seconds: float) -> str:
    """Say how long something has been under way, in whole seconds."""
    return f"{int(seconds)}s" if seconds < 60 else duration(seconds).replace("m00s", "m")


def stamp(seconds: float) -> str:
    """Say when, counted from the start of the run."""
    minutes, rest = divmod(int(seconds), 60)
    return f"[{minutes}:{rest:02d}]"


def width(text: str) -> int:
    """Count the columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def clip(text: str, columns: int, cut: str = "…") -> str:
    """Make a text one line of at most so many columns, without signs that would move the cursor."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    if width(plain) <= columns:
        return plain
    taken, room = "", columns - 1
    for sign in plain:
        room -= width(sign)
        if room < 0:
            break
        taken += sign
    return taken + cut if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """Fill a text up to so many columns."""
    return text + " " * (columns - width(text))


def heading(name: str, look: Style) -> Line:
    """Announce a play."""
    return Line(f"\n{name}{f'{look.between}check mode' if look.checking else ''}", HEADING)


def passed_line(name: str, why: str, look: Style) -> Line:
    """One line for a play in which nothing was done."""
    return Line(f"{look.marks[SKIPPED]} {name}: {why}", SKIPPED)


def told(outcomes: Mapping[str, str], look: Style) -> str:
    """Say who ended how, what matters most first."""
    groups = []
    for outcome in reversed(OUTCOMES):
        hosts = [host for host, found in outcomes.items() if found == outcome]
        if hosts:
            groups.append(f"{look.word(outcome)} {', '.join(hosts) if len(hosts) <= _MOST_NAMES else f'{len(hosts)} hosts'}")
    return look.between.join(groups)


def finished_line(finished: Finished, look: Style) -> Line:
    """One line for a phase that is over."""
    title = pad(finished.step.title, _TITLE_WIDTH) if finished.step.phase else finished.step.title
    text = f"{look.marks[finished.outcome]} {duration(finished.seconds):>7}  {title}  {told(finished.outcomes, look)}"
    return Line(text, finished.outcome)


def skipped_line(titles: Sequence[str], look: Style) -> Line:
    """One line for phases in a row that no host had to run."""
    return Line(f"{look.marks[SKIPPED]} {'':>7}  skipped: {', '.join(titles)}", SKIPPED)


def host_line(host: str, outcome: str, seconds: float | None, doing: str, note: str, look: Style) -> Line:
    """One line for what came of a task on a host."""
    parts = [f"{look.word(outcome):<{12 if look.checking else 8}} {host}", "" if seconds is None else duration(seconds), doing, note]
    return Line("    " + "  ".join(part for part in parts if part), outcome)


def waiting(part: Part, now: float, look: Style) -> str:
    """Say how long a host has been at its task, and until when it may be."""
    taken = now - part.since if part.since is not None else 0.0
    limit = f"gives up after {clock(part.limit)}" if part.limit and taken >= _LIMIT_AFTER else ""
    return look.between.join(piece for piece in (clock(taken), limit, part.note) if piece)


def sign_of_life(progress: Progress, now: float, look: Style, still: str = "still at it") -> list[Line]:
    """Lines for what is still under way, where nothing can be drawn again."""
    lines = []
    for visit in progress.open.values():
        running = visit.running
        shown = [f"{host} ({waiting(part, now, look)})" for host, part in list(running.items())[:_MOST_NAMES]]
        more = [f"{len(running) - _MOST_NAMES} more hosts"] if len(running) > _MOST_NAMES else []
        if running:
            lines.append(Line(f"    {still}: {_name(visit)} on {', '.join(shown + more)}", QUIET))
    return lines


def frame(progress: Progress, now: float, since: float, columns: int, rows: int, look: Style) -> list[Line]:
    """The region as it should look now, at most so many columns and rows."""
    turn = look.turning[int((now - since) * 5) % len(look.turning)]
    lines: list[Line] = []
    under_way = [visit for visit in progress.open.values() if visit.running] or list(progress.open.values())[-1:]
    for visit in under_way:
        lines.append(Line(f"{turn} {_name(visit)}", HEADING))
        running = visit.running
        widest = max((width(host) for host in running), default=0)
        # Who has been at it longest is most likely to be the one that a person asks about.
        for host, part in sorted(running.items(), key=lambda item: item[1].since or 0.0):
            late = part.limit is not None and part.since is not None and now - part.since > part.limit
            lines.append(Line(f"    {pad(host, widest)}  {waiting(part, now, look)}", LATE if late else PLAIN))
        done = {host: part.outcome for host, part in visit.hosts.items() if part.since is None and part.outcome is not None}
        if done and running:
            lines.append(Line(f"    done: {told(done, look)}", QUIET))
    room = max(rows, 2) - 1
    if len(lines) > room:
        lines = [*lines[: room - 1], Line(f"    and {len(lines) - room + 1} more lines", QUIET)]
    lines.append(Line(f"  {_so_far(progress, now - since, look)}", QUIET))
    return [Line(clip(line.text, columns, look.cut), line.tone) for line in lines]


def _name(visit: Visit) -> str:
    return f"{visit.step.title}: {visit.step.doing}" if visit.step.phase else visit.step.title


def _so_far(progress: Progress, taken: float, look: Style) -> str:
    cells = [cell.outcome for row in progress.rows.values() for cell in row.values()]
    counted = [f"{look.word(outcome)} {cells.count(outcome)}" for outcome in (CHANGED, FAILED, UNREACHABLE) if outcome in cells]
    return look.between.join([f"{clock(taken)} in all", *counted])


def failure(host: str, title: str, doing: str, said: str, unreachable: bool, ignored: bool) -> list[str]:
    """A failure for people: who, where, and the whole message as it was written."""
    head = "UNREACHABLE" if unreachable else "FAILED"
    place = title if title == doing else f"{title}: {doing}"
    lines = [f"{head}{' (ignored)' if ignored else ''} {host}, {place}"]
    return lines + [f"    {line}".rstrip() for line in said.strip("\n").splitlines()]


def message(host: str, said: object) -> list[str]:
    """What a task has to say: a text, or several."""
    texts = [str(each) for each in said] if isinstance(said, (list, tuple)) else [str(said)]
    lines = [line for text in texts for line in (text.splitlines() or [""])]
    return [f"    {host}: {lines[0]}"] if len(lines) == 1 else [f"    {host}:", *(f"      {line}".rstrip() for line in lines)]


def table(progress: Progress, taken: float, columns: int, look: Style, paint: Callable[[str, str], str]) -> list[str]:
    """Hosts by phases, as many hosts beside each other as fit; phases that nobody ran are only named."""
    shown = {row: cells for row, cells in progress.rows.items() if any(cell.outcome != SKIPPED for cell in cells.values())}
    nobody = [row for row in progress.rows if row not in shown and row in progress.phases]
    labels = {row: clip(row, _MOST_LABEL, look.cut) for row in shown}
    corner = f"took {duration(taken)}"
    left = max(width(label) for label in [*labels.values(), corner])
    totals = {host: sum(cells[host].seconds for cells in shown.values() if host in cells) for host in progress.hosts}
    lines: list[str] = []
    for hosts in _beside([(host, _column(host, shown.values(), totals[host], look)) for host in progress.hosts], columns - left):
        lines += ["", paint(pad(corner, left) + "".join(f"  {pad(host, wide)}" for host, wide in hosts).rstrip(), HEADING)]
        for row, cells in shown.items():
            if any(host in cells for host, _wide in hosts):
                pieces = [_cell(cells.get(host), wide, look, paint) for host, wide in hosts]
                lines.append((pad(labels[row], left) + "".join(pieces)).rstrip())
        lines.append(
            paint((pad("in all", left) + "".join(f"  {pad(duration(totals[host]), wide)}" for host, wide in hosts)).rstrip(), QUIET)
        )
    if nobody:
        lines += ["", paint(f"skipped everywhere: {', '.join(nobody)}", SKIPPED)]
    return lines if progress.hosts and progress.rows else []


def _text(cell: Cell | None, look: Style) -> str:
    if cell is None:
        return ""
    return look.word(cell.outcome) if cell.outcome == SKIPPED else f"{look.word(cell.outcome)} {duration(cell.seconds)}"


def _cell(cell: Cell | None, wide: int, look: Style, paint: Callable[[str, str], str]) -> str:
    text = _text(cell, look)
    return "  " + (paint(text, cell.outcome) if cell else "") + " " * (wide - width(text))


def _column(host: str, rows: Iterable[Mapping[str, Cell]], total: float, look: Style) -> int:
    return max(width(host), width(duration(total)), *(width(_text(cells.get(host), look)) for cells in rows), 0)


def _beside(hosts: list[tuple[str, int]], room: int) -> list[list[tuple[str, int]]]:
    """Cut the hosts into groups that fit beside each other; one always does."""
    groups: list[list[tuple[str, int]]] = []
    taken = room
    for host, wide in hosts:
        if taken + wide + 2 > room:
            groups.append([])
            taken = 0
        groups[-1].append((host, wide))
        taken += wide + 2
    return groups
