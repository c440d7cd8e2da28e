"""Keys that benchmark blocks of existing recipes may hold, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from inferlane.api import Problem
from inferlane.values.configs import BenchmarkConfig


def _refuse(_value: object) -> None:
    raise PydanticCustomError("not_supported", "not supported yet; leave it out")


Unsupported = Annotated[Any, BeforeValidator(_refuse)]
"""A key that would change what runs, and that is not acted on: refused by name."""


def unused(benchmark: BenchmarkConfig, reasons: dict[str, str]) -> Sequence[Problem]:
    """A warning for each key that was set though it has no effect here."""
    return [
        Problem(where=f"benchmark.{name}", severity="warning", message=f"has no effect: {reason}")
        for name, reason in reasons.items()
        if name in benchmark.model_fields_set and getattr(benchmark, name) is not None
    ]
