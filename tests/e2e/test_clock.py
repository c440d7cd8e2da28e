"""The clock of the machine jumps by an hour: no deadline moves, no duration does, and the run says so."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.testing.handmade import health, plan, served, server, shell

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]

_JUMPING = """
import sys
if "inferlane.testing.run_plan_file" in sys.orig_argv:
    import datetime, os, time
    real, began, Real = time.time, time.monotonic(), datetime.datetime
    def moved():
        return real() + ({jump} if time.monotonic() - began > 0.7 else 0)
    class Moved(Real):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(moved(), tz)
    time.time, datetime.datetime = moved, Moved
"""


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_run_over_a_jump_is_as_long_as_it_is_and_warns(start: Start, tmp_path: Path, jump: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(_JUMPING.format(jump=jump))
    run = start(served(shell("bench", "sleep 2", kind="benchmark")), env={"PYTHONPATH": str(tmp_path)})
    code, _ = run.end(30)
    verdict = run.verdict()
    assert code == 0
    assert any(
        f"the clock of this machine was moved during the run ({jump:+d} s)" in text for text in verdict["warnings"]
    )
    assert 2 <= verdict["timings"]["benchmark"] < 20
    assert all(0 <= event["t"] < 30 for event in run.events())


@pytest.mark.parametrize("jump", [3600, -3600])
def test_no_deadline_comes_sooner_or_later_for_a_jump(start: Start, tmp_path: Path, jump: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(_JUMPING.format(jump=jump))
    made = plan(server("w-0", 6100, ("health=503",)), gates=(health("w-0", 6100),), start_timeout_s=2)
    code, _ = (run := start(made, env={"PYTHONPATH": str(tmp_path)})).end(30)
    assert code == 4
    assert 2 <= run.verdict()["timings"]["ended"] < 20


def test_a_grace_is_not_cut_short_by_a_jump(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_JUMPING.format(jump=3600))
    slow = shell("slow", "trap 'sleep 1; echo flushed; exit 0' TERM; while :; do sleep 0.1; done")
    run = start(served(slow), grace=20, env={"PYTHONPATH": str(tmp_path)})
    run.wait_for("process.start", process="slow")
    run.popen.send_signal(signal.SIGINT)
    run.end()
    assert (run.folder / "logs/slow.log").read_text().endswith("flushed\n")
