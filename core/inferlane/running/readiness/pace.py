"""How often gates probe: many waiting processes together cost no more than a hundred do."""

from __future__ import annotations

import asyncio
import contextlib
import time

_EASY = 100  # checks that one interval takes without stretching
_FIRST_S = 0.1  # what is ready at once is not made to wait
_GROWTH = 1.3
_HURRY_S = 0.5


class Pace:
    """Shared by all gates. ``interval_s``: between two probes of one check, stretched by how many checks wait."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._waiting = 0
        self._bell = asyncio.Event()
        self._rung = 0.0
        self._turn = 0

    def begin(self, checks: int) -> None:
        """So many checks more wait."""
        self._waiting += checks

    def end(self, checks: int) -> None:
        """So many hold. Where one is ready others may be: all who rest are woken, but at most once in an interval."""
        self._waiting -= checks
        if time.monotonic() - self._rung >= self._stretched(self._interval_s):
            self._rung = time.monotonic()
            self._bell.set()
            self._bell = asyncio.Event()

    async def rest(self, tries: int, limit_s: float) -> None:
        """Wait before probing again for the ``tries``-th time; never longer than ``limit_s``."""
        grown = _FIRST_S * _GROWTH ** min(tries, 30)
        pause = min(self._stretched(min(grown, self._interval_s)), max(0.0, limit_s))
        bell = self._bell
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await bell.wait()
                self._turn += 1
                await asyncio.sleep(_HURRY_S * (self._turn % _EASY) / _EASY)

    def _stretched(self, seconds: float) -> float:
        return seconds * max(1.0, self._waiting / _EASY)
