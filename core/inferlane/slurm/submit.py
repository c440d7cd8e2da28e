"""Submitting a job: exactly once, whatever becomes of the connection to the scheduler meanwhile."""

from __future__ import annotations

import datetime
import getpass
import os
import random
import re
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from inferlane.errors import RunFault, UsageFault
from inferlane.running.folder.files import write_whole
from inferlane.slurm.calls import Answer, call, clean_environment, removed_names
from inferlane.slurm.record import FILE, JobId, JobRecord, parse_id

PATIENCE_S = 300.0
"""How long a scheduler that does not answer is asked again."""

_CALL_S = 90.0
_LOOK_S = 20.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = ("ALL", "NONE", "NIL")  # mean something else in --export
_SAID = re.compile(r"^(?:Submitted batch job (\d+)(?: on cluster (\S+))?|(\d+(?:;[\w.-]+)?))\s*$", re.MULTILINE)
_HINTS = (
    (r"account", "set slurm.account, or default_account of the cluster file"),
    (r"partition", "`sinfo -s` lists the partitions; set slurm.partition, or default_partition of the cluster file"),
    (
        r"gres|generic resource|--gpus|trackable resource",
        "see use_gpus_per_node_directive and default_sbatch_directives of the cluster file",
    ),
    (r"node configuration is not available", "`sinfo -o '%P %D %c %m %G'` shows what the nodes of a partition have"),
    (
        r"unrecognized option|invalid option",
        "take it out of the directives, or turn its use_... off in the cluster file",
    ),
    (r"time limit|time specification", "`sinfo -o '%P %l'` shows the limits; set slurm.time_limit"),
    (r"QOS|qos", "`sacctmgr show assoc user=$USER` shows what you may use"),
)


def submit(
    script: Path,
    run: Path,
    token: str,
    names: Collection[str],
    environ: Mapping[str, str],
    patience_s: float = PATIENCE_S,
) -> JobId:
    """Submit ``script`` and record the job in ``run``. ``token``: unique; the job carries it as its comment.

    ``names``: variables of ``environ`` that the job gets, and no others. A scheduler that does not answer is asked
    again for ``patience_s``, after a look whether the job is there already. Raises ``UsageFault`` or ``RunFault`` with
    the scheduler's own words for what it refuses.
    """
    argv = submission(script, token, names, environ)
    clean = clean_environment(environ)
    if removed := removed_names(environ):
        sys.stderr.write(f"note: not passed on to the new job: {', '.join(removed)}\n")
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    record = JobRecord(token=token, user=getpass.getuser(), submitted_at=at)
    _write(run, record)  # first: whatever happens next, the token finds the job
    try:
        job = _Submission(argv, token, clean, patience_s).job()
    except (RunFault, UsageFault) as fault:
        if not isinstance(fault, UnclearFault):
            (run / FILE).unlink(missing_ok=True)
        raise
    try:
        _write(run, msgspec.structs.replace(record, job_id=job.number, cluster=job.cluster))
    except OSError as error:
        raise RunFault(
            f"job {job} was submitted, but {run / FILE} cannot be written: {error.strerror}; "
            f"`scancel {' '.join((*job.where, job.number))}` stops it"
        ) from error
    return job


class UnclearFault(RunFault):
    """Nobody could say whether the job was submitted."""


