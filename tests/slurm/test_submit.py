"""Submission to a real scheduler: once, with what was named and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from inferlane.testing.slurm_lab import Lab, Site

pytestmark = pytest.mark.slurm

SUBMIT = """
import os, sys
from pathlib import Path
from inferlane.errors import InferlaneError
from inferlane.slurm.submit import submit
try:
    print(submit(Path(sys.argv[1]), Path(sys.argv[1]).parent, sys.argv[2], sys.argv[3:], os.environ))
except InferlaneError as fault:
    sys.exit(f"{fault.exit_code} {fault}")
"""


@pytest.fixture
def site(labs: Callable[[Site], Lab]) -> Iterator[Lab]:
    lab = labs(Site(nodes=2, fabric=False, lost_s=6))
    yield lab
    assert lab.left() == []


def script(lab: Lab, *lines: str) -> Path:
    folder = Path(tempfile.mkdtemp(dir=lab.folder))
    (folder / "job.sh").write_text("\n".join(("#!/bin/bash", f"#SBATCH --chdir={folder}", *lines, "")))
    return folder / "job.sh"


def words(path: Path, token: str, names: Sequence[str] = ()) -> list[str]:
    return [sys.executable, "-c", SUBMIT, str(path), token, *names]


def carriers(lab: Lab, token: str) -> list[str]:
    rows = lab.run(["squeue", "--me", "-h", "-t", "all", "-o", "%A %k"]).stdout.splitlines()
    return [row.split()[0] for row in rows if row.split()[1] == token]


def told(lab: Lab, name: str) -> None:
    """Signal the controller, which the head numbers in its own way."""
    run = lab.folder.parent / "run"
    enter = ["nsenter", "-t", (run / "head.pid").read_text().split()[0], "-n", "-u", "-m", "-p", "--"]
    subprocess.run([*enter, "kill", f"-{name}", (run / "slurmctld.pid").read_text().strip()], check=True)


def until_written(path: Path) -> str:
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    return path.read_text()


def test_a_controller_that_is_away_gets_the_job_once_when_it_is_back(site: Lab) -> None:
    path = script(site, "exit 0")
    site.fault("ctld-kill")
    process = site.start(words(path, "token-away"))
    time.sleep(12)
    assert process.poll() is None
    site.fault("ctld-start")
    out, err = process.communicate(timeout=90)
    assert (process.returncode, "asking again" in err) == (0, True), err
    assert carriers(site, "token-away") == [out.strip()]
    assert json.loads((path.parent / "job.json").read_text())["job_id"] == out.strip()
    site.ready()


def test_a_controller_that_hangs_while_it_takes_the_job_does_not_take_it_twice(site: Lab) -> None:
    path = script(site, "exit 0")
    told(site, "STOP")
    try:
        process = site.start(words(path, "token-hangs"))
        time.sleep(15)
    finally:
        told(site, "CONT")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    time.sleep(3)
    state = site.run(["squeue", "--me", "-h", "-t", "all", "-o", "%A %k %T"]).stdout
    kept = [row for row in state.splitlines() if "token-hangs" in row and "CANCELLED" not in row]
    assert [row.split()[0] for row in kept] == [out.strip()], state
    site.ready()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#SBATCH --partition=nope", "Invalid partition name specified"),
        ("#SBATCH --gres=gpu:99", "Requested node configuration is not available"),
        ("#SBATCH --segment=2", "unrecognized option '--segment=2'"),
    ],
)
def test_what_the_site_refuses_is_one_line_at_once(site: Lab, line: str, said: str) -> None:
    done = site.run(words(script(site, line, "exit 0"), "token-refused"))
    assert (done.returncode, done.stderr.count("\n"), done.stderr[:2]) == (1, 1, "2 "), done.stderr
    assert said in done.stderr


def test_the_job_gets_the_named_variables_byte_for_byte_and_no_others(site: Lab) -> None:
    path = script(site, "env -0 > env.part", "mv env.part env")
    value = 'x, y; $(touch pwned)\n{"k": "v w"}'
    given = {"A": value, "HF_TOKEN": "tok-123", "OTHER": "zzz", "LD_LIBRARY_PATH": "host-libs"}
    done = site.run(words(path, "token-env", ["A", "HF_TOKEN"]), env=given)
    assert done.returncode == 0, done.stderr
    seen = dict(item.split("=", 1) for item in until_written(path.parent / "env").split("\0") if item)
    assert (seen["A"], seen["HF_TOKEN"]) == (value, "tok-123")
    assert not {"OTHER", "LD_LIBRARY_PATH"} & set(seen)
    assert "tok-123" not in site.run(["scontrol", "show", "job", done.stdout.strip()]).stdout + path.read_text()


def test_a_submission_from_inside_of_a_job_is_like_any_other(site: Lab) -> None:
    path = script(site, "env | grep ^SLURM > slurm.part", "mv slurm.part slurm")
    outer = ("env", "SLURM_CPU_BIND=quiet,mask_cpu:0xF", "SLURM_TRES_PER_TASK=cpu:1", "SBATCH_HOLD=1")
    done = site.run(["srun", "-n1", *outer, *words(path, "token-inner")])
    assert done.returncode == 0, done.stderr
    seen = until_written(path.parent / "slurm")
    assert "SLURM_CPU_BIND" not in seen
    assert "SLURM_TRES_PER_TASK" not in seen
