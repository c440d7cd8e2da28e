"""Plugins: found in installed metadata, loaded on demand by type, called through typed facades.

Importing this package imports no plugin and no pydantic; the first load does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inferlane.plugins.kinds import KINDS, Kind
from inferlane.plugins.registry import MissingPlugin, Plugins

if TYPE_CHECKING:
    from inferlane.plugins.facade import Accelerator, Benchmark, Engine, Launcher, Owner, Router, Service

__all__ = [
    "KINDS",
    "Accelerator",
    "Benchmark",
    "Engine",
    "Kind",
    "Launcher",
    "MissingPlugin",
    "Owner",
    "Plugins",
    "Router",
    "Service",
]


def __getattr__(name: str) -> Any:
    """The facade classes, on first use."""
    if name in __all__:
        from inferlane.plugins import facade

        return getattr(facade, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
