"""Gates: what must hold before a phase may begin, as data that the supervisor can judge without any plugin."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from inferlane.values.base import Phase, Text, Value


class Rows(Value, frozen=True, kw_only=True):
    """A condition over a JSON list.

    ``path``: dotted path to the list, empty for the document itself. ``where``: field to allowed values; other rows do
    not count. ``field`` with ``values``: each value must occur in that field; those missing are named. ``at_least``:
    how many rows must remain.
    """

    path: str = ""
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    field: str | None = None
    values: tuple[str, ...] = ()
    at_least: int = 1


class HttpCheck(Value, frozen=True, kw_only=True, tag="http"):
    """GET ``url`` answers one of ``status``; the body holds ``rows`` and matches the regular expression ``text``."""

    url: str
    status: tuple[int, ...] = (200,)
    rows: Rows | None = None
    text: str | None = None


class TcpCheck(Value, frozen=True, kw_only=True, tag="tcp"):
    """``host:port`` accepts a connection."""

    address: str


class FileCheck(Value, frozen=True, kw_only=True, tag="file"):
    """``path`` exists, seen on the node of ``process``."""

    process: str
    path: str


class LogCheck(Value, frozen=True, kw_only=True, tag="log"):
    """The log of ``process`` matches ``pattern`` on ``at_least`` lines.

    With ``values``, group 1 must have been each of them. A later match of ``gone`` takes its group 1 back. Logs carry
    colour codes, so do not anchor patterns.
    """

    process: str
    pattern: str
    gone: str | None = None
    values: tuple[str, ...] = ()
    at_least: int = 1


class PluginCheck(Value, frozen=True, kw_only=True, tag="plugin"):
    """GET ``url``, judged by ``inferlane_router_verdict``: for what the closed set of checks cannot say."""

    url: str
    name: str
    params: Text = field(default_factory=dict)


Check = HttpCheck | TcpCheck | FileCheck | LogCheck | PluginCheck


class Gate(Value, frozen=True, kw_only=True):
    """``before`` may not begin until every check holds in one round.

    ``fail_on``: one match ends the run at once. ``timeout_s``: seconds from the moment the gate is first waited for;
    ``None`` = the run's start deadline.
    """

    name: str
    before: Phase
    checks: tuple[Check, ...]
    fail_on: tuple[LogCheck, ...] = ()
    timeout_s: float | None = None


class Reply(Value, frozen=True, kw_only=True):
    """What a probe got. ``status`` 0 = no answer."""

    status: int = 0
    body: str = ""


class Verdict(Value, frozen=True, kw_only=True):
    """What a check says now: ready or not, why not, which names are missing, and whether waiting is pointless."""

    ready: bool
    message: str = ""
    missing: tuple[str, ...] = ()
    give_up: bool = False
