"""How often gates probe."""

from __future__ import annotations

import asyncio
import time

from inferlane.running.readiness.pace import Pace


def _rested(interval: float, tries: int, waiting: int = 1, limit: float = 60.0) -> float:
    async def rest() -> float:
        pace = Pace(interval)
        pace.begin(waiting + 7)
        pace.end(7)
        begin = time.monotonic()
        await pace.rest(tries, limit)
        return time.monotonic() - begin

    return asyncio.run(rest())


def test_the_first_rests_are_short_and_later_ones_as_long_as_the_interval() -> None:
    assert 0.1 <= _rested(0.4, 0) < 0.3
    assert 0.4 <= _rested(0.4, 50) < 0.8


def test_many_rest_longer_and_fewer_shorter_again() -> None:
    assert 0.6 <= _rested(0.2, 50, waiting=300) < 1.0
    assert 0.2 <= _rested(0.2, 50, waiting=50) < 0.5


def test_nobody_rests_beyond_its_limit() -> None:
    assert _rested(5.0, 50, limit=0.05) < 1.0
    assert _rested(5.0, 50, limit=-1.0) < 0.5


def test_where_one_is_ready_all_others_look_again_soon_but_not_again_and_again() -> None:
    pace = Pace(1.0)

    async def waits() -> list[float]:
        pace.begin(400)
        begin = time.monotonic()
        first = [asyncio.create_task(pace.rest(50, 60.0)) for _ in range(50)]
        await asyncio.sleep(0.05)
        pace.end(1)
        await asyncio.gather(*first)
        woken = time.monotonic() - begin
        second = asyncio.create_task(pace.rest(50, 60.0))
        await asyncio.sleep(0.05)
        pace.end(1)
        await second
        return [woken, time.monotonic() - begin - woken]

    woken, again = asyncio.run(waits())
    assert woken < 2.0
    assert again > 2.0
