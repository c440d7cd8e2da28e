"""Submission: once, clean, and in the scheduler's own words when it says no."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from inferlane.errors import InferlaneError, RunFault, UsageFault
from inferlane.slurm import submit as module
from inferlane.slurm.record import JobId, read_record
from inferlane.testing.scheduler_stub import SchedulerStub

TIMED_OUT = "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1"
DOWN = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.01)


def submitted(
    scheduler: SchedulerStub, tmp_path: Path, names: Collection[str] = (), patience_s: float = 5.0, **env: str
) -> JobId:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n")
    return module.submit(script, tmp_path, "token-1", names, {**scheduler.env, **env}, patience_s)


def test_a_submission_names_its_script_its_token_and_no_variables(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", "echo 4242")
    assert submitted(scheduler, tmp_path) == JobId("4242")
    assert scheduler.calls() == [
        f"sbatch <--parsable> <--no-requeue> <--export=NONE> <--comment=token-1> <{tmp_path / 'job.sh'}>"
    ]


def test_the_job_is_recorded_for_its_owner_only(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", "echo '4242;north'")
    submitted(scheduler, tmp_path)
    record = json.loads((tmp_path / "job.json").read_text())
    assert (record["job_id"], record["cluster"], record["token"]) == ("4242", "north", "token-1")
    assert (tmp_path / "job.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("said", "job"),
    [
        ("Submitted batch job 4242", JobId("4242")),
        ("Submitted batch job 4242 on cluster north", JobId("4242", "north")),
        ("*** Maintenance on 12 May ***\n4242\nHave a nice day", JobId("4242")),
    ],
)
def test_banners_of_the_site_do_not_hide_the_id(
    scheduler: SchedulerStub, tmp_path: Path, said: str, job: JobId
) -> None:
    scheduler.say("sbatch", f"cat <<'END'\n{said}\nEND")
    assert submitted(scheduler, tmp_path) == job


def test_variables_of_an_outer_job_are_left_out_and_told_once(
    scheduler: SchedulerStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduler.say("sbatch", "echo 4242")
    outer = {"SLURM_CPU_BIND": "quiet,mask_cpu:0xF", "SLURM_TRES_PER_TASK": "cpu:1", "SBATCH_EXCLUSIVE": "1"}
    more = {"SRUN_DEBUG": "1", "PMI_RANK": "0", "PMIX_RANK": "0", "SQUEUE_FORMAT": "%i"}
    submitted(scheduler, tmp_path, SLURM_CONF="site.conf", PMIDDLE="mine", **outer, **more)
    env = scheduler.environment("sbatch")
    assert env["SLURM_CONF"] == "site.conf"
    assert env["PMIDDLE"] == "mine"
    assert not {*outer, *more} & set(env)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "PMIX_RANK, PMI_RANK, SBATCH_EXCLUSIVE, SLURM_CPU_BIND, SLURM_TRES_PER_TASK, SRUN_DEBUG" in told


def test_variables_travel_by_name_only(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", "echo 4242")
    submitted(scheduler, tmp_path, ["HF_TOKEN", "A"], HF_TOKEN="tok-123", A="x, y; $(touch pwned)", OTHER="zzz")
    assert "<--export=A,HF_TOKEN>" in scheduler.calls()[0]
    assert scheduler.environment("sbatch")["HF_TOKEN"] == "tok-123"
    assert "tok-123" not in scheduler.calls()[0] + (tmp_path / "job.json").read_text()


def test_a_variable_that_is_not_set_stops_the_submission_by_name(scheduler: SchedulerStub, tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="HF_TOKEN is not set"):
        submitted(scheduler, tmp_path, ["HF_TOKEN"])
    assert scheduler.calls() == []


@pytest.mark.parametrize("name", ["ALL", "NONE", "A,B", "A=1", "a b", "--help"])
def test_words_that_export_reads_otherwise_are_no_names(scheduler: SchedulerStub, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageFault, match="no name of a variable"):
        submitted(scheduler, tmp_path, [name], **{name: "1"})


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Batch job submission failed: Invalid account or account/partition combination specified", "slurm.account"),
        ("invalid partition specified: nope", "sinfo -s"),
        ("Invalid generic resource (gres) specification", "use_gpus_per_node_directive"),
        ("Batch job submission failed: Requested node configuration is not available", "sinfo -o"),
    ],
)
def test_what_the_scheduler_refuses_is_told_at_once_in_its_words(
    scheduler: SchedulerStub, tmp_path: Path, said: str, hint: str
) -> None:
    scheduler.say("sbatch", f"echo 'sbatch: error: {said}' >&2; exit 1")
    with pytest.raises(InferlaneError) as caught:
        submitted(scheduler, tmp_path)
    text = str(caught.value)
    assert text.startswith(f"sbatch refused the job: {said}; ")
    assert hint in text
    assert "\n" not in text
    assert scheduler.calls() == scheduler.calls("sbatch")[:1]
    assert not (tmp_path / "job.json").exists()


def test_a_job_that_was_taken_before_the_connection_broke_is_found(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", TIMED_OUT)
    scheduler.say("squeue", "echo '17 (null)'; echo '4242 token-1'")
    assert submitted(scheduler, tmp_path) == JobId("4242")
    assert len(scheduler.calls("sbatch")) == 1
    assert scheduler.calls("squeue")[0] == "squeue <--me> <--noheader> <--states=all> <--format=%A %k>"


def test_a_job_that_has_ended_meanwhile_is_found_in_accounting(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", TIMED_OUT)
    scheduler.say("sacct", "echo '4241|other'; echo '4242|token-1'")
    assert submitted(scheduler, tmp_path) == JobId("4242")


def test_while_nobody_can_say_whether_it_was_taken_it_is_not_sent_again(
    scheduler: SchedulerStub, tmp_path: Path
) -> None:
    scheduler.say("sbatch", TIMED_OUT, "echo 4243")
    scheduler.say("squeue", DOWN, DOWN, "echo '4242 token-1'")
    assert submitted(scheduler, tmp_path) == JobId("4242")
    assert len(scheduler.calls("sbatch")) == 1


def test_a_submission_that_was_not_taken_is_sent_again(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", TIMED_OUT, TIMED_OUT, "echo 4242")
    scheduler.say("sacct", DISABLED)
    assert submitted(scheduler, tmp_path) == JobId("4242")
    assert len(scheduler.calls("sbatch")) == 3


def test_of_two_jobs_with_one_token_the_second_is_cancelled_by_its_id(scheduler: SchedulerStub, tmp_path: Path) -> None:
    scheduler.say("sbatch", TIMED_OUT, "echo 4243")
    scheduler.say("squeue", "", "echo '4243 token-1'; echo '4242 token-1'; echo '4244 token-2'")
    assert submitted(scheduler, tmp_path) == JobId("4242")
    assert scheduler.calls("scancel") == ["scancel <4243>"]


def test_a_scheduler_that_stays_silent_is_given_up_and_the_token_is_told(
    scheduler: SchedulerStub, tmp_path: Path
) -> None:
    scheduler.say("sbatch", TIMED_OUT)
    scheduler.say("squeue", DOWN)
    with pytest.raises(RunFault, match=r"Socket timed out.*not known.*token-1"):
        submitted(scheduler, tmp_path, patience_s=0.3)
    record = read_record(tmp_path)
    assert record is not None
    assert (record.job_id, record.token) == (None, "token-1")


def test_a_call_that_hangs_is_ended_and_counts_as_no_answer(
    scheduler: SchedulerStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CALL_S", 0.3)
    scheduler.say("sbatch", "sleep 600", "echo 4242")
    assert submitted(scheduler, tmp_path) == JobId("4242")


def test_a_missing_sbatch_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunFault, match="sbatch: No such file or directory; the launcher slurm needs"):
        module.submit(tmp_path / "job.sh", tmp_path, "t", [], {"PATH": str(tmp_path)})
