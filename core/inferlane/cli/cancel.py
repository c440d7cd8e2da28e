"""``inferlane cancel``: stop a run in order."""

from __future__ import annotations

import os

import click

from inferlane.cli.run_options import Finite
from inferlane.cli.run_reference import find_run, outputs_option


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@outputs_option
@click.option(
    "--timeout",
    type=Finite(min=0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the end.",
)
@click.option("--kill", is_flag=True, help="Do not wait for an orderly end: kill the supervisor at once.")
def cancel(run: str | None, output: str | None, timeout: float, kill: bool) -> int:
    """Stop RUN (a path or an id; the latest if left out) and wait until everything of it is gone.

    A second cancel skips the run's grace. A run that is held (Ctrl-Z, SIGSTOP) is continued so that it can end; a
    supervisor that does not begin to end within 15 seconds is killed. Either way its guardian ends the rest.

    Exit status: 0 = it is over; 2 = no such run; 5 = it did not end in time, or runs on another machine, or is
    another user's.

    Of a run that is a Slurm job, only the job on record is touched: its supervisor is told first, and if it does not
    begin to end within 15 seconds (or with --kill at once) Slurm ends the job.
    """
    from inferlane.running.cancelling import cancel_run
    from inferlane.slurm.cancel import cancel_job

    found = find_run(run, output)
    code, text = cancel_job(found, timeout, kill, os.environ) or cancel_run(found, timeout, kill)
    click.echo(text, err=code != 0)
    return code
