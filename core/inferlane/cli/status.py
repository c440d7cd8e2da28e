"""``inferlane status``: runs, or the state of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from inferlane.cli.run_reference import find_run, outputs_folder, outputs_option

if TYPE_CHECKING:
    from inferlane.running.directory import RunDirectory


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@outputs_option
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def status(run: str | None, output: str | None, as_json: bool) -> None:
    """List runs, or show the processes, endpoint and verdict of RUN (a path or an id)."""
    from inferlane.running.directory import all_runs

    found = [find_run(run, output)] if run is not None else all_runs(outputs_folder(output))
    if as_json:
        import json

        described = [_describe(item) for item in found]
        click.echo(json.dumps(described[0] if run is not None else described, indent=2))
    elif run is not None:
        _show(found[0])
    elif not found:
        click.echo(f"no runs in {outputs_folder(output)}")
    else:
        width = max(len(item.id) for item in found)
        for item in found:
            click.echo(f"{item.id:<{width}}  {_describe(item)['state']}")


def _describe(run: RunDirectory) -> dict[str, Any]:
    from inferlane.running.states import state_of

    state = state_of(run)
    return {
        "id": run.id,
        "folder": str(run.path),
        "state": state.word,
        "ready": state.ready,
        "endpoint": state.endpoint,
        "processes": dict(state.processes),
        "verdict": state.document,
    }


def _show(run: RunDirectory) -> None:
    from inferlane.running.states import state_of
    from inferlane.running.tails import printable

    state = state_of(run)
    click.echo(f"{run.id}: {state.word}{', ready' if state.ready else ''}")
    click.echo(f"folder: {run.path}")
    if state.endpoint:
        click.echo(f"endpoint: {state.endpoint}")
    width = max((len(name) for name in state.processes), default=0)
    for name, words in state.processes.items():
        click.echo(f"  {name:<{width}}  {words}")
    cause = (state.document or {}).get("cause")
    if isinstance(cause, dict):
        click.echo(f"first cause: {printable(str(cause.get('message')))}")
        for line in cause.get("log_tail") or ():
            click.echo(f"    {printable(str(line))}")
    if state.document is not None:
        click.echo(f"exit code {state.document.get('exit_code')}; clean: {state.document.get('clean')}")
