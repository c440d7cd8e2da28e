"""Running a command under a guardian: forked before anything heavy is imported."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.faults import tell
from inferlane.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from inferlane.running.guardian import FORWARDED, guarded


class _StoppedError(BaseException):
    """A signal came before the run did; the run's own handlers replace ours."""


def run_guarded(
    work: Callable[[Callable[[Path], None]], int], as_json: bool = False, forked: Callable[[], None] | None = None
) -> int:
    """Run ``work`` as the supervisor. Its faults are printed there, one line each; returns the exit status.

    A signal that comes before there is a run is told too. With ``as_json`` either is a document on stdout as well.
    """
    debug = bool(click.get_current_context().find_root().params.get("debug"))

    def supervised(announce: Callable[[Path], None]) -> int:
        try:
            for number in FORWARDED:
                signal.signal(number, _stop)
            return work(announce)
        except _StoppedError as stopped:
            return _told(signal.Signals(stopped.args[0]), as_json)
        except Exception as fault:  # noqa: BLE001 - the last stop: a user gets one line, never a traceback
            code = tell(fault, debug)
            if as_json:
                _document("refused", code, str(fault) or type(fault).__name__)
            return code

    return guarded(supervised, forked)


def _stop(number: int, _frame: object) -> None:
    for other in FORWARDED:
        signal.signal(other, signal.SIG_IGN)
    raise _StoppedError(number)


def _told(number: signal.Signals, as_json: bool) -> int:
    word, code = ("interrupted", EXIT_INTERRUPTED) if number == signal.SIGINT else ("terminated", EXIT_TERMINATED)
    message = f"stopped by {number.name} before anything was started"
    if as_json:
        _document(word, code, message)
    sys.stderr.write(f"{word}: {message}\n")
    return code


def _document(verdict: str, code: int, message: str) -> None:
    with contextlib.suppress(OSError):  # stdout itself may be what is at fault
        sys.stdout.write(json.dumps({"verdict": verdict, "exit_code": code, "message": message}, indent=2) + "\n")
        sys.stdout.flush()
