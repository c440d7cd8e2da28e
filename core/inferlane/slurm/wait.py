"""Following a job to its true end. Nothing here ever cancels one."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferlane.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN
from inferlane.slurm.queue import JobState, ask, document_of, verdict_state
from inferlane.slurm.record import JobId
from inferlane.slurm.stream import LogStream, show

NEVER_SEEN_S = 60.0
"""How long a job that nobody knows is looked for."""

LATE_S = 300.0
"""The same for a job that was seen, where there is accounting: it may be late."""

_SILENT_S = 120.0
_TICK_S = 0.3
_SOON_S, _LATER_S = 1.0, 5.0
_MINUTE_S = 60.0


@dataclass(frozen=True)
class Waited:
    """``state``: the last one, which has not ended if ``code`` is 5. ``document``: the run's ``run.json``."""

    job: JobId
    state: JobState
    code: int
    message: str
    document: Mapping[str, Any] | None = None

    def as_data(self) -> dict[str, Any]:
        """For programs. Keys never go away; what is not known is null."""
        return {
            "job_id": self.job.number,
            "cluster": self.job.cluster,
            "state": self.state.word,
            "reason": self.state.reason or None,
            "nodes": self.state.nodes or None,
            "job_exit_code": self.state.exit_code if self.state.ended else None,
            "job_signal": self.state.signal if self.state.ended else None,
            "said_by": self.state.source or None,
            "exit_code": self.code,
            "message": self.message,
            "verdict": self.document,
        }


def wait_for(
    job: JobId,
    environ: Mapping[str, str],
    run: Path | None = None,
    log: Path | None = None,
    timeout_s: float | None = None,
    as_json: bool = False,
) -> Waited:
    """Wait for the end of ``job``, with ``log`` on stdout (on stderr if ``as_json``) and its changes on stderr.

    A ``KeyboardInterrupt`` goes through; the job runs on.
    """
    return _Wait(job, environ, run, log, as_json).to_end(timeout_s)


class _Wait:
    def __init__(
        self, job: JobId, environ: Mapping[str, str], run: Path | None, log: Path | None, as_json: bool
    ) -> None:
        self._job = job
        self._environ = environ
        self._run = run
        self._stream = LogStream(log) if log is not None else None
        self._as_json = as_json
        self._began = time.monotonic()
        self._told = ""
        self._seen = False
        self._unknown_since: float | None = None
        self._silent_since: float | None = None

    def to_end(self, timeout_s: float | None) -> Waited:
        deadline = None if timeout_s is None else self._began + timeout_s
        while True:
            state = ask(self._job, self._environ, self._run)
            self._note(state)
            state = self._in_silence(state)
            if state.ended:
                return self._over(state)
            if self._given_up(state):
                return self._unknown(state, "is known neither to the queue nor to accounting nor to the controller")
            if self._rest(deadline):
                return self._unknown(state, f"{self._now(state)}; it is not over after {timeout_s:g} s")

    def _rest(self, deadline: float | None) -> bool:
        """Until the next question is due, with the log meanwhile; ``True`` at the deadline."""
        now = time.monotonic()
        due = now + (_SOON_S if now - self._began < _MINUTE_S else _LATER_S)
        while (now := time.monotonic()) < due:
            self._show()
            if deadline is not None and now >= deadline:
                return True
            time.sleep(min(_TICK_S, due - now, _TICK_S if deadline is None else deadline - now))
        return False

    def _note(self, state: JobState) -> None:
        now = time.monotonic()
        self._silent_since = None if state.answered else self._silent_since or now
        self._unknown_since = None if state.known or not state.answered else self._unknown_since or now
        self._seen = self._seen or state.known
        text = self._now(state)
        if text != self._told and not state.ended:
            self._told = text
            sys.stderr.write(f"job {self._job} {text}\n")

    def _now(self, state: JobState) -> str:
        if not state.answered:
            return f"is out of sight: the scheduler does not answer ({state.words})"
        if not state.known:
            return "has left the queue; nobody says yet how it ended" if self._seen else "is not known yet"
        nodes = f" on {state.nodes}" if state.nodes and not state.ended else ""
        return f"is {state}{nodes}"

    def _in_silence(self, state: JobState) -> JobState:
        """Where the scheduler does not answer for long, the run's own verdict is what there is."""
        if self._silent_since is None or self._run is None or time.monotonic() - self._silent_since < _SILENT_S:
            return state
        return verdict_state(self._run) or state

    def _given_up(self, state: JobState) -> bool:
        limit = LATE_S if self._seen and state.accounting else NEVER_SEEN_S
        return self._unknown_since is not None and time.monotonic() - self._unknown_since >= limit

    def _over(self, state: JobState) -> Waited:
        self._show()
        document = document_of(self._run) if self._run is not None else None
        code = state.status
        own = (document or {}).get("exit_code")
        if code == EXIT_OK and own not in (None, EXIT_OK):
            code = own if isinstance(own, int) else EXIT_FAILED
        by = f", said by {state.source}" if state.source in ("scontrol", "run") else ""
        return Waited(self._job, state, code, f"job {self._job} is over: {state}{by}", document)

    def _unknown(self, state: JobState, why: str) -> Waited:
        self._show()
        return Waited(self._job, state, EXIT_UNKNOWN, f"job {self._job} {why}", None)

    def _show(self) -> None:
        show(self._stream, to_stderr=self._as_json)
