"""How a fault is told: one line each, and a traceback only for whoever asks for it."""

from __future__ import annotations

import os
import sys
import traceback

from inferlane.errors import EXIT_FAILED, InferlaneError

VARIABLE = "INFERLANE_DEBUG"


def tell(fault: Exception, debug: bool) -> int:
    """Print ``fault``, with its traceback if ``debug`` or the variable says so; returns the exit status."""
    if debug or os.environ.get(VARIABLE, "") not in ("", "0"):
        traceback.print_exception(fault)
    if isinstance(fault, InferlaneError):
        lines, code = str(fault).splitlines(), fault.exit_code
    else:
        text = " ".join(str(fault).split())
        lines, code = [f"{type(fault).__name__}: {text}; run with --debug for a traceback"], EXIT_FAILED
    for line in lines:
        sys.stderr.write(f"error: {line}\n")
    return code
