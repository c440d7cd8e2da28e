"""System V shared memory that processes of a run made and left attached to nobody.

The kernel names the maker of each segment. Semaphore sets have no maker on record, so none is ever removed.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from inferlane.running.leftovers.shm import size_text
from inferlane.running.processes import proc

TABLE = Path("/proc/sysvipc/shm")
_IPC_RMID = 0


class SysV(NamedTuple):
    """A row of the kernel's table. ``id`` is not used again soon: it counts up."""

    id: int
    size: int
    maker: int
    attached: int
    uid: int
    made: int


def table(path: Path = TABLE) -> dict[int, SysV]:
    """Every segment; nothing where the kernel keeps none."""
    try:
        lines = path.read_text().splitlines()[1:]
    except (FileNotFoundError, PermissionError):
        return {}
    rows = [list(map(int, line.split()[:14])) for line in lines]
    return {row[1]: SysV(row[1], row[3], row[4], row[6], row[7], row[13]) for row in rows}


class SysVWatch:
    """Which segments were made by processes of the run while it ran."""

    def __init__(self, tree: Callable[[], Iterable[int]] = lambda: proc.descendants(os.getpid())) -> None:
        self._tree = tree
        self._known = set(table())
        self.segments: list[SysV] = []

    def look(self) -> list[SysV]:
        """One look; the segments that are new. The maker must still live, so that its number is its own."""
        new = [row for number, row in table().items() if number not in self._known]
        if not new:
            return []
        tree = set(self._tree())
        self._known.update(row.id for row in new)
        ours = [row for row in new if row.maker in tree]
        self.segments += ours
        return ours


def remove(segments: Iterable[SysV]) -> tuple[list[str], list[str]]:
    """Remove those that are still there and attached to nobody. Returns what was removed and what stays."""
    there = table()
    removed: list[str] = []
    left: list[str] = []
    libc = ctypes.CDLL(None, use_errno=True)
    for segment in segments:
        row = there.get(segment.id)
        if row is None or (row.maker, row.uid, row.size) != (segment.maker, segment.uid, segment.size):
            continue
        said = f"System V segment {row.id} ({size_text(row.size)})"
        if row.attached:
            left.append(f"{said}, attached to {row.attached} process(es)")
        elif libc.shmctl(row.id, _IPC_RMID, None) == 0:
            removed.append(said)
        else:
            left.append(f"{said}: {os.strerror(ctypes.get_errno())}")
    return removed, left
