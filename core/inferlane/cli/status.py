"""``inferlane status``: runs, or the state of one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from inferlane.cli.run_reference import find_run, outputs_folder, outputs_option

if TYPE_CHECKING:
    from inferlane.slurm.observe import Seen


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@outputs_option
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def status(run: str | None, output: str | None, as_json: bool) -> None:
    """List runs, or show the processes, endpoint and verdict of RUN (a path, an id or a job's number)."""
    if run is not None:
        _one(run, output, as_json)
    else:
        _list(output, as_json)


def _one(reference: str, output: str | None, as_json: bool) -> None:
    from inferlane.running.terminal.listing import in_full, lines_of
    from inferlane.slurm.observe import states

    found, state, seen = states([find_run(reference, output)], os.environ)[0]
    if as_json:
        _print_json({**in_full(found, state), "job": _of_job(seen)})
    else:
        click.echo("\n".join(lines_of(found, state, None if seen is None else seen.text)))


def _list(output: str | None, as_json: bool) -> None:
    from inferlane.running.folder.directory import all_runs
    from inferlane.running.terminal.listing import as_data, list_lines
    from inferlane.slurm.observe import states

    outputs = outputs_folder(output)
    found = states(all_runs(outputs), os.environ, brief=True)
    if as_json:
        _print_json([{**as_data(run, state), "job": _of_job(seen)} for run, state, seen in found])
    elif not found:
        click.echo(f"no runs in {outputs}")
    else:
        click.echo("\n".join(list_lines([(run, state) for run, state, _ in found], _width())))


def _of_job(seen: Seen | None) -> dict[str, Any] | None:
    return None if seen is None else seen.as_data()


def _print_json(content: Any) -> None:
    import json

    click.echo(json.dumps(content, indent=2))


def _width() -> int | None:
    """Of a terminal; what is read by a program is never cut."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
