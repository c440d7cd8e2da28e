"""``python -m inferlane.load --spec FILE``.

Exit codes: 0 every point is valid; 1 a point is invalid; 2 the specification is wrong; 130 and 143 after SIGINT and
SIGTERM, with the results so far written.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inferlane.errors import EXIT_FAILED, EXIT_OK, InferlaneError, UsageFault
from inferlane.load.say import say, settle
from inferlane.load.spec import LoadSpec, read_spec

SPARE_FILES = 64
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> int:
    """Run the client; the result is the exit code."""
    for number in SIGNALS:
        signal.signal(number, lambda got, _frame: sys.exit(128 + got))
    parser = argparse.ArgumentParser(prog="python -m inferlane.load", description="Measure an endpoint under load.")
    parser.add_argument("--spec", type=Path, required=True, help="JSON file, see inferlane.load.spec.LoadSpec")
    try:
        spec = read_spec(parser.parse_args().spec, os.environ)
        _allow_connections(max(spec.concurrencies))
        return run_load(spec)
    except InferlaneError as fault:
        say(f"inferlane.load: {fault}", sys.stderr)
        return fault.exit_code
    finally:
        settle(sys.stdout)
        settle(sys.stderr)


def run_load(spec: LoadSpec) -> int:
    """Run a sweep in this process, printing progress and the table; the result is the exit code."""
    if spec.capped:
        say(f"capped for the rehearsal: {spec.capped}", sys.stdout)
    return asyncio.run(_sweep(spec))


async def _sweep(spec: LoadSpec) -> int:
    from inferlane.load.level import Stop
    from inferlane.load.results import Unwritable
    from inferlane.load.sweep import Sweep

    stop = Stop()
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set, int(number))
    sweep = Sweep(spec, stop, sys.stdout)
    broken = False
    try:
        await sweep.run()
    except Unwritable as fault:
        broken = True
        say(f"inferlane.load: {fault}", sys.stderr)
    bad = _report(spec, sweep.points)
    if stop.signal:
        return 128 + stop.signal
    return EXIT_FAILED if bad or broken else EXIT_OK


def _report(spec: LoadSpec, points: Sequence[Mapping[str, Any]]) -> bool:
    """Print the table and what is wrong; whether anything is."""
    from inferlane.load.results import folder, table

    say(table(points), sys.stdout)
    say(f"results: {folder(spec)}", sys.stdout)
    invalid = [point for point in points if not point["valid"]]
    for point in invalid:
        say(f"inferlane.load: concurrency {point['max_concurrency']} is invalid: {point['reason']}", sys.stderr)
    skipped = spec.concurrencies[len(points) :]
    if skipped:
        say(f"inferlane.load: not run: concurrency {', '.join(map(str, skipped))}", sys.stderr)
    return bool(invalid or skipped)


def _allow_connections(concurrency: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = concurrency + SPARE_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageFault(f"concurrency {concurrency} needs {needed} open files, {hard} are allowed; raise 'ulimit -n'")
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


if __name__ == "__main__":
    sys.exit(main())
