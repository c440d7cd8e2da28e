"""The page of the cases names tests and modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parents[1] / "docs" / "contract-cases.md").read_text(encoding="utf-8")
MODULES = {path.stem for path in (TESTS / "cases" / "case_plugins").glob("*.py")} - {"__init__", "arguments"}


def test_every_test_that_the_page_names_exists() -> None:
    defined = {name for path in TESTS.glob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 50
    assert named - defined == set()


def test_every_module_of_the_cases_is_on_the_page() -> None:
    assert {module for module in MODULES if f"`{module}`" not in PAGE} == set()
