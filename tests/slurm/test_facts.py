"""What the launcher relies on of the scheduler itself; where one of these fails, the launcher must change."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from inferlane.testing.slurm_lab import Lab, Site

pytestmark = pytest.mark.slurm

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


class Job:
    """A job on some nodes that waits. ``step`` gives the words of a step in it, for an environment without SLURM_*."""

    def __init__(self, lab: Lab, nodes: int, user: str | None, *options: str) -> None:
        self.lab, self.user = lab, user
        argv = ["sbatch", "--parsable", "--no-requeue", f"-N{nodes}", *options, "--wrap", "exec sleep 600"]
        done = lab.run(argv, user)
        assert done.returncode == 0, done.stderr
        self.number = done.stdout.strip()
        self.until(lambda: self.state() == "RUNNING", "the job runs")
        self.nodes = lab.run(["squeue", "-h", "-j", self.number, "-o", "%N"]).stdout.strip()

    def state(self) -> str:
        return self.lab.run(["squeue", "-h", "-j", self.number, "-o", "%T"]).stdout.strip()

    def steps(self) -> dict[str, str]:
        rows = self.lab.run(["squeue", "-h", "-s", "-j", self.number, "-o", "%j %i"]).stdout.splitlines()
        return dict(row.split() for row in rows)

    def step(self, *words: str, nodes: int = 1) -> list[str]:
        return ["srun", f"--jobid={self.number}", "--overlap", f"-N{nodes}", f"-n{nodes}", *words]

    def run(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self.lab.run(self.step(*words), self.user, env)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return self.lab.start(self.step(*words), self.user)

    @staticmethod
    def until(true: Callable[[], object], what: str, seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"not in time: {what}"
            time.sleep(0.1)


@pytest.fixture
def job(labs: Callable[[Site], Lab]) -> Iterator[Callable[..., Job]]:
    """Start jobs; afterwards they are cancelled, every node is idle, and nothing of them is left."""
    started: list[Job] = []

    def start(*options: str, nodes: int = 1, user: str | None = "ada", site: Site | None = None) -> Job:
        started.append(Job(labs(site or Site()), nodes, user, *options))
        return started[-1]

    yield start
    for one in started:
        one.lab.run(["scancel", one.number])
    for lab in {one.lab for one in started}:
        lab.ready()
        assert lab.left() == []


def test_overlapping_steps_run_side_by_side_on_a_node(job: Callable[..., Job]) -> None:
    held = job("--gpus-per-node=8")
    steps = [held.start(f"--job-name=side-{number}", "sleep", "30") for number in range(3)]
    held.until(lambda: {"side-0", "side-1", "side-2"} <= held.steps().keys(), "three steps run")
    held.lab.run(["scancel", held.number])
    for step in steps:
        step.communicate(timeout=20)


def test_env_as_the_first_word_of_a_step_beats_the_mask_of_the_scheduler(job: Callable[..., Job]) -> None:
    held = job("--gpus-per-node=8")
    mine = {"ROCR_VISIBLE_DEVICES": "5,6"}
    argv = (sys.executable, "-c", SHOW)
    assert json.loads(held.run(*argv, env=mine).stdout)["ROCR_VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"
    told = held.run("/usr/bin/env", "ROCR_VISIBLE_DEVICES=5,6", *argv, env=mine)
    assert json.loads(told.stdout)["ROCR_VISIBLE_DEVICES"] == "5,6"


def test_a_step_can_do_without_devices_if_no_gpus_per_node_are_inherited(job: Callable[..., Job]) -> None:
    held = job("--gpus-per-node=8")
    argv = ("--gres=none", sys.executable, "-c", SHOW)
    inherited = held.run(*argv, env={"SLURM_GPUS_PER_NODE": "8"})
    assert inherited.returncode != 0
    assert "Invalid Trackable RESource" in inherited.stderr
    clean = held.run(*argv)
    assert clean.returncode == 0, clean.stderr
    assert "ROCR_VISIBLE_DEVICES" not in json.loads(clean.stdout)


def test_a_site_without_devices_takes_no_gres_as_none(job: Callable[..., Job]) -> None:
    assert job(site=Site(gpus=0)).run("--gres=none", "true").returncode == 0


@pytest.mark.parametrize("value", ["a,b,c", "two\nlines", 'it\'s "q" $(false) `x` \\', "", "a=b", "é 漢"])
def test_export_by_name_carries_any_value(job: Callable[..., Job], value: str) -> None:
    held = job()
    words = ("--export=PATH,FIRST,SECOND", sys.executable, "-c", SHOW)
    done = held.run(*words, env={"FIRST": value, "SECOND": "2", "OTHER": "no"})
    seen = json.loads(done.stdout)
    assert (seen["FIRST"], seen["SECOND"]) == (value, "2")
    assert "OTHER" not in seen


def test_export_by_value_does_not_carry_commas(job: Callable[..., Job]) -> None:
    done = job().run("--export=ALL,FIRST=a,b", sys.executable, "-c", SHOW)
    assert json.loads(done.stdout)["FIRST"] == "a"


@pytest.mark.parametrize("user", ["ada", None])
def test_a_signal_to_a_step_reaches_a_program_that_was_execed(job: Callable[..., Job], user: str | None) -> None:
    held = job(user=user)
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (print('gently'), sys.exit(3)));"
        "print('ready', flush=True); time.sleep(60)"
    )
    step = held.start("--job-name=engine", "/usr/bin/env", "A=1", sys.executable, "-c", code)
    assert step.stdout is not None
    assert step.stdout.readline() == "ready\n"
    held.lab.run(["scancel", "--signal=TERM", held.steps()["engine"]], user)
    out, _ = step.communicate(timeout=20)
    assert (step.returncode, out) == (3, "gently\n")
    assert held.state() == "RUNNING"


def test_a_signal_to_srun_kills_the_program_without_a_word(job: Callable[..., Job]) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
    )
    step = job().start(sys.executable, "-c", code)
    assert step.stdout is not None
    assert step.stdout.readline() == "ready\n"
    step.send_signal(signal.SIGTERM)
    step.communicate(timeout=20)
    assert step.returncode == 137


def test_srun_calls_the_failure_of_its_node_a_success(job: Callable[..., Job]) -> None:
    held = job("--no-kill", nodes=2)
    last = held.lab.run(["scontrol", "show", "hostnames", held.nodes]).stdout.split()[-1]
    step = held.start("-w", last, "sleep", "300")
    held.until(lambda: any("sleep 300" in line for line in held.lab.processes(last)), "the step runs")
    held.lab.fault("power-off", last)
    try:
        _, said = step.communicate(timeout=40)
        assert step.returncode == 0, said
        assert "ode failure" in said or "NODE FAILURE" in said
    finally:
        held.lab.run(["scancel", held.number])
        held.lab.fault("power-on", last)


def test_a_step_starts_by_job_number_from_an_environment_without_any_of_the_scheduler(job: Callable[..., Job]) -> None:
    held = job("--gres=gpu:8", nodes=2)
    show = "import json, os; print(json.dumps({k: os.environ[k] for k in ('SLURM_JOB_ID', 'SLURMD_NODENAME')}))"
    words = held.step("--export=PATH", sys.executable, "-c", show, nodes=2)
    done = held.lab.run(["env", "-i", "PATH=/usr/bin:/bin", *words], "ada")
    assert done.returncode == 0, done.stderr
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["SLURM_JOB_ID"] for one in seen} == {held.number}
    assert len({one["SLURMD_NODENAME"] for one in seen}) == 2


def test_variables_of_an_outer_job_act_as_options_of_a_step(job: Callable[..., Job]) -> None:
    """Why the launcher drops them: here one makes the step ask for more than the job has."""
    held = job()
    words = ["srun", f"--jobid={held.number}", "--overlap", "-N1", "echo", "one"]
    assert held.lab.run(words, "ada").stdout == "one\n"
    outer = held.lab.run(words, "ada", {"SLURM_NTASKS": "300"})
    assert (outer.returncode, outer.stdout) != (0, "one\n")


def test_lines_of_several_tasks_are_whole_below_a_kilobyte(job: Callable[..., Job]) -> None:
    """Longer ones come in pieces of 1,024 bytes, between which those of other tasks may stand."""
    held = job(nodes=4)
    code = "import os\nfor _ in range(200): print(os.environ['SLURM_PROCID'] * 1000, flush=True)"
    done = held.lab.run(held.step(sys.executable, "-c", code, nodes=4), "ada")
    lines = done.stdout.splitlines()
    assert len(lines) == 800
    assert all(len(line) == 1000 and len(set(line)) == 1 for line in lines)


def test_exclusive_steps_get_devices_only_when_they_ask(job: Callable[..., Job]) -> None:
    held = job("--exclusive")
    argv = (sys.executable, "-c", SHOW)
    assert "ROCR_VISIBLE_DEVICES" not in json.loads(held.run(*argv).stdout)
    asked = json.loads(held.run("--gres=gpu:8", *argv).stdout)
    assert asked["ROCR_VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"
