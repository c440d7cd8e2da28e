"""What a twin is told beyond its engine's command line: the process's own part of the plan, as a JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import field

from inferlane.values import PortBlock, Text, Value

VARIABLE = "INFERLANE_TWIN"
"""The environment variable that holds the path of the file."""


class Orders(Value, frozen=True, kw_only=True):
    """Orders of one twin.

    ``host``: the address its ports are bound on. ``ports``: the blocks the engine would bind; the twin binds each
    number of every ``held`` block (those its own argv makes it serve on included). ``mask``: the device variables it
    must see, exactly; ``absent``: names it must not see. ``ranks``: data-parallel ranks it serves. ``load_s``: seconds
    until it is healthy. ``tokens_per_s``: pace of a stream, 0 = as fast as it goes. ``fault``: ``""`` or one of
    ``slow@S`` (healthy after S seconds), ``crash@S`` and ``exit0@S`` (S seconds after its start), ``hang@S`` (answers
    nothing from then on), ``never-healthy``, ``error`` (each completion answers 503), ``zero`` (a completion of no
    tokens), ``crash-on@N`` (dies at its Nth completion), ``hang-one@N`` (never answers its Nth completion),
    ``ignore-term``. ``flags``: ``package:resource`` of the engine's flag table; ``strict_flags``: an unknown flag is an
    error (exit 2), else a warning on its log. ``options``: the ``Twin.options`` of the command.
    """

    process: str
    kind: str
    type: str
    host: str
    role: str | None = None
    worker: int | None = None
    index: int = 0
    count: int = 1
    ranks: int = 1
    ports: Mapping[str, PortBlock] = field(default_factory=dict)
    mask: Text = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    load_s: float = 0.0
    tokens_per_s: float = 0.0
    fault: str = ""
    flags: str | None = None
    strict_flags: bool = False
    options: Text = field(default_factory=dict)


def read_orders(path: Path) -> Orders:
    """Read a twin's orders; raises ``msgspec.ValidationError`` or ``OSError``."""
    return msgspec.json.decode(path.read_bytes(), type=Orders)
