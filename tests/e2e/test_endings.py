"""However a run is ended, nothing of it survives."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.cancelling import cancel_run
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.leftovers.sweep import carriers
from inferlane.running.processes import proc
from inferlane.testing.handmade import served, server, shell

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]
BENCH = shell("bench", "sleep 60", kind="benchmark")


def _gone(pids: list[int], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while any(proc.start_time(pid) is not None for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_ctrl_c_lets_a_worker_flush_and_is_130(start: Start, tmp_path: Path) -> None:
    flushed = tmp_path / "flushed"
    run = start(served(BENCH, options=(f"on_term={flushed}",)))
    run.wait_for("process.start", process="bench")
    run.popen.send_signal(signal.SIGINT)
    code, out = run.end()
    assert code == 130
    assert flushed.read_text() == "flushed"
    assert "interrupted (exit 130); everything is gone" in out
    assert run.verdict()["verdict"] == "interrupted"


def test_a_worker_that_ignores_term_is_killed_after_the_grace_and_said_to_be(start: Start) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=1)
    run.wait_for("process.start", process="bench")
    began = time.monotonic()
    run.popen.send_signal(signal.SIGINT)
    code, out = run.end()
    assert code == 130
    assert time.monotonic() - began < 4
    assert "killed after the grace: worker-0" in out


def test_a_second_ctrl_c_skips_the_grace(start: Start) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=60)
    run.wait_for("process.start", process="bench")
    run.popen.send_signal(signal.SIGINT)
    run.wait_for("teardown.start")
    time.sleep(0.2)
    run.popen.send_signal(signal.SIGINT)
    code, _ = run.end(10)
    assert code == 130
    assert run.verdict()["clean"]


def test_sigterm_is_an_orderly_end_and_143(start: Start) -> None:
    run = start(served(BENCH))
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGTERM)
    code, _ = run.end()
    assert code == 143
    assert run.verdict()["verdict"] == "terminated"


def test_an_orphaned_worker_child_is_found_and_ended(start: Start) -> None:
    run = start(served(shell("bench", "sleep 0.3", kind="benchmark"), options=("orphan=1",)))
    code, out = run.end()
    verdict = run.verdict()
    assert code == 0
    assert verdict["clean"]
    assert any("sleep 300" in item for item in verdict["swept"])
    assert "stray processes ended" in out
    assert carriers(verdict["id"]) == []


def test_sigkill_of_the_supervisor_leaves_nothing_and_the_guardian_writes_the_verdict(start: Start) -> None:
    run = start(served(BENCH, options=("orphan=1",)))
    run.wait_for("process.start", process="bench")
    below = proc.descendants(run.popen.pid)
    run.kill("supervisor")
    code, out = run.end()
    assert code == 1
    assert "supervisor was killed by signal 9" in out
    assert run.verdict()["cause"]["message"] == "supervisor was killed by signal 9"
    assert _gone(below)


def test_sigkill_of_the_guardian_leaves_nothing(start: Start) -> None:
    run = start(served(BENCH, options=("orphan=1",)))
    run.wait_for("process.start", process="bench")
    below = proc.descendants(run.popen.pid)
    run.kill("guardian")
    assert _gone(below, 10)
    run.end(5)
    assert run.verdict()["cause"]["message"] == "the guardian process is gone"


def test_what_survives_a_sigkill_of_both_is_ended_by_the_next_run(start: Start) -> None:
    run = start(served(BENCH, options=("orphan=1",)))
    run.wait_for("process.start", process="bench")
    run_id, below = run.folder.name, proc.descendants(run.popen.pid)
    run.kill("guardian", "supervisor")
    run.end(5)
    time.sleep(0.2)  # another run beside this test may sweep first: what counts is that in the end nothing is left
    code, _ = start(served(shell("bench", "true", kind="benchmark"))).end()
    assert code == 0
    assert not carriers(run_id)  # by this run, or by any other that began since
    assert _gone(below)


def test_another_run_that_is_alive_is_not_touched(start: Start) -> None:
    first = start(served(BENCH))
    first.wait_for("process.start", process="bench")
    code, _ = start(served(shell("bench", "true", kind="benchmark"))).end()
    assert code == 0
    assert first.popen.poll() is None
    assert first.folder.joinpath("run.json").exists() is False


def test_cancel_stops_a_run_and_waits_for_its_verdict(start: Start) -> None:
    run = start(served(BENCH))
    run.wait_for("run.ready")
    reaper = threading.Thread(target=run.end)  # a zombie guardian would count as gone, but this is how a shell does it
    reaper.start()
    code, text = cancel_run(RunDirectory(run.folder), 10)
    reaper.join()
    assert code == 0
    assert "terminated (exit 143); everything is gone" in text


def test_scratch_folders_and_ports_are_free_again(start: Start) -> None:
    worker = server("worker-1", 6101, dirs={"socket": "{n0.shm}/socket"}, env={"WHERE": "{n0.shm}/socket"})
    run = start(served(worker, shell("bench", "true", kind="benchmark")))
    code, _ = run.end()
    env = json.loads((run.folder / "plan.json").read_bytes())["processes"][1]["env"]
    assert code == 0
    assert len(env["WHERE"]) < 40
    assert not Path(env["WHERE"]).parents[1].exists()


def test_term_to_the_supervisor_alone_is_an_orderly_end_too(start: Start) -> None:
    run = start(served(BENCH))
    run.wait_for("run.ready")
    os.kill(run.supervisor(), signal.SIGTERM)
    code, _ = run.end()
    assert code == 143
    assert run.verdict()["clean"]


def test_ctrl_c_before_anything_is_ready_ends_soon(start: Start) -> None:
    run = start(served(BENCH, options=("health=503",)))
    run.wait_for("process.start", process="worker-0")
    run.popen.send_signal(signal.SIGINT)
    code, _ = run.end(5)
    assert code == 130


def test_a_hang_up_that_the_caller_ignores_is_ignored(start: Start) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        run = start(served(BENCH))
    finally:
        signal.signal(signal.SIGHUP, before)
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert run.popen.poll() is None
    run.popen.send_signal(signal.SIGTERM)
    code, out = run.end()
    assert code == 143
    assert "stopped by SIGTERM" in out


def test_a_caller_that_ignores_the_ends_of_children_changes_no_exit_code(start: Start) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        run = start(served(shell("bench", "exit 0", kind="benchmark")))
    finally:
        signal.signal(signal.SIGCHLD, before)
    code, out = run.end()
    assert code == 0, out


def test_a_caller_that_holds_signals_back_does_not_keep_them_from_the_run(start: Start) -> None:
    held = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        run = start(served(BENCH))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    run.wait_for("run.ready")
    run.popen.send_signal(signal.SIGTERM)
    code, _ = run.end(20)
    assert code == 143
