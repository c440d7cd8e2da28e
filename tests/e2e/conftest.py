"""Running hand-made plans as a user would, and the proof after each test that nothing of them is left."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inferlane.testing.leftovers import watching
from inferlane.testing.records import record_faults
from inferlane.testing.runs import Running, begin
from inferlane.values import Plan


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a plan under a guardian. After the test every run of it must have left nothing, and a whole folder."""
    started: list[Running] = []

    def run(plan: Plan, grace: float = 5, env: dict[str, str] | None = None) -> Running:
        started.append(begin(plan, tmp_path / f"run-{len(started)}", grace, env))
        return started[-1]

    with watching() as left_by:
        yield run
        faults = []
        for one in started:
            if one.popen.poll() is None:
                one.popen.send_signal(signal.SIGTERM)
                one.popen.communicate(timeout=20)
            faults += left_by(one)
            faults += [fault for folder in one.outputs.iterdir() for fault in record_faults(folder, *one.cut())]
        assert not faults
