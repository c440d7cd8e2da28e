"""``inferlane cancel``: stop a run in order."""

from __future__ import annotations

import click

from inferlane.cli.run_reference import find_run, outputs_option


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@outputs_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the end.",
)
def cancel(run: str | None, output: str | None, timeout: float) -> int:
    """Stop RUN (a path or an id; the latest if left out) and wait until everything of it is gone.

    Exit status: 0 = it is over; 5 = it did not end in time, or runs on another machine.
    """
    from inferlane.running.cancelling import cancel_run

    code, text = cancel_run(find_run(run, output), timeout)
    click.echo(text, err=code != 0)
    return code
