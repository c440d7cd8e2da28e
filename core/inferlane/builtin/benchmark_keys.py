"""Keys that benchmark blocks of existing recipes may hold, and that have no effect."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import Problem
from inferlane.values.configs import BenchmarkConfig


def unused(benchmark: BenchmarkConfig, reasons: dict[str, str]) -> Sequence[Problem]:
    """A warning for each key that was set though it has no effect here."""
    return [
        Problem(where=f"benchmark.{name}", severity="warning", message=f"has no effect: {reason}")
        for name, reason in reasons.items()
        if name in benchmark.model_fields_set and getattr(benchmark, name) is not None
    ]
