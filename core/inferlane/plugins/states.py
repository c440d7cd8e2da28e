"""What becomes of each candidate: usable, switched off, in conflict, overridden by a built-in, or stale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from inferlane.plugins.discovery import Candidate
from inferlane.plugins.switches import Switch

State = Literal["ok", "disabled", "conflict", "overridden", "stale"]


class Entry(NamedTuple):
    """A candidate with its state; ``reason`` says why it is not ``ok``."""

    candidate: Candidate
    state: State
    reason: str = ""


def judge(candidates: Iterable[Candidate], switches: Sequence[Switch]) -> tuple[Entry, ...]:
    """The state of every candidate, in their order. At most one candidate of a type is ``ok``."""
    candidates = tuple(candidates)
    rivals: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        rivals[candidate.kind, candidate.type].append(candidate)
    return tuple(_state(candidate, rivals[candidate.kind, candidate.type], switches) for candidate in candidates)


def _state(candidate: Candidate, claimants: Sequence[Candidate], switches: Sequence[Switch]) -> Entry:
    origin = switched_off(candidate, switches)
    if origin:
        return Entry(candidate, "disabled", f"by {origin}")
    builtin = [other for other in claimants if other.builtin]
    if builtin and not candidate.builtin:
        return Entry(candidate, "overridden", f"{candidate.kind} '{candidate.type}' is built in")
    rivals = [other for other in claimants if not switched_off(other, switches) and other.builtin == candidate.builtin]
    strangers = sorted({other.label for other in rivals if other.project != candidate.project})
    if strangers:
        return Entry(candidate, "conflict", f"also claimed by {' and '.join(strangers)}")
    return _among_copies(candidate, rivals)


def _among_copies(candidate: Candidate, copies: Sequence[Candidate]) -> Entry:
    """One project whose metadata is installed more than once: the import path decides between folders, as it does for
    the code; in one folder nothing does, so records that point at different code are refused.
    """
    first = min(copies, key=lambda copy: copy.rank).folder
    near = [copy for copy in copies if copy.folder == first]
    others = ", ".join(sorted(copy.version for copy in copies if copy is not candidate))
    if len(near) > 1 and len({copy.target for copy in near}) > 1 and candidate in near:
        return Entry(
            candidate, "conflict", f"metadata of {candidate.distribution} {others} is in the same folder {first}"
        )
    chosen = max(near, key=lambda copy: (_version_key(copy.version), copy.version))
    if candidate is chosen:
        return Entry(candidate, "ok")
    return Entry(candidate, "stale", f"{chosen.label} in {chosen.folder} is in front of it")


def switched_off(candidate: Candidate, switches: Iterable[Switch]) -> str | None:
    """What switched the candidate off, or ``None``."""
    return next((s.origin for s in switches if s.hits(candidate.type, candidate.distribution)), None)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
