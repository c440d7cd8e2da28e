"""What a rehearsal runs instead of a benchmark that can not run there: a few small requests through the endpoint.

Options of the twin: ``endpoint`` (absent: nothing is sent), ``model`` and ``results``, a folder. Arguments are those of
the command it stands for, and are not used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from inferlane.errors import EXIT_OK, InferlaneError, RunFault, UsageFault
from inferlane.load.__main__ import run_load
from inferlane.load.spec import NOTHING, LoadSpec
from inferlane.twins.orders import VARIABLE, read_orders

REQUESTS, CONCURRENCY, ISL, OSL = 16, 4, 16, 8
LIMIT_S = 30.0


def main() -> int:
    """Run the load; the result is the exit code."""
    try:
        options = _options()
        if "endpoint" not in options:
            print("the benchmark command is not run in a rehearsal, and there is no endpoint to put a load on")
            return _nothing(Path(options["results"]))
        print(f"a synthetic load stands for the benchmark command: {REQUESTS} requests, concurrency {CONCURRENCY}")
        return run_load(_spec(options))
    except InferlaneError as fault:
        print(f"inferlane.load.synthetic: {fault}", file=sys.stderr)
        return fault.exit_code


def _options() -> Mapping[str, str]:
    path = os.environ.get(VARIABLE)
    if not path:
        raise UsageFault(f"{VARIABLE} is not set; this program is started by a rehearsal only")
    try:
        return read_orders(Path(path)).options
    except OSError as error:
        raise UsageFault(f"{path}: {error.strerror or error}") from None
    except msgspec.MsgspecError as error:
        raise UsageFault(f"{path}: not the orders of a synthetic load: {error}") from None


def _nothing(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NOTHING).write_text("no load: there is no endpoint\n")
    except OSError as error:
        raise RunFault(f"{folder} can not be written: {error.strerror or error}") from None
    return EXIT_OK


def _spec(options: Mapping[str, str]) -> LoadSpec:
    return LoadSpec(
        endpoint=options["endpoint"],
        model=options.get("model", ""),
        results=options["results"],
        isl=ISL,
        osl=OSL,
        concurrencies=(CONCURRENCY,),
        requests=REQUESTS,
        warmup_requests=0,
        request_timeout_s=LIMIT_S,
        stall_timeout_s=LIMIT_S,
    )


if __name__ == "__main__":
    sys.exit(main())
