"""States of processes, progress, and the deadline that knows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.readiness import deadline as deadline_module
from inferlane.running.readiness import vitals as vitals_module
from inferlane.running.readiness.deadline import Deadline
from inferlane.running.readiness.progress import Progress
from inferlane.running.readiness.vitals import Vitals
from inferlane.values import HttpCheck, Verdict

CHECK = HttpCheck(url="http://127.0.0.1:6100/health")
UP, DOWN = Verdict(ready=True, message="HTTP 200"), Verdict(ready=False, message="no answer (nothing within 5 s)")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the monotonic clock of the modules under test forward."""
    now = [1000.0]
    for module in (vitals_module, deadline_module):
        monkeypatch.setattr(module, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))

    def forward(seconds: float) -> None:
        now[0] += seconds

    return forward


class Story:
    """What was recorded and said."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.said: list[str] = []
        self.vitals = Vitals(lambda name, **fields: self.events.append((name, fields)))

    def deadline(self, seconds: float) -> Deadline:
        made = Deadline(seconds, self.vitals, self.said.append, lambda name, **f: self.events.append((name, f)))
        made.begin()
        return made

    def states(self) -> list[tuple[str, str]]:
        return [(fields["was"], fields["state"]) for name, fields in self.events if name == "process.state"]


def test_every_change_of_state_is_recorded_once() -> None:
    story = Story()
    story.vitals.begin("w", checked=True)
    for verdict in (DOWN, DOWN, UP, UP, DOWN, DOWN, UP):
        story.vitals.answered("w", CHECK, verdict)
    assert story.states() == [("starting", "ready"), ("ready", "silent"), ("silent", "ready")]


def test_a_process_is_ready_only_while_all_its_checks_hold() -> None:
    story, other = Story(), HttpCheck(url="http://127.0.0.1:6100/workers")
    story.vitals.begin("w", checked=True)
    story.vitals.answered("w", other, DOWN)
    story.vitals.answered("w", CHECK, UP)
    assert story.vitals.state("w") == "starting"
    story.vitals.answered("w", other, UP)
    assert story.vitals.state("w") == "ready"


def test_what_loads_is_never_wedged_and_what_was_ready_is_after_its_silence(clock: Callable[[float], None]) -> None:
    story = Story()
    for name in ("loads", "was ready"):
        story.vitals.begin(name, checked=True)
    story.vitals.answered("was ready", CHECK, UP)
    for name in ("loads", "was ready"):
        story.vitals.answered(name, CHECK, DOWN)
    clock(179)
    assert story.vitals.wedged(180) == ()
    clock(2)
    assert story.vitals.wedged(180) == (("was ready", 181),)


def test_a_new_line_in_its_log_is_a_sign_of_life(clock: Callable[[float], None]) -> None:
    story = Story()
    story.vitals.begin("w", checked=True)
    story.vitals.answered("w", CHECK, UP)
    story.vitals.answered("w", CHECK, DOWN)
    clock(170)
    story.vitals.progressed("w")
    clock(20)
    assert story.vitals.wedged(180) == ()


def test_nothing_is_expected_of_what_has_ended(clock: Callable[[float], None]) -> None:
    story = Story()
    story.vitals.begin("w", checked=True)
    story.vitals.answered("w", CHECK, UP)
    story.vitals.end("w")
    story.vitals.answered("w", CHECK, DOWN)
    clock(1000)
    assert story.vitals.wedged(1) == ()
    assert story.vitals.moved("w") is None


def test_a_deadline_passes_for_what_stands_still(clock: Callable[[float], None]) -> None:
    story = Story()
    story.vitals.begin("w", checked=True)
    made = story.deadline(1800)
    clock(1799)
    assert not made.passed({"w"})
    clock(1)
    assert made.passed({"w"})


def test_it_waits_for_what_still_moves_and_says_so_once(clock: Callable[[float], None]) -> None:
    story = Story()
    story.vitals.begin("w", checked=True)
    made = story.deadline(1800)
    clock(1750)
    story.vitals.progressed("w")
    clock(60)
    assert not made.passed({"w"})
    assert not made.passed({"w"})
    assert len(story.said) == 1
    assert "w still makes progress" in story.said[0]
    clock(180)
    assert made.passed({"w"})


def test_one_that_stands_still_among_those_that_move_is_not_waited_for(clock: Callable[[float], None]) -> None:
    story = Story()
    made = story.deadline(100)
    for name in ("moves", "hangs"):
        story.vitals.begin(name, checked=True)
    clock(101)
    story.vitals.progressed("moves")
    assert made.passed({"moves", "hangs"})
    assert made.passed({"moves", None})
    assert not made.passed({"moves"})


def test_even_progress_has_an_end(clock: Callable[[float], None]) -> None:
    story = Story()
    story.vitals.begin("w", checked=True)
    made = story.deadline(100)
    for _ in range(29):
        clock(10)
        story.vitals.progressed("w")
        assert not made.passed({"w"})
    clock(10)
    story.vitals.progressed("w")
    assert made.passed({"w"})


def test_who_comes_after_late_workers_gets_a_little_time(clock: Callable[[float], None]) -> None:
    made = Story().deadline(1800)
    clock(1799)
    made.phase_done()
    clock(170)
    assert not made.passed({None})
    clock(20)
    assert made.passed({None})


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("", "loading weights 1/8\n", True),
        ("loading weights 1/8\n", "loading weights 2/8\n", True),
        ("12:00:01 waiting for peers\n", "12:00:11 waiting for peers\n", False),
        ("[2026-01-01 12:00:01.123] waiting\n", "[2026-01-01 12:00:11.456] waiting\n", False),
        ("up\n", '127.0.0.1:1 - "GET /health HTTP/1.1" 503\n', False),
        ("up\n", "", False),
    ],
)
def test_only_a_line_that_was_never_there_is_progress(tmp_path: Path, before: str, after: str, moved: bool) -> None:
    log, progress = tmp_path / "w.log", Progress({"/health"})
    log.write_text(before)
    progress.moved(log)
    with log.open("a") as more:
        more.write(after)
    assert progress.moved(log) is moved


def test_two_lines_in_turn_are_no_progress(tmp_path: Path) -> None:
    log, progress = tmp_path / "w.log", Progress(())
    seen = []
    for word in ("tick\n", "tock\n") * 3:
        with log.open("a") as more:
            more.write(word)
        seen.append(progress.moved(log))
    assert seen == [True, True, False, False, False, False]


def test_looking_at_many_logs_is_cheap(tmp_path: Path) -> None:
    logs, progress = [tmp_path / f"{number}.log" for number in range(512)], Progress({"/health"})
    for log in logs:
        log.write_text("up\n")
        progress.moved(log)
    before = time.process_time()
    assert not any(progress.moved(log) for log in logs)
    assert time.process_time() - before < 0.5
