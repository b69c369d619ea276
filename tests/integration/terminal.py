# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A terminal for a program to run in, and what a person would have seen on it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

_CODE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """What a terminal shows after it was sent some text: enough of it for lines that are drawn again."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[str] = [""]
        self.row = self.column = 0
        # Codes that this knows nothing of.
        self.strange: set[str] = set()

    def feed(self, text: str) -> None:
        """Take in text and codes."""
        place = 0
        while place < len(text):
            code = _CODE.match(text, place)
            if code:
                self._obey(code[1], code[2])
                place = code.end()
            else:
                self._put(text[place])
                place += 1

    def shown(self) -> list[str]:
        """All lines, those that have left the screen at its top as well."""
        return [line.rstrip() for line in self.lines]

    def _obey(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        if letter == "A":
            # The cursor does not leave the screen.
            self.row = max(self.row - count, len(self.lines) - self.rows, 0)
        elif letter == "J" and numbers in ("", "0"):
            self.lines[self.row :] = [self.lines[self.row][: self.column]]
        elif letter == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif letter != "m":
            self.strange.add(numbers + letter)

    def _put(self, sign: str) -> None:
        if sign == "\r":
            self.column = 0
        elif sign == "\n":
            self._down()
        elif sign >= " ":
            if self.column >= self.columns:
                self._down()
                self.column = 0
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + sign + line[self.column + 1 :]
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")


class Terminal:
    """A program in a terminal of its own; every text that came is kept with its time."""

    def __init__(self, command: Sequence[str], place: Path, environment: Mapping[str, str], columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.pieces: list[tuple[float, str]] = []
        self._left = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(place)
            os.execvpe(command[0], list(command), dict(environment))
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text: str) -> None:
        """Type something."""
        os.write(self.fd, text.encode())

    def until(self, reached: Callable[[str], Any], seconds: float = 60) -> str:
        """Watch until the text that has come satisfies somebody, or the program has ended."""
        deadline = time.monotonic() + seconds
        while not reached(self.text):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"the moment did not come:\n{self.text[-3000:]}")
            if not self._read():
                break
        return self.text

    def end(self, seconds: float = 60) -> int:
        """Watch to the end; tells the exit code, or the negative number of the signal."""
        self.until(lambda text: False, seconds)
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)

    @property
    def text(self) -> str:
        """Everything that came."""
        return "".join(piece for _when, piece in self.pieces)

    def screen(self) -> Screen:
        """What is shown after all of it."""
        screen = Screen(self.columns, self.rows)
        screen.feed(self.text)
        return screen

    def frames(self) -> list[list[str]]:
        """What was shown after each piece that came."""
        screen, found = Screen(self.columns, self.rows), []
        for _when, piece in self.pieces:
            screen.feed(piece)
            found.append(screen.shown())
        return found

    def _read(self) -> bool:
        if not select.select([self.fd], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        text = self._left + data
        # A sign of several bytes, or a code, may come in two parts.
        try:
            whole, self._left = text.decode(), b""
        except UnicodeDecodeError as error:
            whole, self._left = text[: error.start].decode(), text[error.start :]
        self.pieces.append((time.monotonic(), whole))
        return bool(data)
