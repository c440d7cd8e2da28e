"""``inferlane logs``: what the processes of a run wrote."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from inferlane.cli.run_reference import find_run, outputs_option
from inferlane.errors import UsageFault

if TYPE_CHECKING:
    from inferlane.running.directory import RunDirectory


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.argument("process", metavar="[PROCESS]", required=False)
@outputs_option
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ends.")
@click.option("-n", "--lines", type=click.IntRange(min=0), default=20, show_default=True, help="Lines of each log.")
def logs(run: str | None, process: str | None, output: str | None, follow: bool, lines: int) -> None:
    """Show the end of every log of RUN (a path or an id; the latest if left out), or of one PROCESS."""
    from inferlane.running.followed import LogFollower
    from inferlane.running.tails import printable, tail

    found = find_run(run, output)
    names = _names(found, process)
    prefix = len(names) > 1
    followers = {name: LogFollower(found.log(name), at_end=True) for name in names} if follow else {}
    for name in names:
        for line in tail(found.log(name), lines, limit=max(16384, lines * 1024)) if lines else ():
            click.echo(f"{name}: {line}" if prefix else line)
    while follow:
        from inferlane.running.states import state_of

        going = state_of(found).word == "running"
        for name in _names(found, process):
            follower = followers.setdefault(name, LogFollower(found.log(name)))
            for line in follower.lines(at_end=not going):
                click.echo(f"{name}: {printable(line)}" if prefix else printable(line))
        if not going:
            return
        time.sleep(0.3)


def _names(run: RunDirectory, process: str | None) -> list[str]:
    names = sorted(path.stem for path in run.logs.glob("*.log"))
    if process is None:
        return names
    if process not in names:
        raise UsageFault(f"{run.id} has no log of {process}; it has {', '.join(names) or 'none'}")
    return [process]
