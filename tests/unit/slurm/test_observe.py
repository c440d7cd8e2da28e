"""Commands from another terminal, of runs that are jobs."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from inferlane.cli.main import cli
from inferlane.running.folder.directory import RunDirectory
from inferlane.slurm.cancel import cancel_job
from inferlane.slurm.record import JobRecord
from inferlane.testing.scheduler_stub import SchedulerStub

GONE = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
DOWN = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
ENDED = "echo '42|CANCELLED by 0|0:15|n1'"
AT = "2026-01-02T03:04:05+00:00"


def made(outputs: Path, job: str | None = "42", digits: str = "0000", **verdict: object) -> RunDirectory:
    run = RunDirectory(outputs / f"demo-20260102T030405Z-{digits}")
    run.logs.mkdir(parents=True)
    record = JobRecord(token=f"token-{job}", user="ada", submitted_at=AT, job_id=job)
    run.write("job.json", msgspec.json.encode(record))
    run.write("frozen/plan.json", b'{"processes": [{"name": "prefill-0"}]}')
    if verdict:
        run.write("run.json", json.dumps(verdict).encode())
    return run


def command(scheduler: SchedulerStub, outputs: Path, *words: str) -> Result:
    result = CliRunner().invoke(
        cli, [words[0], "-o", str(outputs), *words[1:]], env=scheduler.env, standalone_mode=False
    )
    assert result.exception is None, result.exception
    return result


def test_status_tells_why_a_job_is_pending(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|PENDING||Resources'")
    run = made(tmp_path)
    text = command(scheduler, tmp_path, "status", run.id).output
    assert "state:     pending\n" in text
    assert "job:       42, PENDING (Resources)" in text
    assert "prefill-0  waiting" in text


@pytest.mark.parametrize("reference", ["42", "demo-20260102T030405Z-0000"])
def test_a_run_is_found_by_its_job_and_by_its_id(scheduler: SchedulerStub, tmp_path: Path, reference: str) -> None:
    scheduler.say("squeue", "echo '42|RUNNING|n[1-2]|None'")
    made(tmp_path)
    document = json.loads(command(scheduler, tmp_path, "status", reference, "--json").output)
    assert document["state"] == "running"
    assert (document["job"]["job_id"], document["job"]["state"], document["job"]["nodes"]) == (
        "42",
        "RUNNING",
        "n[1-2]",
    )


def test_a_job_that_ended_without_a_verdict_is_as_accounting_says(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sacct", "echo '42|NODE_FAIL|0:0|n1'")
    made(tmp_path)
    text = command(scheduler, tmp_path, "status", "42").output
    assert "state:     node fail" in text
    assert "job:       42, NODE_FAIL 0:0 on n1" in text


def test_a_list_asks_the_queue_once_and_nobody_about_runs_with_a_verdict(
    scheduler: SchedulerStub, tmp_path: Path
) -> None:
    scheduler.say("squeue", "echo '42|PENDING||Priority'; echo '43|RUNNING|n1|None'")
    made(tmp_path)
    made(tmp_path, "43", "0001")
    made(tmp_path, "44", "0002", verdict="success", exit_code=0, ended=AT)
    rows = command(scheduler, tmp_path, "status").output.splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["pending", "running", "success"]
    assert len(scheduler.calls()) == 1


def test_a_list_says_what_is_out_of_sight(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", DOWN)
    made(tmp_path)
    made(tmp_path, "43", "0001")
    rows = command(scheduler, tmp_path, "status").output.splitlines()[1:]
    assert ["out of sight" in row for row in rows] == [True, True]
    assert len(scheduler.calls()) == 1


def test_a_broken_off_submission_is_found_by_its_token(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42 token-None'", "echo '42|RUNNING|n1|None'")
    run = made(tmp_path, None)
    assert "job:       42, RUNNING on n1" in command(scheduler, tmp_path, "status", run.id).output


def test_a_submission_that_came_to_nothing_is_said_so(scheduler: SchedulerStub, tmp_path: Path) -> None:
    run = made(tmp_path, None)
    assert "state:     not submitted" in command(scheduler, tmp_path, "status", run.id).output
    result = command(scheduler, tmp_path, "cancel", run.id)
    assert "nothing to cancel" in result.output
    assert scheduler.calls("scancel") == []


def test_logs_of_a_job_show_what_it_says_itself(scheduler: SchedulerStub, tmp_path: Path) -> None:
    run = made(tmp_path)
    (run.path / "job.log").write_text("hello from the job\n")
    run.log("prefill-0").write_text("hello from a worker\n")
    text = command(scheduler, tmp_path, "logs", run.id).output
    assert text == "job: hello from the job\nprefill-0: hello from a worker\n"
    assert command(scheduler, tmp_path, "logs", "42", "job").output == "hello from the job\n"


def test_following_logs_ends_with_the_job(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sacct", ENDED)
    run = made(tmp_path)
    (run.path / "job.log").write_text("hello\n")
    assert "cancelled" in command(scheduler, tmp_path, "logs", "-f", run.id).output


def test_only_the_job_on_record_is_cancelled(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|PENDING||Resources'", "")
    scheduler.say("sacct", ENDED)
    made(tmp_path)
    made(tmp_path, "43", "0001")
    result = command(scheduler, tmp_path, "cancel", "42")
    assert (result.output, scheduler.calls("scancel")) == (
        "demo-20260102T030405Z-0000 is over: job 42, CANCELLED 0:15 on n1\n",
        ["scancel <42>"],
    )


def test_a_running_job_is_told_through_its_supervisor_only(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|RUNNING|n1|None'", "echo '42|RUNNING|n1|None'", "")
    scheduler.say("sacct", ENDED)
    run = made(tmp_path, verdict="terminated", exit_code=143, clean=True)
    code, text = cancel_job(run, 10, False, scheduler.env) or (9, "")
    assert (code, scheduler.calls("scancel")) == (0, ["scancel <--batch> <--signal=TERM> <42>"])
    assert "terminated (exit 143); everything is gone; job 42, CANCELLED 0:15" in text


def test_a_supervisor_that_does_not_react_leaves_it_to_the_scheduler(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|RUNNING|n1|None'")
    scheduler.say("scancel", "", f"rm '{tmp_path}/scheduler/squeue/'*")
    scheduler.say("sacct", ENDED)
    code, text = cancel_job(made(tmp_path), 10, False, scheduler.env, reacts_s=0.3) or (9, "")
    assert (code, "the scheduler did" in text) == (0, True)
    assert scheduler.calls("scancel") == ["scancel <--batch> <--signal=TERM> <42>", "scancel <42>"]


def test_kill_does_not_wait_for_the_supervisor(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|RUNNING|n1|None'", "")
    scheduler.say("sacct", ENDED)
    assert (cancel_job(made(tmp_path), 10, True, scheduler.env) or (9, ""))[0] == 0
    assert scheduler.calls("scancel") == ["scancel <42>"]


def test_a_job_that_does_not_end_in_time_is_no_success(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|COMPLETING|n1|None'")
    made(tmp_path)
    result = command(scheduler, tmp_path, "cancel", "42", "--timeout", "0.2")
    assert result.return_value == 5
    assert scheduler.calls("scancel") == []


def test_a_job_of_another_user_is_left_alone(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", "echo '42|RUNNING|n1|None'")
    scheduler.say("scancel", "echo 'scancel: error: Kill job error on job id 42: Access/permission denied' >&2; exit 1")
    code, text = cancel_job(made(tmp_path), 10, False, scheduler.env) or (9, "")
    assert (code, "another user" in text) == (5, True)
