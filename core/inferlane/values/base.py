"""The base of every value that crosses the plugin boundary."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A frozen value. Construction checks nothing; the core checks every answer against its type at the hook boundary.

    ``kw_only`` is not inherited by msgspec structs, so each subclass repeats ``frozen=True, kw_only=True``.
    """


Env = Mapping[str, str | None]
"""Variable name to value; ``None`` removes the name from the child's environment."""

Ports = Mapping[str, int]
"""Port name to the first number of its block."""

Text = Mapping[str, str]

Args = Mapping[str, Any]
"""Engine arguments as the recipe spells them: key to bool, number, string, list, mapping or ``None``."""

Role = Literal["prefill", "decode", "agg"]
ROLES: tuple[Role, ...] = ("prefill", "decode", "agg")

Phase = Literal["infra", "before_workers", "workers", "router", "after_router", "traffic"]
PHASES: tuple[Phase, ...] = ("infra", "before_workers", "workers", "router", "after_router", "traffic")
"""In order. A process starts *in* a phase; a gate holds *before* one."""

TEARDOWN_TIERS: Mapping[Phase, int] = {
    "traffic": 0,
    "after_router": 1,
    "router": 1,
    "workers": 2,
    "before_workers": 3,
    "infra": 4,
}
"""Which tier of the teardown a process ends in; lower tiers end first."""

Critical = Literal["always", "startup", "never"]
"""When the exit of a process fails the run: at any time, only before traffic, or never."""


class Problem(Value, frozen=True, kw_only=True):
    """One fault, said to the person who wrote the recipe.

    ``message``: what is wrong, with the numbers compared, and what to do. ``where``: the dotted path in the recipe
    (``roles.prefill.gpus``) or, with a ``cluster:`` prefix, in the cluster file; the core adds file, line and column.
    ``severity``: an ``error`` refuses the plan, a ``warning`` is printed and kept in the plan.
    """

    message: str
    where: str = ""
    severity: Literal["error", "warning"] = "error"
