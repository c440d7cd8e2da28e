"""Running a command under a guardian: forked before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from inferlane.cli.faults import tell
from inferlane.running.guardian import guarded


def run_guarded(work: Callable[[Callable[[Path], None]], int], forked: Callable[[], None] | None = None) -> int:
    """Run ``work`` as the supervisor. Its faults are printed there, one line each; returns the exit status."""
    debug = bool(click.get_current_context().find_root().params.get("debug"))

    def supervised(announce: Callable[[Path], None]) -> int:
        try:
            return work(announce)
        except Exception as fault:  # noqa: BLE001 - the last stop: a user gets one line, never a traceback
            return tell(fault, debug)

    return guarded(supervised, forked)
