"""From two references to what differs between them: recipes, saved plans or run folders."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from inferlane.config import here
from inferlane.errors import UsageFault
from inferlane.planning.bind import decode
from inferlane.planning.diff import Difference, compare, is_bound, symbolic
from inferlane.values import Plan

PLAN_FILE = "plan.json"


class Side(msgspec.Struct, frozen=True):
    """One plan of a comparison. ``folder``: of the run that it was written for."""

    name: str
    plan: Plan
    folder: Path | None = None


def side_of(reference: str, planned: Callable[[str], Plan]) -> Side:
    """A run folder, a saved plan (``.json``), or whatever ``planned`` makes of a recipe."""
    path = here() / reference
    if path.is_dir():
        return _saved(reference, path / PLAN_FILE)
    if path.suffix == ".json":
        return _saved(reference, path)
    return Side(reference, planned(reference))


def difference(before: Side, after: Side) -> Difference:
    """Compared as they are; by symbols for addresses and folders where one of them has been bound."""
    one, other = before.plan, after.plan
    if is_bound(one) or is_bound(other):
        one, other = symbolic(one, before.folder, sys.executable), symbolic(other, after.folder, sys.executable)
    return compare(one, other)


def _saved(reference: str, file: Path) -> Side:
    try:
        plan = decode(file.read_bytes())
    except OSError as error:
        hint = "a run folder holds one" if file.name == PLAN_FILE else "save one with: inferlane plan … --format json"
        raise UsageFault(f"{reference}: no plan can be read there ({error.strerror}); {hint}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageFault(f"{reference}: not a plan of this version: {error}; plan it again") from error
    folder = file.parent.resolve()
    return Side(reference, plan, folder if (folder / "run.json").exists() or (folder / "logs").is_dir() else None)
