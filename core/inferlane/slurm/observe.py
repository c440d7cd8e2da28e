"""A run that is a job, seen from a login node: where the job is, and whether more may come."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferlane.errors import RunFault
from inferlane.slurm.queue import JobState, ask, verdict_state
from inferlane.slurm.record import JobId, read_record
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
        return "unknown" if self.going else "lost"

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
            "state": state.word,
            "reason": state.reason or None,
            "nodes": state.nodes or None,
            "exit_code": state.exit_code if state.ended else None,
            "signal": state.signal if state.ended else None,
        }


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


def going_on(run: Path, environ: Mapping[str, str]) -> bool | None:
    """Whether more may come of a run that is a job; ``None`` if it is none."""
    if read_record(run) is None:
        return None
    if verdict_state(run) is not None:
        return False
    found = seen(run, environ)
    return found is not None and found.going


def _age(text: str) -> float:
    try:
        return (datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(text)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
