"""A clock that was moved is said; one that is slowly corrected, or sleeps, is not."""

from __future__ import annotations

import time

import pytest

from inferlane.running.leftovers import clock
from inferlane.running.leftovers.clock import ClockWatch


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    at = {"wall": 1e9, "steady": 5.0}
    monkeypatch.setattr(time, "time", lambda: at["wall"])
    monkeypatch.setattr(clock, "_steady", lambda: at["steady"])
    return at


@pytest.mark.parametrize(("jump", "said"), [(3600, "+3600 s"), (-3600, "-3600 s"), (2.5, "+2 s")])
def test_a_jump_is_said_with_its_size(hands: dict[str, float], jump: float, said: str) -> None:
    watch = ClockWatch()
    hands["wall"] += jump
    watch.look(now=True)
    (line,) = watch.warnings()
    assert f"was moved during the run ({said})" in line


def test_slow_corrections_are_none(hands: dict[str, float]) -> None:
    watch = ClockWatch()
    for _ in range(100):
        hands["wall"] += 60.03
        hands["steady"] += 60
        watch.look()
    assert watch.warnings() == []


def test_it_is_looked_at_each_minute_and_at_the_end(hands: dict[str, float]) -> None:
    watch = ClockWatch()
    hands["wall"] += 3600
    watch.look()
    assert watch.warnings() == []
    hands["wall"] += 61
    hands["steady"] += 61
    watch.look()
    hands["wall"] -= 3600
    watch.look(now=True)
    assert "(+3600 s, -3600 s)" in watch.warnings()[0]
