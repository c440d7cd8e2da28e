"""How far the client itself is the limit: lateness of its event loop, and its share of one core."""

from __future__ import annotations

import asyncio
import time

import msgspec

from inferlane.load.stats import Distribution

TICK_S = 0.02
LATE_MS = 20.0
LATE_SHARE = 0.05
BUSY = 0.95


class Saturation(msgspec.Struct, frozen=True, kw_only=True):
    """``saturated``: latencies of this point are in part the client's own. Lateness of the event loop in ms.

    ``late_share``: of the level's time, how much the loop spent in turns that were late by more than ``LATE_MS``; one
    long block shows here, and in no percentile.
    """

    loop_lag_p95_ms: float = 0.0
    loop_lag_max_ms: float = 0.0
    late_share: float = 0.0
    cpu_share: float = 0.0
    saturated: bool = False


class LagMeter:
    """Measures from :meth:`start` to :meth:`stop`."""

    def __init__(self) -> None:
        self._late = Distribution()
        self._late_s = 0.0
        self._task: asyncio.Task[None] | None = None
        self._wall = self._cpu = self._before = 0.0

    def start(self) -> None:
        """Begin to measure."""
        self._wall = self._before = time.perf_counter()
        self._cpu = time.process_time()
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> Saturation:
        """End, and say what was seen."""
        now = time.perf_counter()
        if self._task is not None:
            if not self._task.done() and now - self._before > TICK_S:
                self._tick(now)  # a block that lasted until the end
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        wall = max(now - self._wall, 1e-9)
        share = (time.process_time() - self._cpu) / wall
        seen = self._late.summary()
        late = seen["p95"] or 0.0
        blocked = self._late_s / wall
        return Saturation(
            loop_lag_p95_ms=round(late, 3),
            loop_lag_max_ms=round(seen["max"] or 0.0, 3),
            late_share=round(blocked, 3),
            cpu_share=round(share, 3),
            saturated=late > LATE_MS or blocked > LATE_SHARE or (share > BUSY and wall > 1),
        )

    async def _watch(self) -> None:
        while True:
            self._before = time.perf_counter()
            await asyncio.sleep(TICK_S)
            self._tick(time.perf_counter())

    def _tick(self, now: float) -> None:
        late = max(0.0, now - self._before - TICK_S)
        self._late.add(round(late * 1_000_000))
        if late * 1000 > LATE_MS:
            self._late_s += late
