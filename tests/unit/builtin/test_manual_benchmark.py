"""The manual benchmark plugin, through its hooks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError


@pytest.fixture
def bench(load_bench: Any) -> Any:
    return load_bench("inferlane.builtin.manual_benchmark")


def test_there_is_no_client(bench: Any, make_run: Any) -> None:
    assert bench.command(make_run()) is None


def test_a_command_is_refused(bench: Any) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        bench.parse(command="curl")
