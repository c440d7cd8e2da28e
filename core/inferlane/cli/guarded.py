"""Running a command under a guardian: forked before anything heavy is imported."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.documents import failure, print_failure, print_text
from inferlane.cli.faults import tell
from inferlane.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from inferlane.running.guardian import FORWARDED, Lost, guarded, heeded, say_lost


def run_guarded(
    work: Callable[[Callable[[Path], None]], int],
    as_json: Callable[[], bool],
    forked: Callable[[], None] | None = None,
    lost: Lost | None = None,
) -> int:
    """Run ``work`` as the supervisor. Its faults are printed there, one line each; returns the exit status.

    A signal that comes before there is a run is told too. Where ``as_json`` holds, either is a document on stdout as
    well. ``lost``: tells of a supervisor that was killed; by default like any other fault.
    """
    debug = bool(click.get_current_context().find_root().params.get("debug"))

    stop = _stopper(as_json)

    def supervised(announce: Callable[[Path], None]) -> int:
        try:
            for number in heeded():
                signal.signal(number, stop)  # until the run's own handlers replace it
            signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
            return work(announce)
        except Exception as fault:  # noqa: BLE001 - the last stop: a user gets one line, never a traceback
            for number in FORWARDED:  # nothing runs any more, and the fault is what there is to say
                signal.signal(number, signal.SIG_IGN)
            return tell(fault, debug, as_json())

    def gone(verdict: str, code: int, message: str, folder: Path | None) -> None:
        say_lost(verdict, code, message, folder)
        if as_json():
            print_recorded(verdict, code, message, folder)

    return guarded(supervised, forked, lost or gone, blocked=True)


def print_recorded(verdict: str, code: int, message: str, folder: Path | None) -> None:
    """The document of a run that ended without its own words: its ``run.json``, if there is one."""
    if folder is not None:
        with contextlib.suppress(OSError, ValueError):
            print_text((folder / "run.json").read_text().rstrip())
            return
    print_failure(verdict, code, message)


def _stopper(as_json: Callable[[], bool]) -> Callable[[int, object], None]:
    """Ends this process at once, with one line: nothing was started. An exception would not do, for what is imported or
    called just then may wrap or swallow it.
    """

    def stop(number: int, _frame: object) -> None:
        word, code = ("interrupted", EXIT_INTERRUPTED) if number == signal.SIGINT else ("terminated", EXIT_TERMINATED)
        message = f"stopped by {signal.Signals(number).name} before anything was started"
        said = [(2, f"{word}: {message}")]
        if as_json():
            said.append((1, failure(word, code, message)))
        for stream, text in said:
            with contextlib.suppress(OSError):
                os.write(stream, f"{text}\n".encode())
        os._exit(code)

    return stop
