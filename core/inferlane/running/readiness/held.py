"""Processes that somebody holds: stopped by a signal or a debugger, alive and good for nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable

from inferlane.running.processes import proc
from inferlane.running.processes.spawn import Child

_EVERY_S = 2.0
_HELD = ("T", "t")


class Held:
    """Looks at the state of each child, now and then."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self._due = 0.0

    def longest(self, children: Iterable[Child]) -> tuple[tuple[Child, float], ...]:
        """Children that are held, and for how many seconds they have been seen so; the longest first."""
        now = time.monotonic()
        children = tuple(children)
        if now >= self._due:
            self._due = now + _EVERY_S
            states = {child.pid: proc.stat(child.pid) for child in children}
            held = {pid for pid, found in states.items() if found is not None and found.state in _HELD}
            self._since = {pid: self._since.get(pid, now) for pid in held}
        found = [(child, now - self._since[child.pid]) for child in children if child.pid in self._since]
        return tuple(sorted(found, key=lambda item: -item[1]))
