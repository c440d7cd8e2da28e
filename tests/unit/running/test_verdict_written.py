"""The verdict reaches whoever asked for it: on a full disk, and when a signal comes at the very end."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferlane.errors import RunFault
from inferlane.running import local
from inferlane.running.folder import aftermath
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.leftovers.sweep import Swept
from inferlane.running.local import run_plan
from inferlane.running.processes.signals import STOPPING
from inferlane.running.settings import RunOptions
from inferlane.testing.handmade import plan, shell

BENCH = plan(shell("bench", "true", kind="benchmark"))


@pytest.fixture(autouse=True)
def signals_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The run's handlers are gone after the test; what pytest itself started is not the run's to end."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    monkeypatch.setattr(local, "last_look", lambda run_id: Swept())
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def options(tmp_path: Path) -> RunOptions:
    return RunOptions(outputs=tmp_path / "out", environ=os.environ, as_json=True)


def full_for(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    write = RunDirectory.write

    def full(run: RunDirectory, name: str, content: bytes) -> None:
        if name in names:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(run, name, content)

    monkeypatch.setattr(RunDirectory, "write", full)


@pytest.mark.parametrize("name", ["plan.json", "owner.json"])
def test_a_full_disk_before_the_start_is_one_line_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    full_for(monkeypatch, name, "run.json")
    with pytest.raises(RunFault, match=r"cannot write to .*: No space left on device; make room there, or choose"):
        run_plan(BENCH, options(tmp_path))


def test_a_verdict_that_cannot_be_written_is_still_told_and_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full_for(monkeypatch, "run.json")
    assert run_plan(BENCH, options(tmp_path)) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 1
    assert "No space left on device" in document["cause"]["message"]


def test_a_signal_after_the_last_process_does_not_cost_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(run_id: str) -> Swept:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        return Swept()

    monkeypatch.setattr(local, "last_look", look)
    assert run_plan(BENCH, options(tmp_path)) == 0
    (run,) = (tmp_path / "out").iterdir()
    assert json.loads((run / "run.json").read_bytes())["verdict"] == "success"


def test_the_guardian_says_nothing_of_a_disk_that_the_supervisor_found_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(aftermath, "write_whole", full)
    assert not aftermath.close_run(tmp_path, 1, Swept())
    assert aftermath.close_run(tmp_path, -9, Swept())
