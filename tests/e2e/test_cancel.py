"""``cancel`` from another terminal: of runs that are well, held, wedged, over, unknown, or somebody else's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.cancelling import cancel_run
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.states import state_of
from inferlane.running.processes import proc
from inferlane.testing.handmade import served, shell

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]
BENCH = shell("bench", "sleep 60", kind="benchmark")


@contextmanager
def reaped(popen: subprocess.Popen[str]) -> Iterator[list[tuple[str, str]]]:
    """As a shell does it: its children do not stay zombies."""
    said: list[tuple[str, str]] = []
    reader = threading.Thread(target=lambda: said.append(popen.communicate()))
    reader.start()
    yield said
    reader.join(30)


def begun(start: Start, **fields: Any) -> tuple[Any, RunDirectory]:
    run = start(served(BENCH, **fields))
    run.wait_for("process.start", process="bench")
    return run, RunDirectory(run.folder)


def holds(pid: int) -> bool:
    found = proc.stat(pid)
    return found is not None and found.state == "T"


@pytest.mark.parametrize("who", ["guardian", "supervisor", "both"])
def test_a_held_run_is_told_to_be_held_and_ends_in_order_when_cancelled(start: Start, who: str) -> None:
    run, folder = begun(start)
    pids = {"guardian": [run.popen.pid], "supervisor": [run.supervisor()]}
    held = pids["guardian"] + pids["supervisor"] if who == "both" else pids[who]
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    while not all(map(holds, held)):
        time.sleep(0.01)
    state = state_of(folder)
    assert (state.word, state.label) == ("stopped", "stopped (SIGSTOP)")
    assert state.held == (("guardian", "supervisor") if who == "both" else (who,))
    with reaped(run.popen):
        code, text = cancel_run(folder, 20)
    assert code == 0
    assert "terminated (exit 143); everything is gone" in text
    assert "was stopped and was continued" in text


def test_a_wedged_supervisor_is_killed_after_its_time_and_the_guardian_closes_the_run(tmp_path: Path) -> None:
    popen = subprocess.Popen([sys.executable, "-c", _WEDGED, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (found := list(tmp_path.glob("*/started"))):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    folder = RunDirectory(found[0].parent)
    child = int(found[0].read_text())
    with reaped(popen):
        code, text = cancel_run(folder, 20, reacts_s=0.5)
    assert code == 0
    assert "its supervisor was killed, because it did not react" in text
    assert "failed (exit 1); everything is gone" in text
    assert popen.returncode == 1
    assert proc.start_time(child) is None
    assert json.loads(folder.verdict.read_bytes())["cause"]["message"] == "supervisor was killed by signal 9"


_WEDGED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from inferlane.running.folder import directory
from inferlane.running.guardian import guarded

def main(announce):
    run = directory.create(Path(sys.argv[1]), "wedged")
    scratch = run.path / "scratch"
    scratch.mkdir()
    directory.record_owner(run, os.getppid(), scratch)
    announce(run.path)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    child = subprocess.Popen(["sleep", "300"])
    (run.path / ".draft").write_text(str(child.pid))
    (run.path / ".draft").rename(run.path / "started")
    while True:
        time.sleep(1)

sys.exit(guarded(main))
"""


def test_kill_does_not_wait_for_a_worker_that_ignores_term(start: Start) -> None:
    run, folder = begun(start, options=("on_term=ignore",))
    run.killed.add("supervisor")
    with reaped(run.popen):
        code, text = cancel_run(folder, 20, kill=True)
    assert code == 0
    assert "its supervisor was killed" in text
    assert state_of(folder).document is not None


def test_a_second_cancel_skips_the_grace_and_both_are_told_the_verdict(start: Start) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=60)
    run.wait_for("process.start", process="bench")
    folder = RunDirectory(run.folder)
    answers: list[tuple[int, str]] = []
    with reaped(run.popen):
        first = threading.Thread(target=lambda: answers.append(cancel_run(folder, 40)))
        first.start()
        run.wait_for("teardown.start")
        time.sleep(0.5)  # what comes at once says the same as the first one
        answers.append(cancel_run(folder, 40))
        first.join(40)
    assert [code for code, _ in answers] == [0, 0]
    assert all("terminated (exit 143); everything is gone" in text for _, text in answers)


def test_a_run_that_does_not_end_in_time_is_not_claimed_to_have_ended(start: Start) -> None:
    run = start(served(BENCH, options=("on_term=ignore",)), grace=60)
    run.wait_for("process.start", process="bench")
    folder = RunDirectory(run.folder)
    code, text = cancel_run(folder, 0.3)
    assert code == 5
    assert "has not ended within 0.3 s; cancel it again to skip its grace, or with --kill" in text
    with reaped(run.popen):
        assert cancel_run(folder, 20)[0] == 0


def test_a_run_that_is_over_stays_as_it_was(start: Start) -> None:
    run = start(served(shell("bench", "true", kind="benchmark")))
    run.end()
    before = run.folder.joinpath("run.json").read_bytes()
    code, text = cancel_run(RunDirectory(run.folder), 5)
    assert (code, "is over: success (exit 0)" in text) == (0, True)
    assert run.folder.joinpath("run.json").read_bytes() == before


def test_a_killed_run_is_lost_and_cancelling_it_ends_what_it_left(start: Start) -> None:
    run, folder = begun(start, options=("orphan=1",))
    below, supervisor = proc.descendants(run.popen.pid), run.supervisor()
    run.killed.update(("guardian", "supervisor"))
    os.kill(run.popen.pid, signal.SIGSTOP)  # so that it cannot act on the other's death
    os.kill(supervisor, signal.SIGKILL)
    os.kill(run.popen.pid, signal.SIGKILL)
    run.popen.communicate(timeout=5)
    deadline = time.monotonic() + 20
    while proc.start_time(supervisor) is not None:  # a killed process dies a moment later
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert state_of(folder).word == "lost"
    assert cancel_run(folder, 10)[0] == 0
    deadline = time.monotonic() + 5
    while any(proc.start_time(pid) is not None for pid in below):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_record_that_names_a_process_of_another_user_signals_nobody(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs two users")
    popen = subprocess.Popen(["sleep", "60"], user=65534)
    try:
        folder = RunDirectory(tmp_path / "r-20260101T000000Z-0000")
        folder.path.mkdir()
        record = {"pid": popen.pid, "start": proc.start_time(popen.pid), "boot": proc.boot_id()}
        folder.write("owner.json", json.dumps({**record, "host": os.uname().nodename}).encode())
        code, text = cancel_run(folder, 1)
        assert (code, "left alone" in text) == (5, True)
        assert popen.poll() is None
    finally:
        popen.kill()
        popen.wait()


def test_the_command_says_what_it_did_and_exits_by_it(start: Start, tmp_path: Path) -> None:
    run, folder = begun(start)
    words = [sys.executable, "-m", "inferlane", "cancel", str(folder.path)]
    with reaped(run.popen):
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{folder.id} is over: terminated (exit 143); everything is gone" in done.stdout
    unknown = subprocess.run([*words[:-1], "none-such"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "no run none-such" in unknown.stderr
