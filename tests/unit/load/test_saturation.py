"""The client says when it is itself the limit, and not when it is not."""

from __future__ import annotations

import asyncio
import time

import pytest

from inferlane.load.lag import LagMeter, Saturation


def measured(work: list[float], blocking: bool) -> Saturation:
    async def run() -> Saturation:
        meter = LagMeter()
        meter.start()
        await asyncio.sleep(0)
        for seconds in work:
            if blocking:
                time.sleep(seconds)
            await asyncio.sleep(0 if blocking else seconds)
        return await meter.stop()

    return asyncio.run(run())


def test_a_loop_that_is_blocked_again_and_again_is_saturated() -> None:
    seen = measured([0.15] * 4, blocking=True)
    assert seen.saturated
    assert seen.loop_lag_p95_ms > 100


def test_one_long_block_that_no_percentile_shows_is_saturation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inferlane.load.lag.TICK_S", 0.001)

    async def run() -> Saturation:
        meter = LagMeter()
        meter.start()
        await asyncio.sleep(1.0)
        time.sleep(0.5)
        await asyncio.sleep(0.2)
        return await meter.stop()

    seen = asyncio.run(run())
    assert seen.saturated
    assert seen.loop_lag_max_ms > 400
    assert seen.late_share > 0.2


def test_a_block_that_lasts_until_the_end_is_seen() -> None:
    seen = measured([0.4], blocking=True)
    assert seen.loop_lag_max_ms > 300
    assert seen.saturated


def test_a_loop_that_only_waits_has_no_late_share_of_its_own() -> None:
    assert min(measured([0.5], blocking=False).late_share for _ in range(3)) < 0.05
