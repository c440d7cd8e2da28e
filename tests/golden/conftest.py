"""Where golden files are, and whether they are written anew."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def update_golden(pytestconfig: pytest.Config) -> bool:
    """Whether to write instead of compare."""
    return bool(pytestconfig.getoption("--update-golden"))


@pytest.fixture
def root() -> Path:
    """The repository."""
    return Path(__file__).parents[2]
