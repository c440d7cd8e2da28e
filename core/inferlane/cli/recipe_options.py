"""The options of every command that reads a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def recipe_options(command: F) -> F:
    """RECIPE, ``--cluster``, ``--set`` and ``--unset``."""
    for decorate in (
        click.option("--unset", "unsets", metavar="PATH", multiple=True, help="Take a key out of the recipe."),
        click.option("--set", "sets", metavar="PATH=VALUE", multiple=True, help="Set a key of the recipe."),
        click.option("--cluster", metavar="FILE", help="Cluster file; default: found by variable or in this folder."),
        click.argument("recipe", metavar="RECIPE[:VARIANT]"),
    ):
        command = decorate(command)
    return command
