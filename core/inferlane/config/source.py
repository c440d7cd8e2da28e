"""Where each path of a document was written, and problems rendered with that position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from inferlane.config.nodes import Mark, Node, find, nearest
from inferlane.config.paths import Path, PathError, split
from inferlane.values import Problem

CLUSTER = "cluster:"
"""Prefix of a problem's path that points into the cluster file."""


class SourceMap(msgspec.Struct, frozen=True):
    """Positions of one document. ``spellings``: our path to the path as the user's file spells it."""

    root: Node
    kind: Literal["recipe", "cluster"] = "recipe"
    spellings: Mapping[str, str] = msgspec.field(default_factory=dict)

    def where(self, path: str) -> str:
        """``file:line:col`` of the key at ``path``, or of its nearest ancestor; ``--set`` for values set there."""
        return str(self.mark(path))

    def mark(self, path: str) -> Mark:
        """As :meth:`where`, to sort by."""
        return nearest(self.root, _parts(path)).key

    def origin(self, path: str) -> str | None:
        """``file:line:col`` of the value at exactly ``path``; ``None`` if the document does not have it."""
        node = find(self.root, _parts(path))
        return str(node.mark) if node is not None else None

    def spelled(self, path: str) -> str:
        """The path as the user wrote it."""
        for ours, theirs in self.spellings.items():
            if path == ours or path.startswith((ours + ".", ours + "[")):
                return theirs + path[len(ours) :]
        return path


def _parts(path: str) -> Path:
    try:
        return split(path.removeprefix(CLUSTER))
    except PathError:
        return ()


def report(problems: Iterable[Problem], *sources: SourceMap) -> list[str]:
    """One line per problem, ``file:line:col: path: message`` in order of position; warnings say so.

    A problem's ``where`` is a recipe path or, with the prefix ``cluster:``, a path in the cluster file. Problems that
    name no place, or a file that is not among ``sources``, come last and have no position.
    """
    lines: list[tuple[bool, Mark, str]] = []
    for problem in problems:
        kind = "cluster" if problem.where.startswith(CLUSTER) else "recipe"
        source = next((s for s in sources if s.kind == kind), None)
        path = problem.where.removeprefix(CLUSTER)
        words = f"warning: {problem.message}" if problem.severity == "warning" else problem.message
        if source is None or not path:
            lines.append((True, Mark(""), f"{problem.where}: {words}" if problem.where else words))
            continue
        mark = source.mark(path)
        lines.append((False, mark, f"{mark}: {source.spelled(path)}: {words}"))
    return [line for _, _, line in dict.fromkeys(sorted(lines))]