def submission(script: Path, token: str, names: Collection[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command line. Raises ``UsageFault`` for a variable that is not set, with its name only."""
    wanted = sorted({name for name in names if not name.startswith("SLURM_")})  # a job has its own of these
    faults = [
        f"{name!r} is no name of a variable that can be passed to a job" for name in wanted if not _passable(name)
    ]
    faults += [
        f"the variable {name} is not set, but the job is to get it; export it before submitting"
        for name in wanted
        if _passable(name) and name not in environ
    ]
    if faults:
        raise UsageFault("\n".join(faults))
    export = ",".join(wanted) or "NONE"
    return ("sbatch", "--parsable", "--no-requeue", f"--export={export}", f"--comment={token}", os.fspath(script))


def look_up(token: str, environ: Mapping[str, str]) -> list[JobId] | None:
    """Every job that carries ``token``, the first one first; ``None`` if the scheduler cannot be asked.

    The queue knows a job until some minutes after its end, accounting for good where there is any.
    """
    queue = call(("squeue", "--me", "--noheader", "--states=all", "--format=%A %k"), environ, _LOOK_S)
    if not queue.ok:
        return None
    found = _carriers(queue.out, token)
    if not found:
        columns = "--format=JobIDRaw,Comment"
        argv = ("sacct", "-X", "--noheader", "--parsable2", "--starttime=now-1days", columns)
        past = call(argv, environ, _LOOK_S)
        found = [line.split("|", 1)[0] for line in past.out.splitlines() if line.partition("|")[2].strip() == token]
    return sorted(filter(None, map(parse_id, dict.fromkeys(found))), key=lambda job: int(job.number))


class _Submission:
    def __init__(self, argv: tuple[str, ...], token: str, environ: Mapping[str, str], patience_s: float) -> None:
        self._argv = argv
        self._token = token
        self._environ = environ
        self._deadline = time.monotonic() + patience_s
        self._patience_s = patience_s
        self._wait_s = _FIRST_WAIT_S

    def job(self) -> JobId:
        attempts = 0
        while True:
            attempts += 1
            answer = call(self._argv, self._environ, _CALL_S)
            if answer.ok and (said := _said(answer.out)) is not None:
                return said if attempts == 1 else self._only(said)
            if not answer.ok and not answer.silent:
                raise _refusal(answer)
            found = self._found(answer)
            if found is not None:
                return self._only(found)

    def _found(self, answer: Answer) -> JobId | None:
        """The job, if it is there in spite of that answer; ``None`` once it is certain that it is not."""
        while True:
            self._pause(answer)
            jobs = look_up(self._token, self._environ)
            if jobs:
                return jobs[0]
            if jobs is not None and answer.ok:
                raise RunFault(
                    f"sbatch ended with 0 and named no job, and there is none: {' '.join(answer.out.split())}"
                )
            if jobs is not None:
                return None

    def _pause(self, answer: Answer) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise UnclearFault(
                f"the scheduler did not answer for {self._patience_s:g} s ({answer.words}); whether it took the job is "
                f"not known: `squeue --me --format='%i %k'` shows it with {self._token} if so"
            )
        if self._wait_s == _FIRST_WAIT_S:
            what = "sbatch named no job" if answer.ok else f"the scheduler does not answer ({answer.words})"
            sys.stderr.write(f"{what}; asking again\n")
        time.sleep(min(left, self._wait_s * random.uniform(0.5, 1.5)))  # noqa: S311 - spreads callers, keeps no secret
        self._wait_s = min(_LONGEST_WAIT_S, self._wait_s * 2)

    def _only(self, job: JobId) -> JobId:
        """A call that was given up may have made a job late: of all that carry our token, the first one stays."""
        jobs = look_up(self._token, self._environ) or [job]
        for extra in jobs[1:]:
            call(("scancel", *extra.where, extra.number), self._environ, _LOOK_S)
            sys.stderr.write(f"job {extra} was a second one of the same submission and was cancelled\n")
        return job if jobs[0].number == job.number else jobs[0]


def _carriers(rows: str, token: str) -> list[str]:
    cluster, found = "", []
    for line in rows.splitlines():
        number, _, comment = line.strip().partition(" ")
        if number == "CLUSTER:":
            cluster = ";" + comment.strip()
        elif comment.strip() == token:
            found.append(number + cluster)
    return found


def _passable(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _WORDS


def _said(out: str) -> JobId | None:
    """The id in the last line that is one: sites print banners around it."""
    found = list(_SAID.finditer(out))
    if not found:
        return None
    number, cluster, parsable = found[-1].groups()
    return parse_id(parsable or (number if cluster is None else f"{number};{cluster}"))


def _refusal(answer: Answer) -> UsageFault | RunFault:
    for pattern, hint in _HINTS:
        if re.search(pattern, answer.words, re.IGNORECASE):
            return UsageFault(f"sbatch refused the job: {answer.words}; {hint}")
    return RunFault(f"sbatch refused the job: {answer.words}")


def _write(run: Path, record: JobRecord) -> None:
    write_whole(run / FILE, msgspec.json.encode(record) + b"\n")
