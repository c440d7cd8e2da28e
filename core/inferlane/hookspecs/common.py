"""Hooks that every loaded plugin may answer, one by one in type order, each isolated."""
# mypy: disable-error-code="empty-body"

from collections.abc import Sequence

from inferlane.hookspecs.markers import hookspec
from inferlane.values import Finding, Plan, Problem


@hookspec
def inferlane_validate(plan: Plan) -> Sequence[Problem]:
    """Faults of the finished plan that this plugin knows of; every plugin with a part in the plan is asked."""


@hookspec
def inferlane_doctor() -> Sequence[Finding]:
    """What this plugin finds on this machine. May touch the machine; must end within seconds."""
