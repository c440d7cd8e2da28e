"""The state of one job: what the queue says, else accounting, else the controller, else the run's own verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferlane.errors import EXIT_FAILED, EXIT_OK
from inferlane.slurm.calls import call, clean_environment
from inferlane.slurm.record import JobId

ENDED = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REVOKED",
        "TIMEOUT",
    }
)
UNKNOWN = "UNKNOWN"

_CALL_S = 15.0
_FORMAT = "--format=%A|%T|%N|%r"
_SHOWN = re.compile(r"\sJobState=(\S+) Reason=(.*?) (?:FailedNode=\S* )?Dependency=")
_SHOWN_CODE = re.compile(r"\sExitCode=(\d+):(\d+)")
_SHOWN_NODES = re.compile(r"\sNodeList=(\S+)")
_NOTHING = ("", "(null)", "None", "None assigned")


@dataclass(frozen=True)
class JobState:
    """``word``: the scheduler's, or ``UNKNOWN``. ``source``: who said it, ``squeue``, ``sacct``, ``scontrol`` or
    ``run`` (its own verdict, which the scheduler has forgotten). ``exit_code`` and ``signal``: of a job that has ended.
    ``answered``: ``False`` where the scheduler could not be asked; ``words`` are its own then. ``accounting``: whether
    there is any that answers.
    """

    word: str
    source: str = ""
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    nodes: str = ""
    answered: bool = True
    words: str = ""
    accounting: bool = False

    @property
    def ended(self) -> bool:
        return self.word in ENDED

    @property
    def known(self) -> bool:
        return self.word != UNKNOWN

    @property
    def status(self) -> int:
        """The exit status that says the same: 0 only for COMPLETED 0:0, else the code, else 128 + signal, else 1."""
        if self.word == "COMPLETED" and self.exit_code == 0 and not self.signal:
            return EXIT_OK
        return self.exit_code or (128 + self.signal if self.signal else EXIT_FAILED)

    def __str__(self) -> str:
        code = f" {self.exit_code}:{self.signal or 0}" if self.ended and self.exit_code is not None else ""
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.word}{code}{why}"


def ask(job: JobId, environ: Mapping[str, str], run: Path | None = None) -> JobState:
    """One look at ``job``, a few bounded calls. A job that has left the queue has not ended until somebody says how."""
    clean = clean_environment(environ)
    queued = _from_queue(job, clean)
    if queued.known:
        return queued
    past = _from_accounting(job, clean)
    if past.ended:
        return past
    shown = _from_controller(job, clean) if queued.answered else queued
    if shown.known:
        return shown
    verdict = verdict_state(run) if run is not None and shown.answered else None
    if verdict is not None:
        return verdict
    return JobState(UNKNOWN, answered=shown.answered, words=shown.words, accounting=past.answered)


def queue_of_user(environ: Mapping[str, str]) -> dict[str, JobState] | None:
    """Every job of the caller that is in the queue, in one call; ``None`` if the scheduler cannot be asked."""
    answer = call(("squeue", "--me", "--noheader", _FORMAT), clean_environment(environ), _CALL_S)
    return dict(_rows(answer.out)) if answer.ok else None


def _from_queue(job: JobId, environ: Mapping[str, str]) -> JobState:
    answer = call(("squeue", *job.where, "--noheader", f"--jobs={job.number}", _FORMAT), environ, _CALL_S)
    if not answer.ok:
        return JobState(UNKNOWN, answered=_not_there(answer.err), words=answer.words)
    return _rows(answer.out).get(job.number, JobState(UNKNOWN))


def _rows(text: str) -> dict[str, JobState]:
    found = {}
    for line in text.splitlines():
        fields = line.strip().split("|", 3)
        if len(fields) == 4 and fields[0].isdigit():
            number, word, nodes, reason = fields
            found[number] = JobState(word, "squeue", reason=_said(reason), nodes=_said(nodes))
    return found


def _from_accounting(job: JobId, environ: Mapping[str, str]) -> JobState:
    columns = "--format=JobIDRaw,State,ExitCode,NodeList"
    argv = ("sacct", *job.where, "-X", "--noheader", "--parsable2", f"--jobs={job.number}", columns)
    answer = call(argv, environ, _CALL_S)
    if not answer.ok:
        return JobState(UNKNOWN, answered=False, words=answer.words)
    for line in answer.out.splitlines():
        fields = line.strip().split("|")
        code = re.fullmatch(r"(\d+):(\d+)", fields[2]) if len(fields) == 4 else None
        words = fields[1].split() if code is not None else []
        if code is None or fields[0] != job.number or not words:
            continue
        return JobState(words[0].rstrip("+"), "sacct", int(code[1]), int(code[2]), nodes=_said(fields[3]))
    return JobState(UNKNOWN)


def _from_controller(job: JobId, environ: Mapping[str, str]) -> JobState:
    answer = call(("scontrol", *job.where, "show", "job", "--oneliner", job.number), environ, _CALL_S)
    state, code = _SHOWN.search(answer.out), _SHOWN_CODE.search(answer.out)
    if not answer.ok or state is None or code is None:
        return JobState(UNKNOWN, answered=not answer.silent, words=answer.words)
    nodes = _SHOWN_NODES.search(answer.out)
    return JobState(state[1], "scontrol", int(code[1]), int(code[2]), _said(state[2]), _said(nodes[1]) if nodes else "")


def verdict_state(run: Path) -> JobState | None:
    """What ``run.json`` says, in the scheduler's terms."""
    document = document_of(run)
    code = None if document is None else document.get("exit_code")
    if not isinstance(code, int):
        return None
    return JobState("COMPLETED" if code == 0 else "FAILED", "run", code, 0)


def document_of(run: Path) -> dict[str, Any] | None:
    """The content of the run's ``run.json``; ``None`` while there is none."""
    try:
        document = json.loads((run / "run.json").read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _not_there(said: str) -> bool:
    return "Invalid job id" in said


def _said(text: str) -> str:
    return "" if text.strip() in _NOTHING else text.strip()
