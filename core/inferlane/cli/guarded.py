"""Running a command under a guardian: forked before anything heavy is imported."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.documents import print_failure, print_text
from inferlane.cli.faults import tell
from inferlane.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from inferlane.running.guardian import FORWARDED, Lost, guarded, say_lost


class _StoppedError(BaseException):
    """A signal came before the run did; the run's own handlers replace ours."""


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

    def supervised(announce: Callable[[Path], None]) -> int:
        try:
            for number in FORWARDED:
                signal.signal(number, _stop)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
            return work(announce)
        except _StoppedError as stopped:
            return _told(signal.Signals(stopped.args[0]), as_json())
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


def _stop(number: int, _frame: object) -> None:
    for other in FORWARDED:
        signal.signal(other, signal.SIG_IGN)
    raise _StoppedError(number)


def _told(number: signal.Signals, as_json: bool) -> int:
    word, code = ("interrupted", EXIT_INTERRUPTED) if number == signal.SIGINT else ("terminated", EXIT_TERMINATED)
    message = f"stopped by {number.name} before anything was started"
    if as_json:
        print_failure(word, code, message)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{word}: {message}\n")
    return code
