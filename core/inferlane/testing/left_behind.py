"""A worker that leaves things behind; arguments: WHAT [ARGUMENT ...]. It says ``made`` and then waits to be ended.

``segment NAME``: POSIX shared memory by the standard library. ``file PATH``: a mapped file. ``closed PATH``: the same,
with the descriptor closed. ``semaphore``: as engines make them. ``sysv``: a System V segment. ``daemon SECONDS``: a
process that forks twice, has a session, no environment, no open files and no ear for TERM. ``storm COUNT``: a process
that starts another and ends, over and over, COUNT times. ``zombies COUNT``. ``reaper``: a child that adopts orphans
itself, with one below it. ``nobody``: becomes another user, where it may.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable

_PAGE = 1 << 20


def _segment(name: str) -> object:
    from multiprocessing import resource_tracker, shared_memory

    made = shared_memory.SharedMemory(name, create=True, size=_PAGE)
    resource_tracker.unregister(f"/{made.name}", "shared_memory")  # as engines do that share it with others
    return made


def _file(path: str) -> object:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(handle, _PAGE)
    return mmap.mmap(handle, _PAGE)


def _closed(path: str) -> object:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(handle, _PAGE)
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, _PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, handle, ctypes.c_long(0))
    os.close(handle)
    return address


def _semaphore(name: str) -> object:
    libc = ctypes.CDLL(None)
    libc.sem_open.restype = ctypes.c_void_p
    return libc.sem_open(f"/{name}".encode(), os.O_CREAT | os.O_EXCL, 0o600, 1)


def _sysv() -> object:
    number = ctypes.CDLL(None).shmget(0, ctypes.c_size_t(_PAGE), 0o1600)
    print(f"segment {number}", flush=True)
    return number


def _daemon(seconds: str) -> None:
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.closerange(0, 256)
    os.execve("/bin/sleep", ["sleep", seconds], {})  # noqa: S606


def _storm(count: str) -> None:
    for _ in range(4):
        if os.fork() == 0:
            os.setsid()
            for _ in range(int(count)):
                if os.fork():
                    os._exit(0)
            time.sleep(300)


def _zombies(count: str) -> None:
    for _ in range(int(count)):
        if os.fork() == 0:
            os._exit(0)


def _reaper() -> None:
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        os.setsid()
        if os.fork() == 0:
            os.setpgid(0, 0)
            if os.fork():
                os._exit(0)
        time.sleep(300)


def _nobody() -> None:
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


_MAKERS: dict[str, Callable[..., object]] = {
    "segment": _segment,
    "file": _file,
    "closed": _closed,
    "semaphore": _semaphore,
    "sysv": _sysv,
    "daemon": _daemon,
    "storm": _storm,
    "zombies": _zombies,
    "reaper": _reaper,
    "nobody": _nobody,
}


def _hold(_kept: object) -> None:
    print("made", flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    _hold(_MAKERS[sys.argv[1]](*sys.argv[2:]))
