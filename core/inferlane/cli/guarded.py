"""Running a command under a guardian: forked before anything heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from inferlane.errors import EXIT_FAILED, InferlaneError
from inferlane.running.guardian import guarded


def run_guarded(work: Callable[[Callable[[Path], None]], int], forked: Callable[[], None] | None = None) -> int:
    """Run ``work`` as the supervisor. Its faults are printed there, one line each; returns the exit status."""
    debug = bool(click.get_current_context().find_root().params.get("debug"))
    debug = debug or os.environ.get("INFERLANE_DEBUG", "") not in ("", "0")

    def supervised(announce: Callable[[Path], None]) -> int:
        try:
            return work(announce)
        except Exception as fault:  # noqa: BLE001 - the last stop: a user gets one line, never a traceback
            if debug:
                import traceback

                traceback.print_exc()
            return _report(fault)

    return guarded(supervised, forked)


def _report(fault: Exception) -> int:
    if isinstance(fault, InferlaneError):
        lines, code = str(fault).splitlines(), fault.exit_code
    else:
        text = " ".join(str(fault).split())
        lines, code = [f"{type(fault).__name__}: {text}; run with --debug for a traceback"], EXIT_FAILED
    for line in lines:
        sys.stderr.write(f"error: {line}\n")
    return code
