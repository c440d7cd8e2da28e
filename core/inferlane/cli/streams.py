"""The standard streams of a command: closed, full, of another encoding. None of these ends it with a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, cast

_OF_STREAMS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE})


class _Forgiving(io.FileIO):
    """Standard error: what cannot be written there cannot be told anywhere, and changes nothing else."""

    def write(self, data: Any, /) -> int:
        length = memoryview(data).nbytes
        try:
            written = super().write(data)
        except OSError:
            return length
        return length if written is None else written


def open_closed(as_json: bool) -> None:
    """A closed standard stream becomes /dev/null, so that no log or socket gets its number. Who asked for a document
    and closed stdout is told that it could not be written: there it is opened for reading only.
    """
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if as_json and stream == 1 else os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def forgive() -> None:
    """From here on a full or closed stderr costs only its lines, and no text is too odd for the encoding of stdout."""
    raw = io.BufferedWriter(_Forgiving(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(raw, sys.stderr.encoding, "backslashreplace", line_buffering=True)
    cast("io.TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")


def unwritable(fault: BaseException) -> bool:
    """Whether it comes from writing to a standard stream: only there an error of the system names no file."""
    return isinstance(fault, OSError) and fault.filename is None and fault.errno in _OF_STREAMS
