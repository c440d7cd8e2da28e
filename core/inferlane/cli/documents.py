"""``--json``: exactly one document on stdout, also where a command fails before it has anything to say."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence


def wanted(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON; looked up by word, because the command line itself may be wrong."""
    words = list(arguments)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def failure(verdict: str, code: int, message: str, **more: str) -> str:
    """The document of a command that ends without its own. ``verdict``: ``refused``, ``failed``, ``interrupted`` or
    ``terminated``.
    """
    import json

    return json.dumps({"verdict": verdict, "exit_code": code, "message": message, **more}, indent=2)


def print_failure(verdict: str, code: int, message: str, **more: str) -> None:
    """The same on stdout."""
    print_text(failure(verdict, code, message, **more))


def print_text(text: str) -> None:
    """Write it to stdout, unless stdout itself is at fault: the exit status and stderr tell that."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
