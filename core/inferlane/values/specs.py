"""Static data about a type: what never changes, whatever a recipe says."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import field

from inferlane.values.base import Text, Value

ConfigModel = Any
"""A pydantic model class, a subclass of the kind's own ``…Config``."""


class ArgStyle(Value, frozen=True, kw_only=True):
    """How the core turns a recipe's arguments into flags.

    ``dashes``: ``_`` becomes ``-`` in names. ``sort``: by name, else in recipe order. ``lists``: ``once`` = the flag
    and then all items; ``repeat`` = the flag before each item.
    """

    dashes: bool = True
    sort: bool = True
    lists: Literal["once", "repeat"] = "once"


class Spec(Value, frozen=True, kw_only=True):
    """``type``: the word a recipe says. ``config``: the pydantic model of its block. ``owned_args``: argument name to
    what the user should do instead of setting it. ``install``: a hint where the real program comes from.
    """

    type: str
    summary: str
    config: ConfigModel
    style: ArgStyle = ArgStyle()
    owned_args: Text = field(default_factory=dict)
    install: str = ""


class Accept(Value, frozen=True, kw_only=True):
    """One protocol a router takes. ``*`` = whatever the engine speaks first. ``roles``: allowed sets of roles.
    ``ports``: role to the public ports its workers must offer.
    """

    protocol: str
    roles: tuple[tuple[str, ...], ...] = (("agg",), ("prefill", "decode"))
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class EngineSpec(Spec, frozen=True, kw_only=True):
    """``speaks``: protocols, a superset of what one configuration speaks; an entry may end in ``*``. ``max_nodes``:
    nodes per worker, ``None`` = no limit. ``uses_devices``: ``False`` for engines that need no accelerator at all.
    """

    speaks: tuple[str, ...]
    roles: tuple[str, ...] = ("prefill", "decode", "agg")
    max_nodes: int | None = None
    uses_devices: bool = True


class RouterSpec(Spec, frozen=True, kw_only=True):
    """``accepts``: in order of preference; the first protocol that every role can be laid out for wins."""

    accepts: tuple[Accept, ...]


class ServiceSpec(Spec, frozen=True, kw_only=True):
    """A service type."""


class AcceleratorSpec(Spec, frozen=True, kw_only=True):
    """A GPU family and its vendor's conventions."""


class BenchmarkSpec(Spec, frozen=True, kw_only=True):
    """A benchmark type."""


class LauncherSpec(Spec, frozen=True, kw_only=True):
    """A launcher type."""
