"""What commands take from the global options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from inferlane.plugins import Plugins


def plugins_from_context() -> Plugins:
    """The plugins of this command, with ``--disable``, ``--no-plugins`` and the environment applied."""
    from inferlane.plugins import Plugins

    options = click.get_current_context().find_root().params
    return Plugins.from_environment(os.environ, options.get("disable") or (), bool(options.get("no_plugins")))
