"""Which job a run is: ``RUN/job.json``, written at submission. What is not in there is never touched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

FILE = "job.json"
LOG = "job.log"

_ID = re.compile(r"(\d+)(?:;([A-Za-z0-9_.-]+))?")


class JobId(msgspec.Struct, frozen=True):
    """A job's number, and its cluster where several share a scheduler."""

    number: str
    cluster: str | None = None

    def __str__(self) -> str:
        return self.number if self.cluster is None else f"{self.number};{self.cluster}"

    @property
    def where(self) -> tuple[str, ...]:
        """The options by which a command of the scheduler finds its cluster."""
        return () if self.cluster is None else (f"--clusters={self.cluster}",)


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """``job_id``: ``None`` until the scheduler has said it; ``token`` finds the job then. ``submitted_at``: UTC."""

    token: str
    user: str
    submitted_at: str
    job_id: str | None = None
    cluster: str | None = None

    @property
    def job(self) -> JobId | None:
        return None if self.job_id is None else JobId(self.job_id, self.cluster)


def parse_id(text: str) -> JobId | None:
    """``123`` or ``123;cluster``."""
    found = _ID.fullmatch(text.strip())
    return None if found is None or not int(found[1]) else JobId(found[1], found[2])


def read_record(run: Path) -> JobRecord | None:
    """``None`` for a run that is no job, and for odd content."""
    try:
        return msgspec.json.decode((run / FILE).read_bytes(), type=JobRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def find_job(runs: Iterable[Path], job: JobId) -> Path | None:
    """The latest of ``runs`` that is this job."""
    for run in reversed(list(runs)):
        record = read_record(run)
        if record is not None and record.job_id == job.number and job.cluster in (None, record.cluster):
            return run
    return None
