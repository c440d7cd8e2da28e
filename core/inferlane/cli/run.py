"""``inferlane run``: start what a recipe says, follow it to its end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.detached import run_detached
from inferlane.cli.guarded import run_guarded
from inferlane.cli.recipe_options import recipe_options
from inferlane.cli.run_options import run_options


@click.command()
@recipe_options
@run_options
@click.option("--gpus", metavar="LIST", help="Devices to use, such as 0,1; within an outer device mask.")
@click.option("--detach", is_flag=True, help="Leave it running and return once it has begun.")
@click.option("--serve", is_flag=True, help="Leave the benchmark out and serve until stopped.")
def run(
    recipe: str,
    cluster: str | None,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    launcher: str | None,
    output: str | None,
    as_json: bool,
    dry_run: bool,
    grace: float,
    gpus: str | None,
    detach: bool,
    serve: bool,
) -> int:
    """Start what RECIPE says on this machine and follow it to its end. Nothing is left running afterwards.

    Ctrl-C stops it in order; a second one skips the waiting. Exit status: 0 = success; 1 = the run failed; 2 = a wrong
    recipe or cluster file; 3 = a plugin is missing or broken; 4 = not ready in time; 130 and 143 = stopped.
    """

    leaves = detach and not dry_run

    def work(announce: Callable[[Path], None]) -> int:
        from inferlane.cli.options import plugins_from_context
        from inferlane.preparation import Request
        from inferlane.running.start import Wish, start

        wish = Wish(
            request=Request(recipe, cluster, sets, unsets),
            launcher=launcher,
            output=output,
            gpus=gpus,
            serve=serve,
            as_json=as_json,
            dry_run=dry_run,
            grace_s=grace,
            live=not leaves,
            detach=leaves,
            guardian=os.getppid(),
        )
        return start(wish, plugins_from_context(), announce)

    return run_detached(work, as_json) if leaves else run_guarded(work, lambda: as_json)
