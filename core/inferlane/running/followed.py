"""Following logs: each file is read once, in pieces, and every line is shown to all who wait for one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from inferlane.running.judge import compiled, need
from inferlane.running.tails import without_colour
from inferlane.values import LogCheck, Verdict

_PIECE = 1 << 20
_LONGEST_LINE = 1 << 16


class LogFollower:
    """New complete lines of a growing file (``at_end``: from its present end on). Of a longer line 64 KiB count."""

    def __init__(self, path: Path, at_end: bool = False) -> None:
        self.path = path
        self._offset = path.stat().st_size if at_end and path.exists() else 0
        self._partial = b""
        self._skipping = False

    def lines(self, at_end: bool = False) -> list[str]:
        """Lines that were completed since the last call, at most 1 MiB; ``at_end``: the last needs no newline."""
        raw = self._read()
        if not raw and not at_end:
            return []
        *whole, rest = (self._partial + raw).split(b"\n")
        if self._skipping and whole:
            whole = whole[1:]
            self._skipping = False
        if self._skipping:
            rest = b""
        if len(rest) > _LONGEST_LINE:
            whole.append(rest[:_LONGEST_LINE])
            self._skipping, rest = True, b""
        if at_end and rest:
            whole.append(rest)
            rest = b""
        self._partial = rest
        return [without_colour(line[:_LONGEST_LINE].decode(errors="replace")).rstrip("\r") for line in whole]

    def drain(self, at_end: bool = True, limit: int = 16 * _PIECE) -> Iterable[str]:
        """Everything there is now, up to ``limit`` bytes; ``at_end``: its process has ended, the last line counts."""
        for _ in range(limit // _PIECE):
            before = self._offset
            yield from self.lines()
            if self._offset == before:
                break
        if at_end:
            yield from self.lines(at_end=True)

    def _read(self) -> bytes:
        try:
            if self.path.stat().st_size <= self._offset:
                return b""
            with self.path.open("rb") as log:
                log.seek(self._offset)
                raw = log.read(_PIECE)
        except OSError:
            return b""
        self._offset += len(raw)
        return raw


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
