"""Waiting for the true end, with a scheduler that forgets, is late, or is away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inferlane.slurm import wait as module
from inferlane.slurm.record import JobId
from inferlane.slurm.stream import LogStream
from inferlane.slurm.wait import Waited, wait_for
from inferlane.testing.scheduler_stub import SchedulerStub

GONE = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
DOWN = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
RUNNING = "echo '42|RUNNING|n1|None'"
JOB = JobId("42")


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SOON_S", 0.05)


def waited(scheduler: SchedulerStub, run: Path | None = None, timeout_s: float | None = 10) -> Waited:
    return wait_for(JOB, scheduler.env, run, None if run is None else run / "job.log", timeout_s)


def test_it_waits_while_the_queue_is_empty_and_accounting_late(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", RUNNING, "", "", "", GONE)
    scheduler.say("sacct", "", "", "echo '42|RUNNING|0:0|n1'", "echo '42|FAILED|3:0|n1'")
    scheduler.say("scontrol", GONE)
    result = waited(scheduler)
    assert (result.code, result.message) == (3, "job 42 is over: FAILED 3:0")


def test_a_controller_that_is_away_for_a_while_is_waited_for(
    scheduler: SchedulerStub, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduler.say("squeue", RUNNING, DOWN, DOWN, DOWN, RUNNING, GONE)
    scheduler.say("sacct", DOWN, DOWN, DOWN, "echo '42|COMPLETED|0:0|n1'")
    assert waited(scheduler).code == 0
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == [
        "job 42 is RUNNING on n1",
        "job 42 is out of sight",
        "job 42 is RUNNING on n1",
    ]


def test_the_timeout_is_no_verdict(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", RUNNING)
    result = waited(scheduler, timeout_s=0.3)
    assert (result.code, result.message) == (5, "job 42 is RUNNING on n1; it is not over after 0.3 s")
    assert scheduler.calls("scancel") == []


def test_a_job_that_nobody_knows_is_given_up(scheduler: SchedulerStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NEVER_SEEN_S", 0.3)
    for command in ("squeue", "scontrol"):
        scheduler.say(command, GONE)
    scheduler.say("sacct", "")
    result = waited(scheduler, timeout_s=None)
    assert result.code == 5
    assert result.message == "job 42 is known neither to the queue nor to accounting nor to the controller"


def test_a_run_that_failed_is_no_success_whatever_the_scheduler_says(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sacct", "echo '42|COMPLETED|0:0|n1'")
    (tmp_path / "run.json").write_text(json.dumps({"exit_code": 4, "verdict": "not_ready"}))
    result = waited(scheduler, tmp_path)
    assert (result.code, (result.document or {})["verdict"]) == (4, "not_ready")


def test_a_job_that_failed_is_no_success_whatever_the_run_says(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sacct", "echo '42|NODE_FAIL|0:0|n1'")
    (tmp_path / "run.json").write_text('{"exit_code": 0}')
    assert waited(scheduler, tmp_path).code == 1


def test_where_the_scheduler_stays_away_the_verdict_of_the_run_counts(
    scheduler: SchedulerStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SILENT_S", 0.3)
    for command in ("squeue", "sacct", "scontrol"):
        scheduler.say(command, DOWN)
    (tmp_path / "run.json").write_text('{"exit_code": 1}')
    result = waited(scheduler, tmp_path)
    assert (result.code, result.message) == (1, "job 42 is over: FAILED 1:0, said by run")


def read(stream: LogStream) -> bytes:
    return b"".join(stream.new())


def test_a_log_survives_byte_for_byte_and_a_cut_one_is_read_anew(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    stream = LogStream(log)
    assert read(stream) == b""
    log.write_bytes(b"\xe2\x28\xa1 first")
    assert read(stream) == b"\xe2\x28\xa1 first"
    with log.open("ab") as out:
        out.write(b"\xe2\x82")
    assert read(stream) == b"\xe2\x82"
    log.write_bytes(b"new")
    assert read(stream) == b"new"


def command(scheduler: SchedulerStub, *words: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "inferlane", "wait", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env={**os.environ, **scheduler.env}, stdout=pipe, stderr=pipe)


def test_the_command_streams_the_log_and_ends_as_the_job_did(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", RUNNING, "")
    scheduler.say("sacct", "echo '42|FAILED|0:9|n1'")
    log = tmp_path / "any.log"
    log.write_bytes(b"\xff\xfe loading\n")
    out, err = command(scheduler, "42", "-o", str(tmp_path), "--log-file", str(log)).communicate(timeout=30)
    assert out == b"\xff\xfe loading\n"
    assert err.splitlines()[-1] == b"job 42 is over: FAILED 0:9"


def test_json_is_all_there_is_on_stdout(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sacct", "echo '42|TIMEOUT|0:0|n1'")
    with command(scheduler, "42", "-o", str(tmp_path), "--json") as process:
        document = json.loads(process.communicate(timeout=30)[0])
    assert process.returncode == 1
    assert (document["state"], document["exit_code"], document["said_by"]) == ("TIMEOUT", 1, "sacct")


def test_ctrl_c_ends_only_the_waiting(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", RUNNING)
    with command(scheduler, "42", "-o", str(tmp_path)) as process:
        deadline = time.monotonic() + 20
        while not scheduler.calls("squeue") and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert b"job 42 still runs" in err
    assert scheduler.calls("scancel") == []
