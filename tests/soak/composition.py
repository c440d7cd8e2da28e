"""One drill, composed at random from a seed: what runs, what goes wrong and when, and how it is ended."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal

Moment = Literal["start", "loading", "ready", "traffic", "teardown"]
"""``start``: the run folder exists. ``loading``: the target (for an ending: anything) was started."""

BUILT_IN = (
    "exit3",
    "exit0",
    "crash",
    "fatal_log",
    "no_program",
    "unhealthy",
    "mute",
    "garbage",
    "stubborn",
    "orphan",
    "hidden",
    "babble",
)
"""Faults that a process has from its start on; the others are injected at their moment."""

HARMLESS = ("stubborn", "orphan", "hidden", "babble", "memory", "dies_late", "spare_dies")
"""``hidden``: a detached child without any of our variables. ``babble``: a log that is no text. ``memory``: a mapped
file in shared memory that nobody removes."""
SLOW = ("unhealthy", "mute", "garbage")
"""These end a run at its start deadline."""

SILENT = ("wedged", "falls_mute")
"""These end a run when a process has been silent for too long."""

_EARLY = ("exit3", "exit0", "crash", "fatal_log", "no_program", "killed", "unhealthy", "mute", "stopped")
_LATE = ("killed", "gives_up", "leaves", "wedged", "falls_mute")


@dataclass(frozen=True)
class Item:
    """Something that happens to ``target`` at a moment. ``times``: how often a signal is sent."""

    kind: str
    target: str
    moment: Moment
    times: int = 1

    def __str__(self) -> str:
        more = f"x{self.times}" if self.times > 1 else ""
        return f"{self.kind}{more}({self.target}@{self.moment})" if self.target else f"{self.kind}{more}@{self.moment}"


@dataclass(frozen=True)
class Composition:
    """A drill. ``loads``: seconds that each worker loads. ``early``: the router waits for the workers. ``bench``:
    ``none`` serves until stopped, ``long`` is there to be ended, ``client`` sends completions for ever.
    """

    loads: tuple[float, ...]
    nodes: int
    router: Literal["none", "small", "real"] = "none"
    early: bool = False
    service: bool = False
    spare: bool = False
    bench: Literal["none", "ok", "fail", "long", "client"] = "ok"
    faults: tuple[Item, ...] = ()
    ending: Item | None = None
    grace: float = 1.0

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(f"w{index}" for index in range(len(self.loads)))

    def fault_of(self, target: str) -> str:
        """The kind of the fault that a process has from its start on."""
        return next((item.kind for item in self.faults if item.target == target and item.kind in BUILT_IN), "")

    def __str__(self) -> str:
        parts = [f"{len(self.loads)}w/{self.nodes}n"]
        parts += [f"{self.router} router{' after workers' if self.early else ''}"] if self.router != "none" else []
        parts += ["service"] if self.service else []
        parts += ["spare"] if self.spare else []
        parts += [f"bench {self.bench}"]
        parts += [str(item) for item in (*self.faults, self.ending) if item is not None]
        return ", ".join(parts)


def compose(seed: str, real_router: bool = False, silence: bool = True) -> Composition:
    """The same seed gives the same drill."""
    dice = random.Random(seed)
    count = dice.choice((1, 2, 2, 3, 4))
    routers = ("none", "small", "small", *(("real",) if real_router else ()))
    made = Composition(
        loads=tuple(dice.choice((0.0, 0.0, 0.2, 0.5)) for _ in range(count)),
        nodes=dice.randint(1, min(3, count)),
        router=dice.choice(routers),
        early=dice.random() < 0.5,
        service=dice.random() < 0.3,
        spare=dice.random() < 0.3,
    )
    faults: list[Item] = []
    for _ in range(dice.choice((0, 0, 1, 1, 1, 1, 2, 2))):
        fault = _fault(dice, made, {item.target for item in faults})
        if fault is not None and fault.kind in SILENT and not silence:
            fault = replace(fault, kind="killed")
        faults += [fault] if fault is not None else []
    made = replace(made, faults=tuple(faults))
    ending = _ending(dice, made) if dice.random() < (0.5 if faults else 0.6) else None
    free = [name for name in made.workers if name not in {item.target for item in faults}]
    if ending is not None and ending.kind.startswith("kill") and free and dice.random() < 0.7:
        faults.append(Item(dice.choice(("orphan", "hidden")), dice.choice(free), "start"))
    if ending is not None and ending.kind.startswith("kill"):  # it may come before the run has noticed the file
        faults = [replace(item, kind="orphan") if item.kind == "memory" else item for item in faults]
    if ending is not None and ending.kind == "kill_both":  # with both gone nobody can know whose a hidden child was
        faults = [replace(item, kind="orphan") if item.kind == "hidden" else item for item in faults]
    return _with_bench(dice, replace(made, faults=tuple(faults), ending=ending))


def _fault(dice: random.Random, made: Composition, taken: set[str]) -> Item | None:
    targets = [*made.workers, *made.workers, *(["router"] if made.router != "none" else [])]
    targets += ["store"] if made.service else []
    targets += ["spare"] if made.spare else []
    target = dice.choice(targets)
    if target in taken:
        return None
    if target == "spare":
        return Item("spare_dies", target, dice.choice(("loading", "ready", "traffic")))
    if target == "store":
        return Item("killed", target, dice.choice(("loading", "ready", "traffic")))
    late: Moment = dice.choice(("ready", "traffic"))
    if target == "router":
        kinds = (
            ("exit3", "killed")
            if made.router == "real"
            else ("exit3", "garbage", "killed", "gives_up", "leaves", "wedged")
        )
        kind = dice.choice(kinds)
        return Item(kind, target, "start" if kind in BUILT_IN else late)
    way = dice.random()
    if way < 0.2:
        kind = dice.choice(("stubborn", "orphan", "hidden", "babble", "memory", "memory", "dies_late"))
        return Item(kind, target, "teardown" if kind == "dies_late" else "start")
    if way < 0.5:
        kind = dice.choice(_EARLY)
        return Item(kind, target, "start" if kind in BUILT_IN else "loading")
    return Item(dice.choice(_LATE), target, late)


def _ending(dice: random.Random, made: Composition) -> Item:
    kind = dice.choice(("int", "int", "int", "term", "hup", "cancel", "kill_supervisor", "kill_guardian", "kill_both"))
    moments: list[Moment] = ["loading", "ready", "ready", "traffic", "traffic", "traffic", "teardown", "teardown"]
    if kind in ("int", "term", "hup", "cancel"):
        moments.append("start")
    return Item(kind, "", dice.choice(moments), dice.randint(1, 5) if kind == "int" else 1)


def _with_bench(dice: random.Random, made: Composition) -> Composition:
    """A benchmark that cannot be over before what is to happen has happened; and every run has an end."""
    items = [item for item in (*made.faults, made.ending) if item is not None]
    fatal = [
        item for item in items if item.kind not in HARMLESS and (item is not made.ending or item.moment != "teardown")
    ]
    outside = [item for item in fatal if item.kind not in BUILT_IN]
    needs_traffic = any(item.moment == "traffic" for item in items)
    if outside:
        slow = any(item.kind in SILENT for item in outside)
        kinds = ["long", *([] if slow else ["client"]), *([] if needs_traffic else ["none"])]
        return replace(made, bench=dice.choice(kinds))  # type: ignore[arg-type]
    if fatal:
        return replace(made, bench=dice.choice(("ok", "none", "long")))
    return replace(made, bench=dice.choice(("ok", "ok", "fail")))
