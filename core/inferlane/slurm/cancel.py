"""Cancelling a run that is a job: only the id on record, the supervisor first, so that it can tear down in order."""

from __future__ import annotations

import time
from collections.abc import Mapping

from inferlane.errors import EXIT_OK, EXIT_UNKNOWN
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import read_events
from inferlane.slurm.calls import Answer, call, clean_environment
from inferlane.slurm.frozen import host_teardown_s
from inferlane.slurm.observe import Seen, seen
from inferlane.slurm.queue import document_of

REACTS_S = 15.0
"""A supervisor that was told to stop begins its teardown within moments, and leaves soon after its verdict; after this
long, and the time that commands of ``host_setup`` may take, the scheduler ends the job.
"""

_CALL_S = 20.0
_LOOK_S = 0.5
_ALIVE = ("RUNNING", "SUSPENDED", "STOPPED")
_OVER = "COMPLETING"


def cancel_job(
    run: RunDirectory, timeout_s: float, kill: bool, environ: Mapping[str, str], reacts_s: float = REACTS_S
) -> tuple[int, str] | None:
    """Stop the job of ``run`` and wait for its end; returns an exit code and a sentence, ``None`` if it is no job.

    ``kill``: the scheduler ends it at once, with its own TERM, delay and KILL for every process.
    """
    found = seen(run.path, environ)
    if found is None:
        return None
    return _Cancelling(run, environ, timeout_s, reacts_s + host_teardown_s(run.path)).end(found, kill)


class _Cancelling:
    def __init__(self, run: RunDirectory, environ: Mapping[str, str], timeout_s: float, reacts_s: float) -> None:
        self._run = run
        self._environ = clean_environment(environ)
        self._timeout_s = timeout_s
        self._reacts_s = reacts_s
        self._began = time.monotonic()
        self._verdict_at: float | None = None
        self._asked: set[str] = set()
        self._note = ""

    def end(self, found: Seen, kill: bool) -> tuple[int, str]:
        while found.going:
            refused = self._tell(found, kill or self._wedged())
            if refused:
                return EXIT_UNKNOWN, refused
            if time.monotonic() - self._began >= self._timeout_s:
                return EXIT_UNKNOWN, self._late(found)
            time.sleep(_LOOK_S)
            found = seen(self._run.path, self._environ) or found
        return EXIT_OK, self._over(found)

    def _tell(self, found: Seen, hard: bool) -> str:
        """What is not done yet; returns why it must not be done."""
        if found.job is None or not found.state.known or found.state.word == _OVER:
            return ""
        way = "hard" if hard or found.state.word not in _ALIVE else "soft"
        if way in self._asked or "hard" in self._asked:
            return ""
        if way == "hard" and "soft" in self._asked:
            self._note = "; its supervisor did not end it, so the scheduler did"
        options = ("--batch", "--signal=TERM") if way == "soft" else ()
        answer = call(("scancel", *found.job.where, *options, found.job.number), self._environ, _CALL_S)
        if "denied" in answer.words.lower() and not answer.ok:
            return f"{self._run.id} is a job of another user; only that user can cancel it: {answer.words}"
        if answer.ok or (way == "soft" and not _again(answer)):
            self._asked.add(way)
        return ""

    def _wedged(self) -> bool:
        """Whether the supervisor had its time: to begin the teardown, and after the verdict to leave."""
        now = time.monotonic()
        if document_of(self._run.path) is not None:
            self._verdict_at = self._verdict_at or now
            return now - self._verdict_at > self._reacts_s
        began = any(event["event"] == "teardown.start" for event in read_events(self._run.events))
        return now - self._began > self._reacts_s and not began

    def _late(self, found: Seen) -> str:
        late = f"was told to stop and has not ended within {self._timeout_s:g} s"
        return f"{self._run.id} (job {found.text}) {late}; cancel it again to skip its grace, or with --kill"

    def _over(self, found: Seen) -> str:
        if found.job is None:
            return f"{self._run.id}: its submission was not finished, and no job carries its token; nothing to cancel"
        document = document_of(self._run.path)
        if document is None:
            return f"{self._run.id} is over: job {found.text}{self._note}"
        clean = "everything is gone" if document.get("clean") else f"still there: {document.get('left')}"
        verdict = f"{document.get('verdict')} (exit {document.get('exit_code')})"
        return f"{self._run.id} is over: {verdict}; {clean}; job {found.text}{self._note}"


def _again(answer: Answer) -> bool:
    return answer.silent or "try again" in answer.words
