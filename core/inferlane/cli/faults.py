"""How a fault is told: one line each, and a traceback only for whoever asks for it."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

from inferlane.cli.streams import unwritable
from inferlane.errors import EXIT_FAILED, InferlaneError

VARIABLE = "INFERLANE_DEBUG"


def tell(fault: Exception, debug: bool, as_json: bool = False) -> int:
    """Print ``fault``, with its traceback if ``debug`` or the variable says so; returns the exit status.

    With ``as_json`` it is the document on stdout as well. A reader that has seen enough, such as ``head``, is told
    nothing.
    """
    if isinstance(fault, BrokenPipeError):
        return EXIT_FAILED
    if debug or os.environ.get(VARIABLE, "") not in ("", "0"):
        traceback.print_exception(fault)
    lines, code = _described(fault)
    for line in lines:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"error: {line}\n")
    if as_json and not unwritable(fault):
        from inferlane.cli.documents import print_failure

        print_failure("refused", code, str(fault) or type(fault).__name__)
    return code


def _described(fault: Exception) -> tuple[list[str], int]:
    if isinstance(fault, InferlaneError):
        return str(fault).splitlines(), fault.exit_code
    if isinstance(fault, OSError) and unwritable(fault):
        return [f"the output could not be written: {fault.strerror}"], EXIT_FAILED
    from inferlane.running.processes.limits import shortage

    line = shortage(fault, forking=True)
    if line is not None:
        return [line], EXIT_FAILED
    text = " ".join(str(fault).split())
    return [f"{type(fault).__name__}: {text}; run with --debug for a traceback"], EXIT_FAILED
