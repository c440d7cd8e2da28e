"""What a run and its supervisor are told, and what the supervisor knows at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inferlane.running.clients import Summarise
from inferlane.running.ground import Ground, ThisMachine
from inferlane.running.outcome import Cause, VerdictWord
from inferlane.running.readiness.judge import JudgePlugin
from inferlane.values import Plan, Summary


@dataclass(frozen=True)
class Settings:
    """``grace_s``: the budget of the teardown. ``patience_s``: how long generation may go on failing while every gate
    holds. ``guardian``: its process id, if any. ``upkeep``: called at each turn. ``ground``: where processes run.
    ``hosts``: node of the plan to the machine's own name, where that says more.
    """

    grace_s: float = 30.0
    patience_s: float = 240.0
    guardian: int | None = None
    ground: Ground = field(default_factory=ThisMachine)
    hosts: Mapping[str, str] = field(default_factory=dict)
    summarise: Summarise | None = None
    judge: JudgePlugin | None = None
    upkeep: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Ending:
    """What the supervisor knows when everything was told to end."""

    verdict: VerdictWord
    cause: Cause | None
    followers: tuple[str, ...]
    timings: Mapping[str, float]
    summary: Summary | None
    served: Mapping[str, int]
    warnings: tuple[str, ...]


Replan = Callable[[Mapping[str, tuple[int, ...]]], Plan]
"""Node name to ports that others hold; answers with a plan that avoids them."""

Orders = Callable[[Plan], Mapping[str, bytes]]
"""The bound plan to the content of each twin's orders file."""


@dataclass(frozen=True)
class RunOptions:
    """How to run. ``patience_s``: how long generation may go on failing while every gate holds. ``documents``: files to
    keep in the run folder (name to content). ``devices``: the words of this machine's devices. ``tokens``: further
    values for ``bind``. ``serve``: leave the benchmark out, serve until stopped.
    ``guardian``: the guardian's process id. ``announce``: tells it the run folder.
    """

    outputs: Path
    environ: Mapping[str, str]
    grace_s: float = 30.0
    patience_s: float = 240.0
    as_json: bool = False
    live: bool = True
    serve: bool = False
    pass_environment: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, bytes] = field(default_factory=dict)
    guardian: int | None = None
    announce: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Hooks:
    """What of the planning side a run needs. ``replan`` is called only when a port is taken."""

    replan: Replan | None = None
    orders: Orders | None = None
    summarise: Summarise | None = None
    judge: JudgePlugin | None = None
