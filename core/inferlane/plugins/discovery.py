"""Who claims which type: read from installed metadata, importing nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, EntryPoints, distributions
from pathlib import Path
from typing import NamedTuple

from inferlane.plugins.kinds import BUILTIN, KINDS, Kind
from inferlane.plugins.switches import normalise

_GROUPS: dict[str, Kind] = {facts.group: kind for kind, facts in KINDS.items()}


class Candidate(NamedTuple):
    """One entry point: ``type`` of ``kind`` is at ``target``, says version ``version`` of ``distribution``.

    ``requires``: the distribution's own requirement on the core as written (``inferlane<0.2``), or ``""``.
    ``folder``: where the metadata is. ``rank``: position in the search order of imports, 0 first.
    """

    kind: Kind
    type: str
    distribution: str
    version: str
    target: str
    requires: str = ""
    folder: str = ""
    rank: int = 0

    @property
    def builtin(self) -> bool:
        """Whether the core itself ships it."""
        return self.project == BUILTIN

    @property
    def project(self) -> str:
        """The normalised distribution name."""
        return normalise(self.distribution)

    @property
    def label(self) -> str:
        """How messages name it: distribution and version."""
        return f"{self.distribution} {self.version}"

    @property
    def entry_point(self) -> str:
        """The entry point as a packager wrote it."""
        return f"{KINDS[self.kind].group}: {self.type} = {self.target}"


class Scan(NamedTuple):
    """One look at the installed metadata. ``unreadable``: one line per record that could not be read."""

    candidates: tuple[Candidate, ...]
    unreadable: tuple[str, ...] = ()


def discover(path: Iterable[str] | None = None) -> Scan:
    """Look once at every installed distribution (of ``path``, else of ``sys.path``). Nothing is imported.

    A record that is seen twice (a folder twice on the path, or a copy with equal name, version and target) counts once.
    The result is sorted, so that no meaning depends on the order of folders.
    """
    found: dict[tuple[str, ...], Candidate] = {}
    unreadable: list[str] = []
    installed = distributions() if path is None else distributions(path=list(path))
    for rank, distribution in enumerate(installed):
        try:
            for item in _candidates(distribution, rank):
                found.setdefault((item.kind, item.type, item.project, item.version, item.target), item)
        except (OSError, ValueError, AttributeError, TypeError) as fault:
            unreadable.append(f"{_folder(distribution)}: unreadable metadata: {type(fault).__name__}: {fault}")
    order = list(KINDS)
    ordered = sorted(found.values(), key=lambda c: (order.index(c.kind), c.type, c.project, c.version, c.target))
    return Scan(tuple(ordered), tuple(sorted(set(unreadable))))


def _candidates(distribution: Distribution, rank: int) -> Iterator[Candidate]:
    text = distribution.read_text("entry_points.txt")
    if not text or "inferlane." not in text:  # most distributions: not worth parsing
        return
    points: EntryPoints = distribution.entry_points
    mine = [point for point in points if point.group in _GROUPS]
    if not mine:
        return
    metadata = distribution.metadata
    name, version = metadata["Name"] or "unnamed", metadata["Version"] or "unknown"
    requires = _requirement(distribution.requires or ())
    for point in mine:
        kind = _GROUPS[point.group]
        yield Candidate(kind, point.name, name, version, point.value, requires, _folder(distribution), rank)


def _requirement(requirements: Iterable[str]) -> str:
    """The requirement on the core, without its environment marker; ``""`` when there is none or it names no version."""
    for requirement in requirements:
        text = requirement.partition(";")[0].strip()
        match = re.match(r"[A-Za-z0-9._-]+", text)
        if match and normalise(match.group()) == BUILTIN and match.group() != text:
            return text
    return ""


def _folder(distribution: Distribution) -> str:
    return str(Path(str(distribution.locate_file(""))).resolve())
