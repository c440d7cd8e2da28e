"""The same plan with other programs: each engine's is replaced by its twin, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from inferlane.errors import PluginFault, UsageFault
from inferlane.load.spec import REHEARSAL
from inferlane.rehearsal.options import RehearsalOptions
from inferlane.twins.faults import parse_fault
from inferlane.twins.orders import VARIABLE
from inferlane.values import Plan, PlannedProcess, Twin, Value

Finder = Callable[[tuple[str, ...]], "tuple[str, ...] | None"]


class Rehearsal(Value, frozen=True, kw_only=True):
    """``plan``: ready to be bound. ``twins``, ``real``: names of processes that are twins, and that are not."""

    plan: Plan
    twins: tuple[str, ...] = ()
    real: tuple[str, ...] = ()


def rehearse(plan: Plan, options: RehearsalOptions, find: Finder) -> Rehearsal:
    """Swap programs; a process with neither a twin nor an installed program raises :class:`PluginFault`, a fault word
    that no twin can have :class:`UsageFault`.
    """
    _check_faults(plan, options)
    swapped = [_swap(process, options, find) for process in plan.processes]
    twins = tuple(process.name for process in swapped if VARIABLE in process.env)
    real = tuple(process.name for process in swapped if VARIABLE not in process.env)
    return Rehearsal(plan=msgspec.structs.replace(plan, processes=tuple(swapped)), twins=twins, real=real)


def _check_faults(plan: Plan, options: RehearsalOptions) -> None:
    names = [process.name for process in plan.processes if process.twin is not None and process.twin.module]
    unknown = sorted(set(options.faults) - set(names))
    if unknown:
        raise UsageFault(f"--fault: no twin is called {', '.join(unknown)}; there are {', '.join(names)}")
    for name, text in options.faults.items():
        if not text:
            raise UsageFault(f"--fault {name}: no fault is named, for example {name}=crash@5")
        try:
            parse_fault(text)
        except ValueError as fault:
            raise UsageFault(f"--fault {name}: {fault}") from fault


def _swap(process: PlannedProcess, options: RehearsalOptions, find: Finder) -> PlannedProcess:
    env = dict(process.env)
    if process.kind == "benchmark":
        env[REHEARSAL] = "1"
        if process.twin is None or options.run_benchmark:
            return msgspec.structs.replace(process, env=env)
    twin = process.twin or Twin()
    program = _program(process, twin, find)
    if program == twin_program(twin):
        env[VARIABLE] = f"{{run.dir}}/twins/{process.name}.json"
    return msgspec.structs.replace(process, program=program, env=env, needs=())


def twin_program(twin: Twin) -> tuple[str, ...]:
    """How a twin is started."""
    return ("{run.python}", "-m", twin.module)


def _program(process: PlannedProcess, twin: Twin, find: Finder) -> tuple[str, ...]:
    if process.program[:1] == ("{run.python}",) and not twin.module:
        return process.program
    if twin.prefer_real or not twin.module:
        real = find(process.program)
        if real is not None:
            return real
    if twin.module:
        return twin_program(twin)
    how = f"; install it: {twin.install}" if twin.install else "; its plugin names no twin"
    raise PluginFault(f"{process.name}: '{' '.join(process.program)}' is not installed here{how}")
