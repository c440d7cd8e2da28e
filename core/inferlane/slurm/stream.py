"""A growing log, byte for byte."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_PIECE = 1 << 20


class LogStream:
    """What is new in a file, whatever its encoding. A file that is missing is waited for; one that was cut or replaced
    is read from its start.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._inode = 0

    def new(self) -> Iterator[bytes]:
        """Pieces of at most 1 MiB, up to the present end."""
        try:
            with self.path.open("rb", buffering=0) as log:
                self._begin(log.fileno())
                log.seek(self._offset)
                while piece := log.read(_PIECE):
                    self._offset += len(piece)
                    yield piece
        except OSError:
            return

    def _begin(self, handle: int) -> None:
        found = os.fstat(handle)
        if found.st_ino != self._inode or found.st_size < self._offset:
            self._offset, self._inode = 0, found.st_ino


def show(stream: LogStream | None, to_stderr: bool = False) -> None:
    """Write what is new to stdout, its bytes as they are."""
    if stream is None:
        return
    out = sys.stderr if to_stderr else sys.stdout
    for piece in stream.new():
        out.flush()
        out.buffer.write(piece)
        out.buffer.flush()
