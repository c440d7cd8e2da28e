"""The orders of every twin, from the bound plan."""

from __future__ import annotations

import msgspec

from inferlane.config import Recipe
from inferlane.planning.flag_check import FlagCheck
from inferlane.rehearsal.options import RehearsalOptions
from inferlane.twins.orders import VARIABLE, Orders
from inferlane.values import Plan, PlannedProcess, Twin


def orders(bound: Plan, options: RehearsalOptions, recipe: Recipe) -> dict[str, bytes]:
    """Process name to the JSON file that its twin reads. ``bound`` holds real addresses."""
    flags = FlagCheck(recipe)
    twins = [process for process in bound.processes if VARIABLE in process.env]
    return {process.name: msgspec.json.encode(_orders(process, bound, options, flags)) for process in twins}


def _orders(process: PlannedProcess, bound: Plan, options: RehearsalOptions, flags: FlagCheck) -> Orders:
    table = flags.table(process.flags)
    return Orders(
        process=process.name,
        kind=process.kind,
        type=process.type,
        host=bound.addresses.get(process.slots[0].node.name, "127.0.0.1"),
        role=process.role,
        worker=process.worker,
        index=process.index,
        count=process.count,
        ranks=process.ranks,
        ports=process.ports,
        mask=process.mask,
        absent=tuple(name for name in process.unset if name not in process.mask),
        load_s=options.load_s if process.kind == "worker" else 0.0,
        tokens_per_s=options.tokens_per_s,
        fault=options.faults.get(process.name, ""),
        flags=process.flags,
        strict_flags=table is not None and flags.matches(table),
        options=(process.twin or Twin()).options,
    )
