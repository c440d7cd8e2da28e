"""How a run ended: the verdict, its first cause, and what became of everything that was started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import field

from inferlane.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_READY, EXIT_OK, EXIT_TERMINATED
from inferlane.values import Summary, Text, Value

VerdictWord = Literal["success", "failed", "not_ready", "interrupted", "terminated"]

EXIT_CODES: Mapping[VerdictWord, int] = {
    "success": EXIT_OK,
    "failed": EXIT_FAILED,
    "not_ready": EXIT_NOT_READY,
    "interrupted": EXIT_INTERRUPTED,
    "terminated": EXIT_TERMINATED,
}


class Cause(Value, frozen=True, kw_only=True):
    """What ended the run first.

    ``kind``: ``exit``, ``start``, ``fatal_log``, ``gate``, ``deadline``, ``wedged`` (it was ready and fell silent),
    ``generation``, ``benchmark``, ``signal``, ``supervisor`` (it was killed), ``disk`` or ``internal``.
    ``exit_code`` and ``signal``: the process's own. ``log_tail``: the last lines of its log.
    """

    kind: str
    message: str
    process: str | None = None
    node: str | None = None
    stage: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    log: str | None = None
    log_tail: tuple[str, ...] = ()


class Ended(Value, frozen=True, kw_only=True):
    """One process at the end. ``state``: ``ended`` by itself, ``stopped`` when told, ``killed`` after the grace, or
    ``running`` when even that had no effect.
    """

    process: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0.0


class Outcome(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``.

    ``followers``: processes that ended by themselves after the first cause. ``timings``: seconds since the first
    process started. ``clean``: nothing of the run was left, as seen by looking. ``left``: what was (``pid command``).
    ``swept``: stray processes that the last look ended. ``memory``: shared memory that it removed. ``served``: worker
    process (with several ranks, ``process@rank``) to the benchmark's requests that it finished, where the engine counts
    them.
    """

    id: str
    name: str
    verdict: VerdictWord
    exit_code: int
    started: str
    ended: str
    clean: bool
    cause: Cause | None = None
    followers: tuple[str, ...] = ()
    processes: tuple[Ended, ...] = ()
    swept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    summary: Summary | None = None
    served: Mapping[str, int] = field(default_factory=dict)
    endpoint: str | None = None
    versions: Text = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    rehearsal: Mapping[str, Any] | None = None


class RunEnded(Exception):  # noqa: N818 - not always an error
    """Raised inside the supervisor to end the run with a verdict."""

    def __init__(self, verdict: VerdictWord, cause: Cause, summary: Summary | None = None) -> None:
        self.verdict: VerdictWord = verdict
        self.cause = cause
        self.summary = summary
        super().__init__(cause.message)


def exit_words(code: int) -> str:
    """``exit code 3`` or ``signal 9 (SIGKILL)``."""
    if code >= 0:
        return f"exit code {code}"
    from signal import Signals

    try:
        return f"signal {-code} ({Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
