"""After the submission: say how to reach the job, and follow it to its end unless told otherwise."""

from __future__ import annotations

import json
import os
import signal
import sys

from inferlane.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED
from inferlane.running.folder.directory import RunDirectory
from inferlane.slurm.calls import clean_environment
from inferlane.slurm.record import LOG, JobId
from inferlane.slurm.wait import wait_for

_LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Left(BaseException):
    """Whoever followed has gone; the job has not."""

    def __init__(self, number: int) -> None:
        self.number = number


def follow(job: JobId, run: RunDirectory, as_json: bool, detach: bool) -> int:
    """The job's true exit code; of ``detach``, that of the submission. A signal ends the following, never the job."""
    if detach:
        return _tell(job, run, as_json)
    sys.stderr.write(f"job {job} of run {run.id} is submitted; folder {run.path}; Ctrl-C leaves it running\n")
    for number in _LEAVING:
        signal.signal(number, _leave)
    try:
        waited = wait_for(job, clean_environment(os.environ), run.path, run.path / LOG, as_json=as_json)
    except _Left as left:
        code = EXIT_INTERRUPTED if left.number == signal.SIGINT else EXIT_TERMINATED
        sys.stderr.write(
            f"job {job} still runs; `inferlane wait {run.id}` follows it, `inferlane cancel {run.id}` stops it\n"
        )
        if as_json:
            sys.stdout.write(json.dumps({"job_id": job.number, "id": run.id, "exit_code": code}, indent=2) + "\n")
        return code
    if as_json:
        sys.stdout.write(json.dumps(waited.as_data(), indent=2) + "\n")
    else:
        sys.stderr.write(f"{waited.message}; run folder {run.path}\n")
    return waited.code


def _leave(number: int, _frame: object) -> None:
    for other in _LEAVING:
        signal.signal(other, signal.SIG_IGN)
    raise _Left(number)


def _tell(job: JobId, run: RunDirectory, as_json: bool) -> int:
    if as_json:
        said = {"id": run.id, "folder": str(run.path), "job_id": job.number, "cluster": job.cluster}
        sys.stdout.write(json.dumps(said, indent=2) + "\n")
    else:
        name = run.id
        sys.stdout.write(f"job {job} of run {name} is submitted; folder {run.path}\n")
        sys.stdout.write(f"  inferlane status {name}\n  inferlane wait {name}\n  inferlane cancel {name}\n")
    return EXIT_OK
