"""Hooks of launchers: where processes run."""
# mypy: disable-error-code="empty-body"

from collections.abc import Sequence
from typing import Any

from inferlane.hookspecs.markers import hookspec
from inferlane.values import LauncherSpec
from inferlane.values.configs import LauncherConfig


@hookspec
def inferlane_launchers() -> Sequence[LauncherSpec]:
    """The launcher types this module implements."""


@hookspec(firstresult=True)
def inferlane_launcher(launcher: LauncherConfig) -> Any:
    """An object that acts, see :mod:`inferlane.running`. The one hook that answers with behaviour."""
