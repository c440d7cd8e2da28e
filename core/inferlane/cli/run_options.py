"""The options that ``run`` and ``rehearse`` share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A number; ``nan`` and ``inf`` are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Raises ``click.BadParameter``."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number of seconds or tokens.", param, ctx)
        return number


def run_options(command: F) -> F:
    """Where to run, what to show, how long to wait at the end."""
    for decorate in (
        click.option(
            "--grace",
            type=Finite(min=0),
            default=30.0,
            show_default=True,
            metavar="SECONDS",
            help="Budget for stopping everything before what is left is killed.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the plan and stop."),
        click.option("--json", "as_json", is_flag=True, help="Only the verdict, as JSON, on stdout."),
        click.option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder of the run folders; default: the cluster file's output_dir, else ./outputs.",
        ),
        click.option("--launcher", metavar="NAME", help="Where to run; default: as the cluster file says, else local."),
    ):
        command = decorate(command)
    return command
