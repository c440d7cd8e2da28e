"""Whether somebody moved the clock of this machine during a run. No deadline and no duration reads that clock."""

from __future__ import annotations

import time

_JUMP_S = 2.0
_EVERY_S = 60.0


def _steady() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps, as the wall clock does


class ClockWatch:
    """Compares the wall clock with one that nobody can move. A slow correction is no jump."""

    def __init__(self) -> None:
        self._at = _steady()
        self._offset = time.time() - self._at
        self.jumps: list[float] = []

    def look(self, now: bool = False) -> None:
        """Each minute, or ``now``: note a jump of more than two seconds."""
        at = _steady()
        if at - self._at < _EVERY_S and not now:
            return
        self._at, offset = at, time.time() - at
        if abs(offset - self._offset) > _JUMP_S:
            self.jumps.append(offset - self._offset)
        self._offset = offset

    def warnings(self) -> list[str]:
        """What to say of it."""
        moved = ", ".join(f"{jump:+.0f} s" for jump in self.jumps)
        if not moved:
            return []
        return [
            f"the clock of this machine was moved during the run ({moved}); times of day before and after it differ"
        ]
