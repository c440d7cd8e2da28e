"""Stopping a run from outside: TERM to its guardian; a supervisor that does not react is killed, and the guardian then
ends and closes the run.
"""

from __future__ import annotations

import signal
import time

from inferlane.errors import EXIT_OK, EXIT_UNKNOWN
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.folder.events import read_events
from inferlane.running.folder.keepers import Keepers, host_of, is_theirs, keepers_of
from inferlane.running.folder.states import verdict_of
from inferlane.running.leftovers.sweep import sweep_dead_runs

REACTS_S = 15.0
"""A supervisor that was told to stop begins its teardown within moments; after this long it is wedged."""

_LOOK_S = 0.5


def cancel_run(run: RunDirectory, timeout_s: float, kill: bool = False, reacts_s: float = REACTS_S) -> tuple[int, str]:
    """Stop it and wait for the verdict; returns an exit code and a sentence. ``kill``: do not wait for a teardown."""
    keepers = keepers_of(run)
    if keepers is None:
        return _elsewhere(run)
    if not keepers.alive:
        return _over(run)
    if not all(is_theirs(run, keeper) for keeper in keepers.all() if keeper.alive):
        return EXIT_UNKNOWN, f"{run.id}: the process on record is not of the user whose folder this is; left alone"
    try:
        return _Cancelling(run, keepers, timeout_s, kill, reacts_s).wait()
    except PermissionError:
        return EXIT_UNKNOWN, f"{run.id} is a run of another user; only that user can cancel it"


class _Cancelling:
    def __init__(self, run: RunDirectory, keepers: Keepers, timeout_s: float, kill: bool, reacts_s: float) -> None:
        self._run = run
        self._keepers = keepers
        self._timeout_s = timeout_s
        now = time.monotonic()
        self._deadline, self._kill_at = now + timeout_s, now + (0.0 if kill else reacts_s)
        self._looked = 0.0
        self._notes: list[str] = []

    def wait(self) -> tuple[int, str]:
        guardian, supervisor = self._keepers.guardian, self._keepers.supervisor
        if not guardian.tell(signal.SIGTERM) and supervisor is not None:
            supervisor.tell(signal.SIGTERM)
        while self._keepers.alive:
            self._wake()
            self._kill_if_wedged()
            if time.monotonic() >= self._deadline:
                return EXIT_UNKNOWN, (
                    f"{self._run.id} was told to stop and has not ended within {self._timeout_s:g} s; cancel it again "
                    "to skip its grace, or with --kill"
                )
            time.sleep(0.05)
        code, text = _over(self._run)
        return code, "; ".join((text, *self._notes))

    def _wake(self) -> None:
        """Who is held cannot end in order."""
        for keeper in self._keepers.all():
            if keeper.stopped and keeper.tell(signal.SIGCONT):
                note = f"its {keeper.name} was stopped and was continued"
                if note not in self._notes:
                    self._notes.append(note)

    def _kill_if_wedged(self) -> None:
        supervisor, now = self._keepers.supervisor, time.monotonic()
        if supervisor is None or now < self._kill_at or now < self._looked + _LOOK_S:
            return
        self._looked = now
        asked = self._kill_at <= self._deadline - self._timeout_s
        if not asked and _began_to_end(self._run):
            return
        if supervisor.tell(signal.SIGKILL):
            self._notes.append("its supervisor was killed" + ("" if asked else ", because it did not react"))
            self._kill_at = float("inf")


def _began_to_end(run: RunDirectory) -> bool:
    return run.verdict.exists() or any(event["event"] == "teardown.start" for event in read_events(run.events))


def _elsewhere(run: RunDirectory) -> tuple[int, str]:
    if verdict_of(run) is not None:
        return _over(run)
    host = host_of(run)
    where = "; it is not on record who keeps it" if host is None else f" was started on {host}; cancel it there"
    return EXIT_UNKNOWN, f"{run.id}{where}"


def _over(run: RunDirectory) -> tuple[int, str]:
    document = verdict_of(run)
    if document is not None:
        clean = "everything is gone" if document.get("clean") else f"still there: {document.get('left')}"
        return EXIT_OK, f"{run.id} is over: {document.get('verdict')} (exit {document.get('exit_code')}); {clean}"
    ended = sweep_dead_runs()
    return EXIT_OK, f"{run.id} is over without a verdict; {len(ended.killed)} processes it had left behind were ended"
