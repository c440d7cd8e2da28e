"""Shortages of our own: file descriptors, processes, memory. They are told as what they are, not as others' silence."""

from __future__ import annotations

import errno
import os
import resource

from inferlane.errors import InferlaneError, RunFault

FileLimit = tuple[int, int]
"""Soft and hard limit of open files."""

_WANTED = 65536
_ROOM = 48
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)


def shortage(error: BaseException, forking: bool = False) -> str | None:
    """What this machine, or this user, has run out of, in one line; ``None`` if ``error`` is something else.
    ``forking``: it came from starting a process.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number is None and isinstance(error, ImportError) and os.strerror(errno.EMFILE) in str(error):
        number = errno.EMFILE  # a library that could not be opened
    if number == errno.EMFILE:
        return f"out of file descriptors (ulimit -n is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}); raise it"
    if number == errno.ENFILE:
        return "this machine is out of file descriptors (fs.file-max); end what holds them, or raise it"
    if number in (errno.ENOMEM, errno.ENOBUFS):
        return f"out of memory: {os.strerror(number)}; end what uses it"
    if number == errno.EAGAIN and forking:
        limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        shown = "unlimited" if limit == resource.RLIM_INFINITY else limit
        return f"{os.strerror(number)}; too many processes (ulimit -u is {shown}); end some, or raise it"
    return None


def refuse_shortage(error: BaseException) -> None:
    """Raises ``RunFault`` if ``error`` is a shortage of ours."""
    line = shortage(error)
    if line is not None:
        raise RunFault(line) from error


def told(error: Exception) -> str:
    """A fault inside of the supervisor, as a first cause."""
    if isinstance(error, InferlaneError):
        return str(error)
    return shortage(error) or f"the supervisor failed: {error!r}"


def lift_file_limit() -> FileLimit:
    """Raise this process's own soft limit of open files as far as it may; returns what the user had, for children:
    programs that use ``select`` break above it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft, hard


def check_file_limit(spare: int = _ROOM) -> None:
    """Raises ``RunFault`` if less than ``spare`` files can still be opened: a run that starves half way is worse."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return
    used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    if soft - used < spare:
        raise RunFault(f"out of file descriptors (ulimit -n is {soft}, a run needs {used + spare}); raise it")
