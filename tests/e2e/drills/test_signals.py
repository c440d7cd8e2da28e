"""Runs that are ended from outside, once and again."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.states import state_of
from inferlane.testing.handmade import served, shell
from inferlane.testing.runs import Running

pytestmark = pytest.mark.e2e

Start = Callable[..., Running]
Ends = Callable[..., tuple[dict[str, Any], str]]
BENCH = shell("bench", "exec sleep 60", kind="benchmark")


def test_five_ctrl_c_in_a_row_end_the_run_once_and_in_order(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("on_term=ignore", "orphan=1")), grace=60)
    run.wait_for("process.start", process="bench")
    for _ in range(5):
        run.popen.send_signal(signal.SIGINT)
        time.sleep(0.05)
    document, out = ends(run, "interrupted", "signal")
    assert document["cause"]["signal"] == signal.SIGINT
    assert "killed after the grace: worker-0" in out
    assert "Traceback" not in out


def test_five_ctrl_c_before_a_process_exists_leave_nothing(start: Start) -> None:
    run = start(served(BENCH))
    run.until(run.has_owner, "run folder")
    for _ in range(5):
        run.popen.send_signal(signal.SIGINT)
    code, out = run.end()
    assert code == 130
    assert run.verdict()["verdict"] == "interrupted"
    assert "Traceback" not in out


def test_a_terminal_that_closes_ends_the_run_in_order(start: Start, ends: Ends) -> None:
    run = start(served(BENCH))
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGHUP)
    document, _ = ends(run, "terminated", "signal")
    assert document["cause"]["signal"] == signal.SIGHUP
    assert document["cause"]["message"] == "stopped by SIGHUP"


def test_what_comes_after_the_first_signal_does_not_change_the_verdict(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=60)
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    time.sleep(0.3)
    run.popen.send_signal(signal.SIGTERM)
    ends(run, "interrupted", "signal")


def test_a_sigkill_of_the_supervisor_while_workers_load_leaves_nothing(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("health=503", "orphan=1")))
    run.wait_for("process.start", process="worker-0")
    run.kill("supervisor")
    ends(run, "failed", "supervisor")


def test_a_sigkill_of_the_supervisor_in_the_teardown_leaves_nothing(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("on_term=ignore", "orphan=1")), grace=60)
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGTERM)
    run.wait_for("teardown.start")
    run.kill("supervisor")
    ends(run, "failed", "supervisor")


def test_a_sigkill_of_the_guardian_in_the_teardown_leaves_nothing(start: Start, ends: Ends) -> None:
    run = start(served(BENCH, options=("on_term=ignore", "orphan=1")), grace=60)
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    run.kill("guardian")
    ends(run, "interrupted", "signal")


def test_a_supervisor_killed_in_the_teardown_leaves_its_first_cause_in_the_verdict(start: Start) -> None:
    worker = shell("decode-0", "sleep 1; echo last words; exit 7")
    run = start(served(BENCH, worker, options=("on_term=ignore",)), grace=60)
    run.wait_for("teardown.start")
    run.kill("supervisor")
    code, _ = run.end()
    message = run.verdict()["cause"]["message"]
    assert code == 1
    assert (
        "killed by signal 9 while it ended the run; first cause: decode-0 on n0 ended by itself with exit code 7"
        in message
    )
    assert run.verdict()["clean"]


def test_a_run_that_waits_for_its_end_says_so_and_for_whom(start: Start) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=6)
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    assert state_of(RunDirectory(run.folder)).word == "stopping"
    code, out = run.end(30)
    assert code == 130
    assert "stopped by SIGINT; stopping worker-0, bench, within 6 s" in out
