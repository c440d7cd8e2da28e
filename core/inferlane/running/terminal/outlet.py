"""Writing progress without ever waiting for whoever reads it: a paused terminal or a full pipe must not stop a
supervisor, and one that is gone must not end it.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import time
from collections.abc import Callable
from typing import TextIO

_MOST = 1 << 20
"""Bytes kept for a reader that does not read now; what comes then is counted, not kept."""


class Outlet:
    """``write`` keeps what cannot be written now. Files are written as they are; their errors are swallowed.

    ``moves``: the stream will be turned to a file (a run that detaches), so no other hold of it is taken.
    """

    def __init__(self, stream: TextIO, moves: bool = False) -> None:
        self._stream = stream
        self._send = None if moves else _sender(stream)
        self._pending = bytearray()
        self._lost = 0
        self.broken = False

    @property
    def waiting(self) -> bool:
        """Whether the reader is behind."""
        return bool(self._pending)

    def write(self, text: str) -> None:
        """Never waits and never raises."""
        if self._send is None:
            self._write_plainly(text)
            return
        raw = text.encode(errors="backslashreplace")
        if len(self._pending) + len(raw) > _MOST:
            self._lost += text.count("\n")
            return
        self._pending += raw
        self._push()

    def drain(self, seconds: float) -> None:
        """Give the reader so long to take what is kept."""
        deadline = time.monotonic() + seconds
        while self._pending and time.monotonic() < deadline:
            self._push()
            if self._pending:
                time.sleep(0.02)

    def _push(self) -> None:
        assert self._send is not None
        try:
            while self._pending:
                sent = self._send(bytes(self._pending[:4096]))
                del self._pending[:sent]
        except BlockingIOError:
            return
        except OSError:  # the reader has gone; the run has not
            self.broken = True
            self._pending.clear()
        if self._lost and not self._pending:
            self._pending += f"... {self._lost} lines were not shown, nobody took them\n".encode()
            self._lost = 0
            self._push()

    def _write_plainly(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.broken = True


def _sender(stream: TextIO) -> Callable[[bytes], int] | None:
    """Writes what can be written now, or raises ``BlockingIOError``; ``None`` for what never makes a writer wait.

    A description of its own: ``O_NONBLOCK`` belongs to the description, which others, such as the shell, share.
    """
    try:
        fd = stream.fileno()
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError, AttributeError):
        return None
    if stat.S_ISSOCK(mode):
        return lambda raw: _write_if_ready(fd, raw)
    if not stat.S_ISFIFO(mode) and not (stat.S_ISCHR(mode) and os.isatty(fd)):
        return None
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
    try:
        own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:  # a terminal of another user, say after su
        return lambda raw: _write_if_ready(fd, raw)
    return lambda raw: os.write(own, raw)


def _write_if_ready(fd: int, raw: bytes) -> int:
    if not select.select([], [fd], [], 0)[1]:
        raise BlockingIOError
    return os.write(fd, raw[:256])
