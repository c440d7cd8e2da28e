"""Hooks of benchmarks: the client's command, and the verdict over what it wrote."""
# mypy: disable-error-code="empty-body"

from collections.abc import Mapping, Sequence

from inferlane.hookspecs.markers import hookspec
from inferlane.values import BenchmarkSpec, Command, Process, Run, Summary
from inferlane.values.configs import BenchmarkConfig


@hookspec
def inferlane_benchmarks() -> Sequence[BenchmarkSpec]:
    """The benchmark types this module implements."""


@hookspec(firstresult=True)
def inferlane_benchmark_command(benchmark: BenchmarkConfig, process: Process, run: Run) -> Command | None:
    """The client's command; it is always a process of its own. ``None`` = no client: serve until stopped.

    A client in Python is ``program=(run.python, "-m", "package.client")`` with ``on_host=True``.
    """


@hookspec(firstresult=True)
def inferlane_benchmark_summary(benchmark: BenchmarkConfig, outputs: Mapping[str, str]) -> Summary | None:
    """The verdict over the client's ``outputs`` (file name to text). ``None`` = the exit status decides.

    Called after the client ended, whatever its status. Zero tokens or a wrong count is not ``ok``.
    """
