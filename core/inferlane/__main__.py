"""The command itself, also as ``python -m inferlane``. Imports next to nothing before Ctrl-C is one line."""

from __future__ import annotations

# The module `signal` itself imports for milliseconds, in which Ctrl-C would be a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_DOCUMENT = b'{\n  "verdict": "interrupted",\n  "exit_code": 130,\n  "message": "stopped by SIGINT while starting"\n}\n'


def early_interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Ctrl-C while the interpreter still imports: one line, no traceback."""
    for stream, text in ((1, _DOCUMENT if "--json" in sys.argv else b""), (2, b"interrupted\n")):
        try:
            os.write(stream, text)
        except OSError:
            continue
    os._exit(130)


def program() -> NoReturn:
    """The console script."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, early_interrupt)
    from inferlane.cli.main import program as go

    go()


if __name__ == "__main__":
    program()
