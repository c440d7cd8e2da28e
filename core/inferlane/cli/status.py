"""``inferlane status``: runs, or the state of one."""

from __future__ import annotations

import sys
from typing import Any

import click

from inferlane.cli.run_reference import find_run, outputs_folder, outputs_option


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@outputs_option
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def status(run: str | None, output: str | None, as_json: bool) -> None:
    """List runs, or show the processes, endpoint and verdict of RUN (a path or an id)."""
    if run is not None:
        _one(run, output, as_json)
    else:
        _list(output, as_json)


def _one(reference: str, output: str | None, as_json: bool) -> None:
    from inferlane.running.listing import in_full, lines_of
    from inferlane.running.states import state_of

    found = find_run(reference, output)
    state = state_of(found)
    if as_json:
        _print_json(in_full(found, state))
    else:
        click.echo("\n".join(lines_of(found, state)))


def _list(output: str | None, as_json: bool) -> None:
    from inferlane.running.directory import all_runs
    from inferlane.running.listing import as_data, list_lines
    from inferlane.running.states import state_of

    outputs = outputs_folder(output)
    found = [(item, state_of(item, brief=True)) for item in all_runs(outputs)]
    if as_json:
        _print_json([as_data(*pair) for pair in found])
    elif not found:
        click.echo(f"no runs in {outputs}")
    else:
        click.echo("\n".join(list_lines(found, _width())))


def _print_json(content: Any) -> None:
    import json

    click.echo(json.dumps(content, indent=2))


def _width() -> int | None:
    """Of a terminal; what is read by a program is never cut."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
