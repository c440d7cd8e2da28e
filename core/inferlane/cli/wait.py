"""``inferlane wait``: follow a run or a job to its true end."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inferlane.cli.run_options import Finite
from inferlane.cli.run_reference import find_run_or_job, outputs_option
from inferlane.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_UNKNOWN

if TYPE_CHECKING:
    from inferlane.running.folder.directory import RunDirectory
    from inferlane.slurm.record import JobId

_TICK_S = 0.3


@click.command()
@click.argument("run", metavar="[RUN|JOB]", required=False)
@outputs_option
@click.option("--timeout", type=Finite(min=0), metavar="SECONDS", help="Give up after this long; default: never.")
@click.option("--log-file", metavar="FILE", help="Log to show meanwhile; default: that of the run.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout; the log goes to stderr.")
def wait(run: str | None, output: str | None, timeout: float | None, log_file: str | None, as_json: bool) -> int:
    """Wait until RUN (a path or an id; the latest if left out) or JOB (a Slurm job's number) is over.

    Shows the log of the job (of a run of this machine: what it says itself) as it grows, byte for byte. Ctrl-C ends
    only the waiting: what runs goes on.

    Exit status: of a job 0 only if Slurm says COMPLETED 0:0 and the run's own verdict agrees, else the exit code,
    else 128 + the signal, else 1. Of a run of this machine its own. 5 = not known, or not over at the timeout. 130 =
    interrupted.
    """
    folder, job = find_run_or_job(run, output)
    log = Path(log_file) if log_file is not None else None
    if job is None:
        assert folder is not None
        return _local(folder, log, timeout, as_json)
    return _job(job, folder, log, timeout, as_json)


def _job(job: JobId, folder: RunDirectory | None, log: Path | None, timeout: float | None, as_json: bool) -> int:
    from inferlane.slurm.record import LOG
    from inferlane.slurm.wait import wait_for

    path = None if folder is None else folder.path
    log = log or (path / LOG if path is not None else None)
    try:
        waited = wait_for(job, os.environ, path, log, timeout, as_json)
    except KeyboardInterrupt:
        return _interrupted(f"job {job}", str(job) if folder is None else folder.id, as_json, folder is not None)
    _tell(waited.message, waited.as_data(), waited.document, as_json)
    return waited.code


def _local(folder: RunDirectory, log: Path | None, timeout: float | None, as_json: bool) -> int:
    from inferlane.running.folder.states import going_on, verdict_of
    from inferlane.slurm.stream import LogStream, show

    stream = LogStream(log or folder.path / "run.log")
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        while going_on(folder) and (deadline is None or time.monotonic() < deadline):
            show(stream, as_json)
            time.sleep(_TICK_S)
        show(stream, as_json)
    except KeyboardInterrupt:
        return _interrupted(f"run {folder.id}", folder.id, as_json, True)
    document = verdict_of(folder)
    if document is not None:
        code = int(document.get("exit_code", EXIT_FAILED))
        message = f"run {folder.id} is over: {document.get('verdict')} (exit {code})"
    elif going_on(folder):
        code, message = EXIT_UNKNOWN, f"run {folder.id} is not over after {timeout:g} s"
    else:
        code, message = EXIT_FAILED, f"run {folder.id} was lost: nobody keeps it any more, and it left no verdict"
    data = {"id": folder.id, "exit_code": code, "message": message, "verdict": document}
    _tell(message, data, document, as_json)
    return code


def _tell(message: str, data: dict[str, Any], document: Any, as_json: bool) -> None:
    from inferlane.running.logs.tails import printable

    click.echo(printable(message), err=True)
    cause = (document or {}).get("cause")
    if isinstance(cause, dict):
        click.echo(printable(f"first cause: {cause.get('message')}"), err=True)
    if as_json:
        click.echo(json.dumps(data, indent=2))


def _interrupted(what: str, name: str, as_json: bool, ours: bool) -> int:
    from inferlane.cli.documents import print_failure

    stop = f"`inferlane cancel {name}`" if ours else f"`scancel {name}`"
    message = f"{what} still runs: `inferlane wait {name}` follows it again, {stop} stops it"
    click.echo(f"interrupted; {message}", err=True)
    if as_json:
        print_failure("interrupted", EXIT_INTERRUPTED, message)
    return EXIT_INTERRUPTED
