"""Where each recipe path was written, and what stood there before an override or ``--set`` replaced it."""

from __future__ import annotations

from collections.abc import Iterator

from inferlane.config import FileRefused, SourceMap, load_recipe
from inferlane.config.nodes import Node, find, plain
from inferlane.config.paths import Path, PathError, split
from inferlane.config.secrets import shown
from inferlane.config.source import CLUSTER
from inferlane.config.variants import split_reference
from inferlane.errors import UsageFault
from inferlane.preparation import Prepared, Request

DEFAULT = "built-in default"


class Provenance:
    """The origins of one prepared recipe. Reads its file again, without edits and as its base, on first need."""

    def __init__(self, prepared: Prepared, request: Request) -> None:
        self._sources = {"": prepared.resolved.source, CLUSTER: prepared.resolved.cluster_source}
        self._request = request
        self._earlier: list[Node] | None = None

    def place(self, path: str) -> str:
        """``file:line:col`` of the value, with that of its alias; ``--set``; or that no file says it."""
        source = self._source(path)
        node = _node(source.root, path)
        if node is None:
            return DEFAULT
        if node.mark.file != node.key.file and node.mark.line:
            return f"{node.key}, alias of {node.mark}"
        return str(node.key)

    def spelled(self, path: str) -> str:
        """The path as the user's file spells it."""
        return self._source(path).spelled(path)

    def replaced(self, path: str) -> list[str]:
        """What the files said at ``path`` before, latest first, each with its place."""
        if path.startswith(CLUSTER):
            return []
        now = _node(self._sources[""].root, path)
        found: dict[str, None] = {}
        for root in self._roots():
            node = _node(root, path)
            if node is not None and now is not None and node.key != now.key:
                found[f"{shown(split(path), plain(node))}, {node.key}"] = None
        return list(found)

    def _source(self, path: str) -> SourceMap:
        return self._sources[CLUSTER if path.startswith(CLUSTER) else ""]

    def _roots(self) -> list[Node]:
        if self._earlier is None:
            self._earlier = list(_earlier(self._request))
        return self._earlier


def _earlier(request: Request) -> Iterator[Node]:
    file, _ = split_reference(request.recipe)
    edited = (request.recipe,) if request.sets or request.unsets else ()
    for reference in (*edited, f"{file}:base"):
        try:
            yield load_recipe(reference).source.root
        except FileRefused as refused:
            if refused.root is not None:
                yield refused.root
        except UsageFault:
            continue


def _node(root: Node, path: str) -> Node | None:
    try:
        parts: Path = split(path.removeprefix(CLUSTER))
    except PathError:
        return None
    return find(root, parts)
