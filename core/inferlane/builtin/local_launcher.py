"""Launcher ``local``: every process on this machine, on loopback addresses, owned and always cleaned up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from inferlane.api import LauncherConfig, LauncherSpec, hookimpl

PLUGIN_API = 1


class LocalConfig(LauncherConfig):
    """The local launcher has no settings of its own."""

    type: Literal["local"] = Field(default="local", description="which plugin reads this block")


class LocalLauncher:
    """Acts by :func:`inferlane.running.start.on_this_machine`, which is imported when it is needed."""

    def start(self, wish: Any, prepared: Any, announce: Callable[[Path], None]) -> int:
        """Run it to its end and return the exit code."""
        from inferlane.running.start import on_this_machine

        return on_this_machine(wish, prepared, announce)


@hookimpl
def inferlane_launchers() -> Sequence[LauncherSpec]:
    """The one type."""
    return [LauncherSpec(type="local", summary="processes on this machine", config=LocalConfig)]


@hookimpl
def inferlane_launcher() -> LocalLauncher:
    """The launcher."""
    return LocalLauncher()
