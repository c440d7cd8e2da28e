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
    """An object with ``start(wish, prepared, announce) -> int``: run what was asked for and return the exit code.

    ``wish``: the command line (:class:`inferlane.running.start.Wish`). ``prepared``: recipe, cluster file and plugins
    (:class:`inferlane.preparation.Prepared`). ``announce(folder)``: tells the guardian which run folder to close should
    this process be killed; only for a run that dies with it. Faults raise ``InferlaneError``. The one hook that answers
    with behaviour; its contract may still change.
    """
