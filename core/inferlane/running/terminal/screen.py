"""A table that is refreshed in place below the lines of progress, and what a terminal allows of it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from inferlane.running.terminal.board import Row
from inferlane.running.terminal.outlet import Outlet

_NARROW = 60
_MOST_ROWS = 24


def is_live(environ: Mapping[str, str], tty: bool) -> bool:
    """Whether something may move: on a terminal that can, unless its user or a CI system asks for plain text."""
    plain = environ.get("NO_COLOR") or environ.get("CI", "").lower() not in ("", "0", "false")
    return tty and not plain and environ.get("TERM", "") not in ("", "dumb", "unknown")


def in_foreground(pid: int) -> bool:
    """Whether ``pid`` (the guardian; it has the terminal) runs in its terminal's foreground: not after Ctrl-Z or bg."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode(errors="replace")
    except OSError:
        return True
    fields = text[text.rindex(")") + 2 :].split()
    state, group, front = fields[0], int(fields[2]), int(fields[5])
    return state not in "Tt" and front in (-1, group)


class Screen:
    """Draws on a terminal. ``size``: columns and rows of it, now."""

    def __init__(self, outlet: Outlet, fd: int) -> None:
        self._outlet = outlet
        self._fd = fd
        self._drawn: list[int] = []

    def size(self) -> tuple[int, int]:
        """80 by 24 where the terminal does not tell."""
        try:
            columns, rows = os.get_terminal_size(self._fd)
        except (OSError, ValueError):
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def lines(self, texts: Sequence[str]) -> None:
        """Lines that stay, in place of the table."""
        self._outlet.write(self._erasure() + "".join(f"{text}\n" for text in texts))

    def draw(self, rows: Sequence[Row]) -> None:
        """The table, in place of the one before. Whoever is not ready comes first where not all fit."""
        from rich.cells import cell_len

        columns, height = self.size()
        most = max(1, min(_MOST_ROWS, height - 2))
        shown = list(rows) if len(rows) <= most else sorted(rows, key=lambda row: row.state == "ready")[: most - 1]
        texts = table_lines(shown, columns - 1)
        if len(shown) < len(rows):
            texts.append(cut(f"... and {len(rows) - len(shown)} more", columns - 1))
        erasure = self._erasure()
        self._drawn = [cell_len(text) for text in texts]
        self._outlet.write(erasure + "".join(f"{text}\n" for text in texts))

    def erase(self) -> None:
        """Take the table away."""
        self._outlet.write(self._erasure())

    def forget(self) -> None:
        """Somebody else has written since; what is there stays."""
        self._drawn = []

    def _erasure(self) -> str:
        columns, height = self.size()  # a terminal that became narrower has broken the lines anew
        up = sum(max(1, math.ceil(cells / columns)) for cells in self._drawn)
        self._drawn = []
        return f"\r\x1b[{min(up, height - 1)}A\x1b[J" if up else ""


def table_lines(rows: Sequence[Row], width: int) -> list[str]:
    """Rows as lines of at most ``width`` cells. Where there is little room, the state comes first."""
    name = max((len(row.process) for row in rows), default=0)
    state = max((len(row.state) for row in rows), default=0)
    lines = []
    for row in rows:
        if width < _NARROW:
            head = f"{row.state} {row.seconds:.0f}s {row.process}"
        else:
            head = f"{row.process:<{name}}  {row.state:<{state}}  {row.seconds:>6.0f} s"
        rest = " | ".join(part for part in (row.answer, row.line) if part)
        lines.append(cut(f"{head}  {rest}".rstrip(), width))
    return lines


def cut(text: str, width: int) -> str:
    """At most ``width`` cells of it; wide characters take two."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""
