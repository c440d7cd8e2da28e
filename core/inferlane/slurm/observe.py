"""A run that is a job, seen from a login node: where the job is, and whether more may come."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inferlane.errors import RunFault
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.states import ProcessState, State, state_of
from inferlane.slurm.queue import JobState, ask, queue_of_user, verdict_state
from inferlane.slurm.record import JobId, JobRecord, read_record
from inferlane.slurm.submit import look_up

_YOUNG_S = 120.0


@dataclass(frozen=True)
class Seen:
    """``job``: ``None`` while the submission goes on, or where it was broken off."""

    job: JobId | None
    state: JobState

    @property
    def going(self) -> bool:
        """Whether more may come, as far as anybody knows."""
        return not self.state.ended and (self.state.known or not self.state.answered)

    @property
    def word(self) -> str:
        """For lists: ``pending``, ``running``, ``cancelled`` …; ``lost`` if it is over and nobody says how."""
        if self.job is None:
            return "submitting" if self.going else "not submitted"
        if self.state.known:
            return self.state.word.lower()
        return "out of sight" if self.going else "lost"

    @property
    def text(self) -> str:
        """For people, one line."""
        if self.job is None:
            return self.word
        if self.state.known:
            return f"{self.job}, {self.state}" + (f" on {self.state.nodes}" if self.state.nodes else "")
        if not self.state.answered:
            return f"{self.job}, out of sight: the scheduler does not answer ({self.state.words})"
        return f"{self.job}, over; neither accounting nor the controller says how it ended"

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        state = self.state
        return {
            "job_id": None if self.job is None else self.job.number,
            "cluster": None if self.job is None else self.job.cluster,
            "state": state.word if state.source != "run" and state.known else None,
            "reason": state.reason or None,
            "nodes": state.nodes or None,
            "exit_code": state.exit_code if state.ended else None,
            "signal": state.signal if state.ended else None,
        }


def states(
    runs: Sequence[RunDirectory], environ: Mapping[str, str], brief: bool = False
) -> list[tuple[RunDirectory, State, Seen | None]]:
    """The state of each run, of jobs with what the scheduler says. ``brief``: without processes, the queue is asked
    once for all, and nobody about runs with a verdict.
    """
    own = [(run, state_of(run, brief), read_record(run.path)) for run in runs]
    open_ = any(record is not None and state.document is None for _, state, record in own)
    queue = queue_of_user(environ) if brief and open_ else {}
    found: list[tuple[RunDirectory, State, Seen | None]] = []
    for run, state, record in own:
        if record is None:
            found.append((run, state, None))
            continue
        where = _in_list(run, state, record, environ, queue) if brief else seen(run.path, environ)
        found.append((run, state if where is None else _merged(state, where, record), where))
    return found


def _in_list(
    run: RunDirectory,
    state: State,
    record: JobRecord,
    environ: Mapping[str, str],
    queue: Mapping[str, JobState] | None,
) -> Seen | None:
    if state.document is not None:
        return Seen(record.job, verdict_state(run.path) or JobState("UNKNOWN"))
    if queue is None:
        return Seen(record.job, JobState("UNKNOWN", answered=False, words="see `squeue`"))
    return seen(run.path, environ, queue)


def _merged(state: State, where: Seen, record: JobRecord) -> State:
    """What the run's folder says, and of a run without a verdict what the scheduler says."""
    started = state.started or record.submitted_at
    if state.document is not None:
        return replace(state, started=started)
    processes = state.processes
    if not where.going:
        processes = {name: replace(item, state="lost") if _up(item) else item for name, item in processes.items()}
    return replace(
        state,
        word=where.word,
        held=(),
        started=started,
        ready=where.going and state.ready,
        processes=processes,
    )


def _up(item: ProcessState) -> bool:
    return item.exit_code is None and item.signal is None and item.state != "waiting"


def seen(run: Path, environ: Mapping[str, str], queue: Mapping[str, JobState] | None = None) -> Seen | None:
    """The job of ``run``, ``None`` if it is none. ``queue``: what is in the queue, so that a list asks once."""
    record = read_record(run)
    if record is None:
        return None
    job = record.job
    if job is None:
        jobs = look_up(record.token, environ)
        if jobs:
            return Seen(jobs[0], ask(jobs[0], environ, run))
        return Seen(None, JobState("UNKNOWN", answered=jobs is not None and _age(record.submitted_at) > _YOUNG_S))
    queued = (queue or {}).get(job.number) if job.cluster is None else None
    return Seen(job, queued or ask(job, environ, run))


def job_of(run: Path, environ: Mapping[str, str]) -> JobId | None:
    """The job of ``run``, ``None`` if it is none. Raises ``RunFault`` where its submission was broken off."""
    record = read_record(run)
    if record is None or record.job is not None:
        return None if record is None else record.job
    jobs = look_up(record.token, environ)
    if jobs:
        return jobs[0]
    why = "no job carries its token" if jobs is not None else "the scheduler does not answer"
    raise RunFault(f"{run.name}: its submission was not finished, and {why}; `squeue --me --format='%i %k'` lists jobs")


class Going:
    """Whether more may come of a run that is a job; the scheduler is asked every few seconds at most."""

    def __init__(self, environ: Mapping[str, str], every_s: float = 5.0) -> None:
        self._environ = environ
        self._every_s = every_s
        self._next = 0.0

    def __call__(self, run: RunDirectory) -> bool:
        if run.verdict.exists():
            return False
        now = time.monotonic()
        if now < self._next:
            return True
        found = seen(run.path, self._environ)
        self._next = time.monotonic() + self._every_s
        return found is not None and found.going


def _age(text: str) -> float:
    try:
        return (datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(text)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
