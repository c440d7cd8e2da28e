"""A scheduler that says what a test tells it to."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.testing.scheduler_stub import SchedulerStub


@pytest.fixture
def scheduler(tmp_path: Path) -> SchedulerStub:
    return SchedulerStub(tmp_path / "scheduler")
