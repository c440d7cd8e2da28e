"""Random drills in a row: ``python -m tests.soak [--drills N] [--seed S] [--only INDEX] [--parallel N]``."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from tests.soak.drill import drill


def main() -> int:
    """0 if every drill ended as it may and left nothing."""
    options = _options()
    base = Path(tempfile.mkdtemp(prefix="soak-"))
    seed = options.seed or str(random.SystemRandom().randrange(10**6))
    indices = options.only or list(range(options.drills))
    print(f"{len(indices)} drills of seed {seed}, {options.parallel} at a time; folders of bad ones stay in {base}")
    began = time.monotonic()
    verdicts: Counter[str] = Counter()
    bad = 0
    with ProcessPoolExecutor(options.parallel, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(drill, f"{seed}/{index}", base) for index in indices]):
            result = done.result()
            print(result.line(), flush=True)
            verdicts[result.verdict.split(" ")[0]] += 1
            if result.faults:
                bad += 1
                index = result.name.rpartition("/")[2]
                print("".join(f"    {fault}\n" for fault in result.faults), end="")
                print(f"    folder: {result.room}; again: make soak SEED={seed} ONLY={index}", flush=True)
    counts = ", ".join(f"{word} {count}" for word, count in verdicts.most_common())
    print(
        f"{len(indices) - bad} of {len(indices)} drills as they should be, {time.monotonic() - began:.0f} s ({counts})"
    )
    if not bad:
        base.rmdir()
    return min(bad, 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--drills", type=int, default=200)
    parser.add_argument("--seed", default="")
    parser.add_argument("--only", type=int, action="append", help="the drill of this index alone; may be repeated")
    parser.add_argument("--parallel", type=int, default=min(2, os.cpu_count() or 1))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
