"""The one import of plugin authors: markers, the API number, values, configuration bases.

``PLUGIN_API`` is the number of the contract. A plugin module says ``PLUGIN_API = 1``; the core accepts numbers from
``MIN_PLUGIN_API`` to ``PLUGIN_API``. Additions (a new hook parameter, a new field with a default) do not raise it.
"""

from inferlane.hookspecs.markers import hookimpl
from inferlane.values import *  # noqa: F403
from inferlane.values import __all__ as _values
from inferlane.values.configs import (
    AcceleratorConfig,
    BenchmarkConfig,
    EngineConfig,
    LauncherConfig,
    RouterConfig,
    ServiceConfig,
)

PLUGIN_API = 1
MIN_PLUGIN_API = 1

__all__ = [
    "MIN_PLUGIN_API",
    "PLUGIN_API",
    "AcceleratorConfig",
    "BenchmarkConfig",
    "EngineConfig",
    "LauncherConfig",
    "RouterConfig",
    "ServiceConfig",
    "hookimpl",
    *_values,
]
