"""How long a cancel leaves the commands after a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from inferlane.slurm.frozen import JobSettings, host_teardown_s
from inferlane.slurm.host_setup import HostCommands


@pytest.mark.parametrize(
    ("host", "seconds"),
    [
        (HostCommands(teardown=("x",), timeout_s=90.0), 90.0),
        (HostCommands(commands=("x",), timeout_s=90.0), 0.0),
        (HostCommands(), 0.0),
    ],
)
def test_commands_after_a_run_have_their_time(tmp_path: Path, host: HostCommands, seconds: float) -> None:
    settings = JobSettings(name="a", grace_s=1, patience_s=1, python="p", model="m", digest="d", host=host)
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen/job.json").write_bytes(msgspec.json.encode(settings))
    assert host_teardown_s(tmp_path) == seconds


def test_without_frozen_settings_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    assert host_teardown_s(tmp_path) == 0.0
