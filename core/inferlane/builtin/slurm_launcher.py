"""Launcher ``slurm``: a job whose first node runs the supervisor, and every process a step of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from inferlane.api import LauncherConfig, LauncherSpec, hookimpl

PLUGIN_API = 1


class SlurmConfig(LauncherConfig):
    """The launcher is configured by the cluster file."""

    type: Literal["slurm"] = Field(default="slurm", description="which plugin reads this block")


class SlurmLauncher:
    """Acts by :func:`inferlane.slurm.launch.launch`, which is imported when it is needed."""

    def start(self, wish: Any, prepared: Any, announce: Callable[[Path], None]) -> int:
        """Submit it, follow the job to its true end and return its exit code. The job outlives this process."""
        from inferlane.slurm.launch import launch

        return launch(wish, prepared)


@hookimpl
def inferlane_launchers() -> Sequence[LauncherSpec]:
    """The one type."""
    return [LauncherSpec(type="slurm", summary="jobs of a Slurm cluster", config=SlurmConfig)]


@hookimpl
def inferlane_launcher() -> SlurmLauncher:
    """The launcher."""
    return SlurmLauncher()
