"""What the scheduler says of a job, and who is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inferlane.slurm.queue import JobState, ask, queue_of_user
from inferlane.slurm.record import JobId
from inferlane.testing.scheduler_stub import SchedulerStub

GONE = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
DOWN = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
JOB = JobId("42")


def shown(state: str, code: str, reason: str = "None", more: str = "") -> str:
    return (
        f"echo 'JobId=42 JobName=demo QOS=(null) JobState={state} Reason={reason} {more}Dependency=(null) "
        f"Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={code} DerivedExitCode=0:0 NodeList=n[1-2] BatchHost=n1'"
    )


def test_a_job_in_the_queue_is_as_the_queue_says(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", "echo '42|PENDING||Resources'")
    assert ask(JOB, scheduler.env) == JobState("PENDING", "squeue", reason="Resources")
    assert scheduler.calls() == ["squeue <--noheader> <--jobs=42> <--format=%A|%T|%N|%r>"]


def test_another_cluster_is_asked_for_its_own_jobs(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", "echo 'CLUSTER: north'; echo '42|RUNNING|n[1-2]|None'")
    assert ask(JobId("42", "north"), scheduler.env).nodes == "n[1-2]"
    assert scheduler.calls()[0].startswith("squeue <--clusters=north> ")


def test_an_empty_queue_is_no_end(scheduler: SchedulerStub) -> None:
    scheduler.say("sacct", "")
    scheduler.say("scontrol", GONE)
    state = ask(JOB, scheduler.env)
    assert (state.known, state.ended, state.answered, state.status) == (False, False, True, 1)


@pytest.mark.parametrize(
    ("row", "word", "status"),
    [
        ("42|COMPLETED|0:0|n1", "COMPLETED", 0),
        ("42|FAILED|3:0|n1", "FAILED", 3),
        ("42|FAILED|0:9|n1", "FAILED", 137),
        ("42|CANCELLED by 1001|0:15|n1", "CANCELLED", 143),
        ("42|CANCELLED+|0:0|None assigned", "CANCELLED", 1),
        ("42|TIMEOUT|0:0|n1", "TIMEOUT", 1),
        ("42|NODE_FAIL|0:0|n1", "NODE_FAIL", 1),
        ("42|COMPLETED|0:1|n1", "COMPLETED", 129),
    ],
)
def test_accounting_tells_how_a_job_ended(scheduler: SchedulerStub, row: str, word: str, status: int) -> None:
    scheduler.say("sacct", f"echo '420|COMPLETED|0:0|n1'; echo '{row}'")
    state = ask(JOB, scheduler.env)
    assert (state.word, state.ended, state.status, state.source) == (word, True, status, "sacct")


@pytest.mark.parametrize("row", ["", "420|COMPLETED|0:0|n1", "42|COMPLETED||n1", "42||0:0|n1", "42|RUNNING|0:0|n1"])
def test_accounting_that_is_late_or_odd_is_not_believed(scheduler: SchedulerStub, row: str) -> None:
    scheduler.say("sacct", f"echo '{row}'")
    scheduler.say("scontrol", shown("FAILED", "7:0"))
    assert str(ask(JOB, scheduler.env)) == "FAILED 7:0"


def test_without_accounting_the_controller_is_asked(scheduler: SchedulerStub) -> None:
    scheduler.say("sacct", DISABLED)
    scheduler.say("scontrol", shown("NODE_FAIL", "0:1", "NodeDown", "FailedNode=n2 "))
    state = ask(JOB, scheduler.env)
    assert (state.word, state.reason, state.nodes, state.status) == ("NODE_FAIL", "NodeDown", "n[1-2]", 129)


@pytest.mark.parametrize(("code", "word"), [(0, "COMPLETED"), (4, "FAILED")])
def test_what_everybody_has_forgotten_the_run_itself_knows(
    scheduler: SchedulerStub, tmp_path: Path, code: int, word: str
) -> None:
    for command in ("squeue", "scontrol"):
        scheduler.say(command, GONE)
    scheduler.say("sacct", DISABLED)
    (tmp_path / "run.json").write_text(json.dumps({"exit_code": code}))
    state = ask(JOB, scheduler.env, tmp_path)
    assert (state.word, state.source, state.status) == (word, "run", code)


def test_a_controller_that_is_down_says_nothing_of_the_job(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("squeue", DOWN)
    scheduler.say("sacct", DISABLED)
    (tmp_path / "run.json").write_text('{"exit_code": 0}')
    state = ask(JOB, scheduler.env, tmp_path)
    assert (state.known, state.answered) == (False, False)
    assert "Unable to contact slurm controller" in state.words


def test_accounting_answers_while_the_controller_is_down(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", DOWN)
    scheduler.say("sacct", "echo '42|COMPLETED|0:0|n1'")
    assert ask(JOB, scheduler.env).status == 0


def test_an_outer_jobs_variables_do_not_change_the_question(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", "echo '42|RUNNING|n1|None'")
    ask(JOB, {**scheduler.env, "SQUEUE_FORMAT": "%i", "SLURM_JOB_ID": "7", "SLURM_CONF": "here"})
    env = scheduler.environment("squeue")
    assert "SQUEUE_FORMAT" not in env
    assert "SLURM_JOB_ID" not in env
    assert env["SLURM_CONF"] == "here"


def test_the_callers_jobs_are_listed_in_one_call(scheduler: SchedulerStub) -> None:
    scheduler.say("squeue", "echo '42|PENDING||Priority'; echo '43|RUNNING|n1|None'; echo odd")
    found = queue_of_user(scheduler.env)
    assert {number: str(state) for number, state in (found or {}).items()} == {
        "42": "PENDING (Priority)",
        "43": "RUNNING",
    }
