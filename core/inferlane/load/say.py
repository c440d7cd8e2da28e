"""Words of the client. A full disk or a closed pipe takes the words, never the results or the exit code."""

from __future__ import annotations

import contextlib
import os
from typing import TextIO


def say(text: str, out: TextIO) -> None:
    """Print a line, as far as that is possible."""
    with contextlib.suppress(OSError):
        print(text, file=out, flush=True)


def settle(out: TextIO) -> None:
    """Drop what still can not be written, as the interpreter would otherwise end with a status of its own for it."""
    try:
        out.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, out.fileno())
            os.close(null)
