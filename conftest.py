"""Options of the whole test suite, and the proof that the checkout under test is the one imported."""

from __future__ import annotations

from pathlib import Path

import pytest

import inferlane

ROOT = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden``."""
    parser.addoption("--update-golden", action="store_true", help="write the golden plans anew; read the diff")


def pytest_report_header() -> str:
    """Name the package under test; refuse a stale install."""
    found = Path(inferlane.__file__).resolve()
    if not found.is_relative_to(ROOT):
        raise pytest.UsageError("the imported inferlane is not this checkout's; install requirements-dev.txt first")
    return f"inferlane {inferlane.__version__} from {found.parent.relative_to(ROOT)}"
