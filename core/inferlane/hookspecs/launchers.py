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
    """An object with ``run(plan, options, hooks, rehearsal) -> int``, see ``inferlane.builtin.local_launcher``.

    The one hook that answers with behaviour. This version of the core runs on one machine and calls the type ``local``
    only; the contract of launchers is not settled.
    """
