"""Stopping a run from outside: TERM to its guardian, known by pid and start time, never by name."""

from __future__ import annotations

import signal
import time

from inferlane.errors import EXIT_OK, EXIT_UNKNOWN
from inferlane.running.directory import RunDirectory
from inferlane.running.proc import signal_verified
from inferlane.running.states import verdict_of
from inferlane.running.sweep import owner_alive, read_owner, sweep_dead_runs


def cancel_run(run: RunDirectory, timeout_s: float) -> tuple[int, str]:
    """Stop it and wait for the verdict; returns an exit code and a sentence."""
    record = read_owner(run.path)
    alive = owner_alive(record) if record is not None else None
    if record is None or alive is None:
        where = f" on {record['host']}" if record is not None else ""
        document = verdict_of(run)
        if document is not None:
            return EXIT_OK, f"{run.id} is over: {document.get('verdict')}"
        return EXIT_UNKNOWN, f"{run.id} was started{where}; cancel it there"
    if not alive:
        return _already_over(run)
    if not signal_verified(record["pid"], record["start"], signal.SIGTERM):
        return _already_over(run)
    deadline = time.monotonic() + timeout_s
    while owner_alive(record):
        if time.monotonic() >= deadline:
            return EXIT_UNKNOWN, f"{run.id} was told to stop and has not ended within {timeout_s:g} s"
        time.sleep(0.05)
    return _already_over(run)


def _already_over(run: RunDirectory) -> tuple[int, str]:
    document = verdict_of(run)
    if document is not None:
        clean = "everything is gone" if document.get("clean") else f"still there: {document.get('left')}"
        return EXIT_OK, f"{run.id} is over: {document.get('verdict')} (exit {document.get('exit_code')}); {clean}"
    ended = sweep_dead_runs()
    return EXIT_OK, f"{run.id} is over without a verdict; {len(ended.killed)} processes it had left behind were ended"
