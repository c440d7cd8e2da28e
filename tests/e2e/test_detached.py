"""``run --detach``: the command returns, the run goes on, and can be looked at and cancelled from elsewhere."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICKSTART = str(ROOT / "examples/quickstart.yaml")


def inferlane(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inferlane", *arguments, "-o", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(autouse=True)
def nothing_goes_on(tmp_path: Path) -> Iterator[None]:
    """A test that fails leaves no run behind."""
    yield
    for run in tmp_path.glob("*/owner.json"):
        if not (run.parent / "run.json").exists():
            inferlane(tmp_path, "cancel", str(run.parent), "--kill")


def test_a_detached_run_goes_on_until_it_is_cancelled(tmp_path: Path) -> None:
    begun = inferlane(tmp_path, "run", QUICKSTART, "--detach", "--serve", "--json")
    assert begun.returncode == 0, begun.stderr
    run = Path(json.loads(begun.stdout)["folder"])
    assert "running" in inferlane(tmp_path, "status", run.name).stdout
    deadline = time.monotonic() + 20
    while "ready: http" not in (run / "run.log").read_text():
        assert time.monotonic() < deadline, (run / "run.log").read_text()
        time.sleep(0.1)
    assert inferlane(tmp_path, "cancel", run.name).returncode == 0
    assert json.loads((run / "run.json").read_text())["verdict"] == "terminated"


def test_a_detached_run_ends_by_itself_and_keeps_its_words(tmp_path: Path) -> None:
    begun = inferlane(tmp_path, "run", QUICKSTART, "--detach", "--set", "benchmark.requests=4")
    assert begun.returncode == 0, begun.stderr
    (run,) = tmp_path.iterdir()
    deadline = time.monotonic() + 30
    while not (run / "run.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert json.loads((run / "run.json").read_text())["verdict"] == "success"
    assert "everything is gone" in (run / "run.log").read_text()


def test_what_stands_against_starting_is_said_before_the_command_returns(tmp_path: Path) -> None:
    wrong = inferlane(tmp_path, "run", QUICKSTART, "--detach", "--set", "roles.decode.workers=99")
    assert wrong.returncode == 2
    assert "roles.decode.nodes: 99 worker(s)" in wrong.stderr
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))
        holder.listen()
        taken = inferlane(tmp_path, "run", QUICKSTART, "--detach", "--set", f"frontend.port={holder.getsockname()[1]}")
    assert taken.returncode == 1
    assert "the public port of the endpoint" in taken.stderr
