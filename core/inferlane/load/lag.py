"""How far the client itself is the limit: lateness of its event loop, and its share of one core."""

from __future__ import annotations

import asyncio
import time

import msgspec

from inferlane.load.stats import Distribution

TICK_S = 0.02
LATE_MS = 20.0
BUSY = 0.95


class Saturation(msgspec.Struct, frozen=True, kw_only=True):
    """``saturated``: latencies of this point are in part the client's own. Lateness of the event loop in ms."""

    loop_lag_p95_ms: float = 0.0
    loop_lag_max_ms: float = 0.0
    cpu_share: float = 0.0
    saturated: bool = False


class LagMeter:
    """Measures from :meth:`start` to :meth:`stop`."""

    def __init__(self) -> None:
        self._late = Distribution()
        self._task: asyncio.Task[None] | None = None
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        """Begin to measure."""
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> Saturation:
        """End, and say what was seen."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        wall = max(time.perf_counter() - self._wall, 1e-9)
        share = (time.process_time() - self._cpu) / wall
        seen = self._late.summary()
        late = seen["p95"] or 0.0
        return Saturation(
            loop_lag_p95_ms=round(late, 3),
            loop_lag_max_ms=round(seen["max"] or 0.0, 3),
            cpu_share=round(share, 3),
            saturated=late > LATE_MS or (share > BUSY and wall > 1),
        )

    async def _watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_S)
            self._late.add(max(0, round((time.perf_counter() - before - TICK_S) * 1_000_000)))
