"""Being told by the kernel that a folder has a new file. Where it cannot tell, who waits just waits his time."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
from pathlib import Path

_CREATED_OR_MOVED_IN = 0x100 | 0x80


class NewFiles:
    """Wakes whoever waits when something new appears right in ``folder``. Use it within a running event loop."""

    def __init__(self, folder: Path) -> None:
        self._event = asyncio.Event()
        libc = ctypes.CDLL(None, use_errno=True)
        self._handle: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle >= 0:
            libc.inotify_add_watch(self._handle, os.fsencode(folder), _CREATED_OR_MOVED_IN)
            asyncio.get_running_loop().add_reader(self._handle, self._told)

    async def wait(self, seconds: float) -> bool:
        """Return when there is something new, with ``True``, or after ``seconds``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        new = self._event.is_set()
        self._event.clear()
        return new

    def close(self) -> None:
        """Ask no more."""
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _told(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._handle, 1 << 16)
        self._event.set()
