"""Benchmark ``manual``: no client; the endpoint is served until the run is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from inferlane.api import BenchmarkConfig, BenchmarkSpec, hookimpl

PLUGIN_API = 1


class ManualConfig(BenchmarkConfig):
    """The block of ``type: manual``."""

    type: Literal["manual"] = Field(default="manual", description="which plugin reads this block")


@hookimpl
def inferlane_benchmarks() -> Sequence[BenchmarkSpec]:
    """The one type."""
    return [BenchmarkSpec(type="manual", summary="no client: serve until stopped", config=ManualConfig)]


@hookimpl
def inferlane_benchmark_command() -> None:
    """No client."""
