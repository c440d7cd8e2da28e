"""A real terminal for tests: a program on a pty, and a small emulator that says what a person would see."""

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

_SEQUENCE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[\?\d+[hl]|\x1b\[[\d;]*m")


class Terminal:
    """``argv`` on a pty of its own, as session leader. Use as a context: leaving it ends what still runs."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], columns: int = 80, rows: int = 24) -> None:
        self.raw = ""
        self.status: int | None = None
        self._found = 0
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            _size(0, columns, rows)
            os.execve(argv[0], list(argv), dict(env))  # noqa: S606 - what the test says
        self.columns, self.rows = columns, rows

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        if self.status is None:
            self._ended(10)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self._ended(10)

    def send(self, text: str) -> None:
        """Type it."""
        os.write(self._master, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """As a person drags its corner."""
        self.columns, self.rows = columns, rows
        _size(self._master, columns, rows)

    def hang_up(self) -> None:
        """Close the window."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def until(self, text: str, seconds: float = 30) -> None:
        """Read until ``text`` has come, after what the last call of this kind found; fails otherwise."""
        deadline = time.monotonic() + seconds
        while (found := self.raw.find(text, self._found)) < 0:
            assert time.monotonic() < deadline, (text, self.raw)
            assert self._read(0.1), (text, self.raw)
        self._found = found + len(text)

    def read_for(self, seconds: float) -> str:
        """What comes within that time."""
        deadline, begin = time.monotonic() + seconds, len(self.raw)
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass
        return self.raw[begin:]

    def end(self, seconds: float = 30) -> int:
        """Its exit status, once it ended by itself."""
        deadline = time.monotonic() + seconds
        while self._master >= 0 and time.monotonic() < deadline and self._read(0.1):
            pass
        self._ended(max(0.1, deadline - time.monotonic()))
        assert self.status is not None, self.raw
        return self.status

    def screen(self) -> list[str]:
        """What is on the screen now, without the empty lines below it, at the present width."""
        return shown(self.raw, self.columns, self.rows)

    def _read(self, seconds: float) -> bool:
        """``False``: there will be no more."""
        if not select.select([self._master], [], [], seconds)[0]:
            return True
        try:
            raw = os.read(self._master, 65536)
        except OSError:  # how a pty says that its other side has gone
            return False
        self.raw += raw.decode(errors="replace")
        return bool(raw)

    def _ended(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.status is None and time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            time.sleep(0.02)


def _size(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def shown(raw: str, columns: int, rows: int) -> list[str]:
    """The screen after ``raw``: line breaks, returns, cursor up, erase below, wrapping; wide characters take two."""
    from rich.cells import cell_len

    lines, at, cells = [""], 0, 0
    position = 0
    while position < len(raw):
        if found := _SEQUENCE.match(raw, position):
            position = found.end()
            if found[2] == "A":
                at = max(0, len(lines) - rows, at - int(found[1] or 1))
            elif found[2] == "J":
                lines = [*lines[:at], lines[at] if cells else ""]
            continue
        char = raw[position]
        position += 1
        if char == "\n" or (char not in "\r\n" and cells + cell_len(char) > columns):
            at, cells = at + 1, 0
            if at == len(lines):
                lines.append("")
        if char == "\r":
            cells = 0
        elif char != "\n":
            lines[at] = (lines[at] if cells else "") + char
            cells += cell_len(char)
    while lines and not lines[-1]:
        lines.pop()
    return lines[-rows:]
