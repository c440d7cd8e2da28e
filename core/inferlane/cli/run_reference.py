"""How commands name a run: a path, an id, or nothing for the latest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from inferlane.running.directory import RunDirectory

F = TypeVar("F", bound=Callable[..., Any])


def outputs_option(command: F) -> F:
    """``-o``: where the run folders are."""
    option = click.option("-o", "--output", metavar="FOLDER", default="outputs", show_default=True, help="Run folders.")
    return option(command)


def find_run(reference: str | None, output: str) -> RunDirectory:
    """The run that is meant."""
    from inferlane.running.directory import find

    return find(reference, Path(output))
