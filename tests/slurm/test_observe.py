"""A run that is a job, looked at and stopped from another terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inferlane.testing.slurm_lab import Lab

pytestmark = pytest.mark.slurm

QUICKSTART = str(Path(__file__).parents[2] / "examples/quickstart.yaml")


def job_of(site: Any) -> str:
    assert site.run is not None
    return str(json.loads((site.run / "job.json").read_text())["job_id"])


@pytest.fixture
def full(lab: Lab) -> Iterator[Lab]:
    """A cluster without a free node."""
    number = lab.run(
        ["sbatch", "--parsable", "-N4", "--exclusive", "--wrap", "exec sleep 600", "-o", "/dev/null"]
    ).stdout
    deadline = time.monotonic() + 20
    while lab.run(["squeue", "-h", "-j", number, "-o", "%T"]).stdout.strip() != "RUNNING":
        assert time.monotonic() < deadline
    yield lab
    lab.run(["scancel", number.strip()])


def test_a_pending_run_says_why_and_is_cancelled_at_once(tool: Callable[..., Any], full: Lab) -> None:
    site = tool()
    assert site.call("run", QUICKSTART, "--detach").returncode == 0
    time.sleep(1)
    shown = site.call("status", job_of(site)).stdout
    assert "state:     pending" in shown
    assert f"job:       {job_of(site)}, PENDING (Resources)" in shown
    waiting = site.start("wait", job_of(site))
    done = site.call("cancel")
    assert (done.returncode, "CANCELLED" in done.stdout) == (0, True), done.stderr
    assert waiting.wait(30) == 1
    assert "cancelled" in site.call("status").stdout
    waiting.communicate()


def test_a_running_run_is_shown_with_its_processes_and_followed(lab: Lab, tool: Callable[..., Any]) -> None:
    site = tool()
    assert site.call("run", QUICKSTART, "--detach", "--serve").returncode == 0
    site.until("run.ready")
    time.sleep(1)
    shown = json.loads(site.call("status", job_of(site), "--json").stdout)
    assert (shown["state"], shown["ready"], shown["job"]["state"]) == ("running", True, "RUNNING")
    assert {item["state"] for item in shown["processes"].values()} == {"ready"}
    follower = site.start("logs", "-f")
    waiting = site.start("wait")
    time.sleep(2)
    assert site.call("cancel").returncode == 0
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 143
    assert out == (site.run / "job.log").read_text()
    logs, last = follower.communicate(timeout=30)
    assert "job: frozen plan" in logs
    assert "is over: terminated (exit 143)" in last


def test_the_waiting_ends_as_the_run_did(tool: Callable[..., Any]) -> None:
    site = tool()
    assert site.call("run", QUICKSTART, "--detach").returncode == 0
    done = site.call("wait", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["state"], document["verdict"]["verdict"]) == (0, "COMPLETED", "success")


def test_a_run_of_another_user_is_left_alone(tool: Callable[..., Any]) -> None:
    site, other = tool("ada"), tool("bob")
    assert site.call("run", QUICKSTART, "--detach", "--serve").returncode == 0
    site.until("run.ready")
    assert site.run is not None
    (other.outputs / site.run.name).mkdir()
    for name in ("job.json", "owner.json"):
        (other.outputs / site.run.name / name).write_bytes((site.run / name).read_bytes())
        (other.outputs / site.run.name / name).chmod(0o644)
    (other.outputs / site.run.name).chmod(0o755)
    done = other.call("cancel", site.run.name)
    assert (done.returncode, "another user" in done.stderr) == (5, True), done.stderr
    assert not site.has("teardown.start")
    assert site.call("cancel").returncode == 0
