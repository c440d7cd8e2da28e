"""What the planner takes of an allocation: only what changes the shape of a plan, never an address."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from inferlane.values import Value


class Shape(Value, frozen=True, kw_only=True):
    """The allocation, as far as a plan depends on it.

    ``nodes``: how many there are; ``None`` = as many as the recipe needs. ``devices``: how many devices each node
    really offers; ``None`` = the recipe's ``gpus_per_node``. ``masked``: the recipe's devices are not all that the
    machine shows, so that even a process that owns them all needs a mask. ``in_use``: node name to ports that other
    programs hold. ``shared_ports``: all nodes share one port space (one machine, one address). ``memory_bytes``: host
    memory of a node, if known.
    """

    nodes: int | None = None
    devices: int | None = None
    masked: bool = False
    in_use: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    shared_ports: bool = False
    memory_bytes: int | None = None
