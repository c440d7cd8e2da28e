"""Following logs: each file is read once, in pieces, and every line is shown to all who wait for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from inferlane.running.logs.sieve import LONGEST_LINE
from inferlane.running.logs.tails import without_colour
from inferlane.running.processes.limits import refuse_shortage
from inferlane.running.readiness.judge import compiled, need
from inferlane.values import LogCheck, Verdict

PIECE = 1 << 20
"""Bytes that are read at once."""


class LogFollower:
    """New complete lines of a growing file (``at_end``: from its present end on, else from ``start``). Of a longer line
    64 KiB count.

    A carriage return ends a line too, so that a bar which moves for hours is seen while it moves. A file that was cut
    or replaced is read from its start. ``lost``: it was there and is not any more.
    """

    def __init__(self, path: Path, at_end: bool = False, start: int = 0) -> None:
        self.path = path
        self.lost = False
        self._offset = path.stat().st_size if at_end and path.exists() else start
        self._inode = 0
        self._partial = b""
        self._skipping = False

    def lines(self, at_end: bool = False) -> list[str]:
        """Lines that were completed since the last call, at most 1 MiB, as a terminal would show them in the end;
        ``at_end``: the last one needs no newline.
        """
        text = self.text(at_end)
        return [] if text is None else [line.rpartition("\r")[2][:LONGEST_LINE] for line in text.split("\n")]

    def drain(self, at_end: bool = True) -> Iterable[str]:
        """Every line that is there now; ``at_end``: its process has ended, the last one counts."""
        for text in self.texts(at_end):
            yield from text.split("\n")

    def texts(self, at_end: bool = True) -> Iterator[str]:
        """What is there now, in pieces of whole lines; what is written meanwhile is left for the next time."""
        limit = self._size()
        while self._offset < limit:
            before = self._offset
            if (text := self.text()) is not None:
                yield text.replace("\r", "\n")
            if self._offset == before:
                break
        if at_end and (text := self.text(at_end=True)) is not None:
            yield text.replace("\r", "\n")

    def text(self, at_end: bool = False) -> str | None:
        """The next whole lines, at most 1 MiB, without colours; ``None`` if there is no whole line yet."""
        raw = self._read()
        if not raw and not at_end:
            return None
        if self._skipping:
            end = _first_end(raw)
            if end < 0:
                return None
            raw, self._skipping = raw[end + 1 :], False
        whole, rest = _cut(self._partial + raw, at_end)
        if len(rest) > LONGEST_LINE:
            whole = rest[:LONGEST_LINE] if whole is None else whole + b"\n" + rest[:LONGEST_LINE]
            self._skipping, rest = True, b""
        self._partial = rest
        if whole is None:
            return None
        if b"\r\n" in whole:
            whole = whole.replace(b"\r\n", b"\n")
        return without_colour(whole.decode(errors="replace")).removesuffix("\r")

    def behind(self) -> int:
        """Bytes that are there and were not read yet."""
        return max(0, self._size() - self._offset)

    def _size(self) -> int:
        try:
            found = self.path.stat()
        except OSError:
            self.lost = self._inode != 0
            return 0
        if found.st_ino != self._inode or found.st_size < self._offset:
            if self._inode:  # cut or replaced by somebody: what was there of it is gone
                self._offset, self._partial, self._skipping = 0, b"", False
            self._inode, self.lost = found.st_ino, False
        return found.st_size

    def _read(self) -> bytes:
        if self._size() <= self._offset:
            return b""
        try:
            with self.path.open("rb", buffering=0) as log:
                log.seek(self._offset)
                raw = log.read(PIECE) or b""
        except OSError as error:
            refuse_shortage(error)
            return b""
        self._offset += len(raw)
        return raw


def _first_end(raw: bytes) -> int:
    ends = [at for at in (raw.find(b"\n"), raw.find(b"\r")) if at >= 0]
    return min(ends, default=-1)


def _cut(raw: bytes, at_end: bool) -> tuple[bytes | None, bytes]:
    """Whole lines without the last newline, and the rest. A return at the very end may be half of a line break."""
    if at_end:
        return (raw.removesuffix(b"\n") if raw else None), b""
    end = max(raw.rfind(b"\n"), raw.rfind(b"\r", 0, -1))
    return (None, raw) if end < 0 else (raw[:end], raw[end + 1 :])


class LogWatch:
    """What a ``LogCheck`` has seen so far."""

    def __init__(self, check: LogCheck) -> None:
        self.check = check
        self.first_match = ""
        self._pattern = compiled(check.pattern)
        self._gone = compiled(check.gone) if check.gone else None
        self._lines: dict[str, int] = {}
        self._values: set[str] = set()

    def feed(self, line: str) -> bool:
        """Show it a line; ``True`` if the pattern matched."""
        found = [match[1] if match.re.groups else match[0] for match in self._pattern.finditer(line)]
        if found:
            self.first_match = self.first_match or line
            self._lines[found[0]] = self._lines.get(found[0], 0) + 1
            self._values.update(found)
        if self._gone is not None:
            for match in self._gone.finditer(line):
                self._lines.pop(match[1], None)
                self._values.discard(match[1])
        return bool(found)

    def verdict(self) -> Verdict:
        """Whether the check holds now."""
        count = sum(self._lines.values())
        what = f"log of {self.check.process}: {self.check.pattern!r}"
        return need(sorted(self._values), count, self.check.values, self.check.at_least, what)
