"""The start deadline: fixed for what stands still, later for what still moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from inferlane.running.readiness.vitals import Record, Vitals

_SHARE = 10
_LONGEST_PAUSE_S = 300.0
_MOST = 3


class Deadline:
    """``seconds`` from the start of the first process (:meth:`begin`).

    What is waited for then gets more time while it makes progress, until it has made none for a tenth of ``seconds``
    (1 s to 5 min), at most until three times ``seconds``.
    """

    def __init__(self, seconds: float, vitals: Vitals, say: Callable[[str], None], record: Record) -> None:
        self._seconds = seconds
        self._vitals = vitals
        self._say = say
        self._record = record
        self._origin: float | None = None
        self._extended = False
        self._late = 0.0
        self.window = min(max(1.0, seconds / _SHARE), _LONGEST_PAUSE_S)

    def begin(self) -> None:
        """The first process starts now."""
        self._origin = self._origin or time.monotonic()

    def at(self) -> float:
        """When it passes for what makes no progress (monotonic); later by what :meth:`phase_done` gave."""
        return (self._origin or time.monotonic()) + self._seconds + self._late

    def passed(self, waiting: Collection[str | None]) -> bool:
        """Whether there is no more time for these processes; ``None``: something that is no process of the run."""
        now = time.monotonic()
        if now < self.at():
            return False
        if now >= (self._origin or now) + _MOST * self._seconds:
            return True
        for name in waiting:
            moved = self._vitals.moved(name) if name is not None else None
            if moved is None or now - moved > self.window:
                return True
        self._tell(waiting)
        return False

    def phase_done(self) -> None:
        """What was waited for is ready; even at the last moment, what comes after it gets a little time."""
        self._late += max(0.0, time.monotonic() + self.window - self.at())

    def _tell(self, waiting: Collection[str | None]) -> None:
        if self._extended:
            return
        self._extended = True
        names = [name for name in waiting if name is not None]
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        self._record("deadline.extended", processes=names, seconds=self._seconds, at_most=_MOST * self._seconds)
        self._say(
            f"the start deadline of {self._seconds:g} s has passed, but {shown} still makes progress; it gets more "
            f"time, until nothing new is seen for {self.window:g} s, at most {_MOST * self._seconds:g} s in all"
        )
