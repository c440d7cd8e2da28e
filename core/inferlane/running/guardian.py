"""Two processes per run, so that nothing survives one of them: the guardian waits, the supervisor works.

The command forks before heavy imports. The parent is the guardian: a child subreaper that passes signals on and, after
the supervisor ended in whatever way, ends everything that is left below it. The child is the supervisor, in a session
of its own; the kernel sends it TERM when the guardian dies. Call :func:`guarded` in a process with no other work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from inferlane.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED
from inferlane.running.leftovers.sweep import Swept, sweep
from inferlane.running.processes import proc
from inferlane.running.processes.limits import shortage

Announce = Callable[[Path], None]
"""Tells the guardian which run folder to close should the supervisor be killed."""

Lost = Callable[[str, int, str, "Path | None"], None]
"""Tells of a supervisor that could not: verdict, exit status, a sentence, the run folder if there is one."""

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_TERMINATED = ("terminated", EXIT_TERMINATED)


def heeded() -> tuple[signal.Signals, ...]:
    """``FORWARDED``, without a hang-up that the caller has this process ignore, as ``nohup`` does."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(number for number in FORWARDED if not (ignored and number == signal.SIGHUP))


def say_lost(verdict: str, _code: int, message: str, _folder: Path | None) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{'error' if verdict == 'failed' else verdict}: {message}\n")


def guarded(
    main: Callable[[Announce], int],
    forked: Callable[[], None] | None = None,
    lost: Lost = say_lost,
    blocked: bool = False,
) -> int:
    """Run ``main`` as a guarded supervisor and return its exit code (in the guardian).

    ``main`` runs in the child; it is given the function that announces the run folder, once that exists. A supervisor
    that died without a verdict makes the run failed (exit 1). ``forked`` is called in the guardian once the supervisor
    exists. ``blocked``: ``main`` begins with the signals that end a run held back, and lets them in itself.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    guardian = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, the kernel would collect our children
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # none may get lost between fork and handler
    old_mask -= {*FORWARDED, signal.SIGCHLD}  # who called may have held back what ends a run, and what tells of an end
    try:
        keep = frozenset(proc.children_of_all().get(guardian, ()))
        proc.become_subreaper()
        reader, writer = os.pipe()
        pid = os.fork()
    except OSError as error:
        return _not_begun(error, old_mask, lost)
    if pid == 0:
        os.close(reader)
        _supervise(main, writer, guardian, None if blocked else old_mask)
    os.close(writer)
    if forked is not None:
        forked()
    seen: list[int] = []
    ended = False

    def forward(number: int, _frame: object) -> None:
        seen.append(number)
        if not ended:
            os.kill(pid, number)

    for number in heeded():  # they stay: once there is a verdict, a late Ctrl-C does not replace it
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its number stays its own until it is collected
    ended = True
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    swept = sweep(keep)
    for number in FORWARDED:  # the interpreter's end would bring the defaults back, but not for what is ignored
        signal.signal(number, signal.SIG_IGN)
    return _verdict(code, seen, _read_all(reader), swept, lost)


def _not_begun(error: OSError, mask: set[int | signal.Signals], lost: Lost) -> int:
    message = f"cannot start the supervisor: {shortage(error, forking=True) or error}"
    lost("failed", EXIT_FAILED, message, None)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return EXIT_FAILED


def _supervise(
    main: Callable[[Announce], int], writer: int, guardian: int, mask: set[int | signal.Signals] | None
) -> None:
    code = EXIT_FAILED
    try:
        os.setsid()
        proc.become_subreaper()
        proc.die_with_parent(signal.SIGTERM, guardian)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = main(lambda folder: _announce(writer, folder))
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else EXIT_FAILED if ending.code else 0
    except BaseException as error:  # noqa: BLE001 - this process ends here; what is not expected must be seen
        line = shortage(error)
        if line is None:
            sys.excepthook(*sys.exc_info())
        else:
            say_lost("failed", EXIT_FAILED, line, None)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _announce(writer: int, folder: Path) -> None:
    os.write(writer, os.fsencode(folder) + b"\n")


def _read_all(reader: int) -> bytes:
    """All that was announced; the write end is closed, because everything below us is gone."""
    os.set_blocking(reader, False)
    try:
        return os.read(reader, 65536)
    except BlockingIOError:
        return b""
    finally:
        os.close(reader)


def _verdict(code: int, seen: list[int], announced: bytes, swept: Swept, lost: Lost) -> int:
    if announced:
        from inferlane.running.folder.aftermath import close_run

        folder = Path(os.fsdecode(announced.splitlines()[-1]))
        if close_run(folder, code, swept):
            reason = f"killed by signal {-code}" if code < 0 else f"gone with exit code {code} and no verdict"
            message = f"supervisor was {reason}; everything it started was ended; see {folder}"
            lost("failed", EXIT_FAILED, message, folder)
            return EXIT_FAILED
    if code >= 0:
        return code
    if -code in FORWARDED and -code in seen:
        number = signal.Signals(-code)
        verdict, status = ("interrupted", EXIT_INTERRUPTED) if number == signal.SIGINT else _TERMINATED
        lost(verdict, status, f"stopped by {number.name} before anything was started", None)
        return status
    lost("failed", EXIT_FAILED, f"supervisor was killed by signal {-code} before it started anything", None)
    return EXIT_FAILED
