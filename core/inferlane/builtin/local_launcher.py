"""Launcher ``local``: every process on this machine, on loopback addresses, owned and always cleaned up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from inferlane.api import LauncherConfig, LauncherSpec, Plan, hookimpl

PLUGIN_API = 1


class LocalConfig(LauncherConfig):
    """The local launcher has no settings of its own."""

    type: Literal["local"] = Field(default="local", description="which plugin reads this block")


class LocalLauncher:
    """Acts by :func:`inferlane.running.local.run_plan`, which is imported when it is needed."""

    def run(self, plan: Plan, options: Any, hooks: Any = None, rehearsal: Mapping[str, Any] | None = None) -> int:
        """Run an unbound plan to its end and return the exit code."""
        from inferlane.running.local import run_plan

        return run_plan(plan, options, hooks, rehearsal)


@hookimpl
def inferlane_launchers() -> Sequence[LauncherSpec]:
    """The one type."""
    return [LauncherSpec(type="local", summary="processes on this machine", config=LocalConfig)]


@hookimpl
def inferlane_launcher() -> LocalLauncher:
    """The launcher."""
    return LocalLauncher()
