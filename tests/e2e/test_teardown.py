"""Signals at every moment of the end: the verdict stays, the grace is kept or skipped as asked, nothing is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.processes import proc, tree
from inferlane.testing.handmade import served, shell

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]
BENCH = shell("bench", "sleep 60", kind="benchmark")
STUBBORN = ("on_term=ignore",)


def press(run: Any, number: signal.Signals, times: int, pause: float = 0.015) -> None:
    for _ in range(times):
        if run.popen.poll() is None:
            run.popen.send_signal(number)
        time.sleep(pause)


def test_five_ctrl_c_in_a_tenth_of_a_second_are_one_end_with_one_verdict(start: Start, tmp_path: Path) -> None:
    flushed = tmp_path / "flushed"
    run = start(served(BENCH, options=(f"on_term={flushed}",)))
    run.wait_for("process.start", process="bench")
    press(run, signal.SIGINT, 5)
    code, out = run.end()
    assert (code, run.verdict()["verdict"]) == (130, "interrupted")
    assert flushed.read_text() == "flushed"
    assert out.count("interrupted (exit 130)") == 1


def test_what_sends_a_signal_twice_at_once_does_not_skip_the_grace(start: Start) -> None:
    slow = shell("slow", "trap 'sleep 1; echo flushed; exit 0' TERM; while :; do sleep 0.1; done")
    run = start(served(slow, BENCH), grace=20)
    run.wait_for("process.start", process="bench")
    press(run, signal.SIGTERM, 2, 0.001)  # as timeout(1) does
    code, _ = run.end()
    assert code == 143
    assert (run.folder / "logs/slow.log").read_text().endswith("flushed\n")


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_of_either_kind_skips_the_grace(start: Start, second: signal.Signals) -> None:
    run = start(served(BENCH, options=STUBBORN), grace=60)
    run.wait_for("process.start", process="bench")
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    time.sleep(0.3)
    run.popen.send_signal(second)
    code, _ = run.end(15)
    assert code == 130


def test_a_terminal_that_closes_twice_over_does_not_skip_the_grace(start: Start) -> None:
    slow = shell("slow", "trap 'sleep 1; echo flushed; exit 0' TERM; while :; do sleep 0.1; done")
    run = start(served(slow, BENCH), grace=20)
    run.wait_for("process.start", process="bench")
    press(run, signal.SIGHUP, 3, 0.2)
    code, _ = run.end()
    assert code == 143
    assert (run.folder / "logs/slow.log").read_text().endswith("flushed\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_up_to_the_last_line_do_not_change_a_verdict_that_stands(start: Start, number: signal.Signals) -> None:
    run = start(served(shell("bench", "true", kind="benchmark"), shell("slow", "trap '' TERM; sleep 60")), grace=0.5)
    run.wait_for("teardown.start")
    while run.popen.poll() is None:
        press(run, number, 1, 0.002)
    code, out = run.end()
    assert (code, run.verdict()["verdict"]) == (0, "success")
    assert "success (exit 0); everything is gone" in out


def test_a_worker_that_is_stopped_is_woken_so_that_it_can_flush(start: Start, tmp_path: Path) -> None:
    flushed = tmp_path / "flushed"
    run = start(served(BENCH, options=(f"on_term={flushed}",)), grace=30)
    run.wait_for("process.start", process="bench")
    os.kill(run.pid("worker-0"), signal.SIGSTOP)
    began = time.monotonic()
    run.popen.send_signal(signal.SIGINT)
    run.end()
    assert flushed.read_text() == "flushed"
    assert time.monotonic() - began < 15


def test_a_sigkill_of_the_guardian_during_the_end_still_leaves_a_verdict_and_nothing_else(start: Start) -> None:
    run = start(served(BENCH, options=STUBBORN), grace=3)
    run.wait_for("process.start", process="bench")
    below = {pid: start for pid in proc.descendants(run.popen.pid) if (start := proc.start_time(pid)) is not None}
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    run.kill("guardian")
    run.end(20)
    tree.wait_until_gone(below, 15)
    assert [pid for pid in below if proc.start_time(pid) == below[pid]] == []
    assert run.verdict()["verdict"] == "interrupted"


def test_a_sigkill_of_the_supervisor_during_the_end_is_a_failure_and_leaves_nothing(start: Start) -> None:
    run = start(served(BENCH, options=(*STUBBORN, "orphan=1")), grace=20)
    run.wait_for("process.start", process="bench")
    below = proc.descendants(run.popen.pid)
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    run.kill("supervisor")
    code, _ = run.end()
    assert code == 1
    assert [pid for pid in below if proc.start_time(pid) is not None] == []


def test_many_stubborn_workers_share_one_grace_and_end_together(start: Start) -> None:
    stubborn = [shell(f"w-{index}", "trap '' TERM; sleep 60 & wait; sleep 60") for index in range(20)]
    run = start(served(*stubborn, BENCH), grace=2)
    run.wait_for("process.start", process="bench")
    began = time.monotonic()
    run.popen.send_signal(signal.SIGINT)
    run.end(30)
    assert time.monotonic() - began < 12
    states = {item["process"]: item["state"] for item in run.verdict()["processes"]}
    assert {states[f"w-{index}"] for index in range(20)} == {"killed"}
