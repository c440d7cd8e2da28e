"""``inferlane logs``: what the processes of a run wrote."""

from __future__ import annotations

import os
import sys

import click

from inferlane.cli.run_reference import find_processes, outputs_option


@click.command()
@click.argument("words", metavar="[RUN] [PROCESS]...", nargs=-1)
@outputs_option
@click.option("-f", "--follow", is_flag=True, help="Go on until the run is over.")
@click.option("-n", "--lines", type=click.IntRange(min=0), default=20, show_default=True, help="Lines of each log.")
def logs(words: tuple[str, ...], output: str | None, follow: bool, lines: int) -> None:
    """Show the end of every log of RUN (a path or an id; the latest if left out), or of some PROCESSes of it.

    Lines of several logs begin with the name of their process. With -f it goes on with what is written, also by
    processes that start later, until the run is over, and then says how it ended, on stderr. Of a run that is a Slurm
    job, the process `job` is the job itself.
    """
    from inferlane.running.folder.states import going_on
    from inferlane.running.logs.following import Following, last_words
    from inferlane.slurm.observe import Going, states
    from inferlane.slurm.record import read_record

    run, names = find_processes(words, output)
    going = going_on if read_record(run.path) is None else Going(os.environ)
    for piece in Following(run, names, lines, going).pieces(follow):
        if piece:
            sys.stdout.write("\n".join(piece) + "\n")
            sys.stdout.flush()
    if follow:
        click.echo(last_words(*states([run], os.environ, brief=True)[0][:2]), err=True)
    elif waiting := [name for name in names if not run.log(name).exists()]:
        click.echo(f"{', '.join(waiting)} has not started yet; -f waits for it", err=True)
