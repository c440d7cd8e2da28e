"""Run an unbound plan from a JSON file under a guardian; arguments: PLAN OUTPUTS [GRACE]."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from inferlane.running.guardian import Announce, guarded


def _run(announce: Announce) -> int:
    from inferlane.errors import InferlaneError
    from inferlane.planning.bind import decode
    from inferlane.running.local import run_plan
    from inferlane.running.settings import RunOptions

    grace = float(sys.argv[3]) if len(sys.argv) > 3 else 5.0
    options = RunOptions(
        outputs=Path(sys.argv[2]),
        environ=os.environ,
        grace_s=grace,
        guardian=os.getppid(),
        announce=announce,
    )
    try:
        return run_plan(decode(Path(sys.argv[1]).read_bytes()), options)
    except InferlaneError as fault:
        sys.stderr.write(f"error: {fault}\n")
        return fault.exit_code


if __name__ == "__main__":
    sys.exit(guarded(_run))
