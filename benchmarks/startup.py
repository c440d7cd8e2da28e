"""How long commands take to start, as ratios against a bare interpreter in the same run.

    python benchmarks/startup.py [RUNS]

Each command is started RUNS times (default 15), in turn with the bare interpreter, and medians are compared. Exit
status 1 if a bar is missed: ``--help`` 6x, ``plan`` of the quickstart 20x.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BARE = ("-c", "pass")
COMMANDS: dict[str, tuple[tuple[str, ...], float]] = {
    "--help": (("-m", "inferlane.cli.main", "--help"), 6.0),
    "plan quickstart": (("-m", "inferlane.cli.main", "plan", "examples/quickstart.yaml"), 20.0),
}


def seconds(arguments: tuple[str, ...]) -> float:
    """Wall time of one interpreter."""
    # Compiled modules are kept, as in any installation: compiling them anew each time would be measured instead.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, check=True)
    return time.perf_counter() - start


def main(runs: int) -> int:
    """Measure and print; 1 if a bar is missed."""
    missed = 0
    for name, (arguments, bar) in COMMANDS.items():
        pairs = [(seconds(arguments), seconds(BARE)) for _ in range(runs + 1)][1:]
        mine, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = mine / bare
        missed += ratio > bar
        print(f"{name:16} {mine * 1000:6.0f} ms   bare {bare * 1000:4.0f} ms   {ratio:5.1f}x   bar {bar:.0f}x")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
