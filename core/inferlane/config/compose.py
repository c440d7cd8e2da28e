"""YAML text to a tree of nodes, with one reading for every scalar and a bound on everything a file can make us do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from inferlane.config.faults import Fault, FileRefused, refuse
from inferlane.config.nodes import Mark, Node, mapping
from inferlane.config.scalars import ScalarError, resolve
from inferlane.config.secrets import is_secret

MAX_DEPTH = 64
MAX_NODES = 100_000
"""After aliases are expanded."""

_HINTS = {
    "found character that cannot start any token": "; indent with spaces, and put a value that starts with %, @ or ` "
    "in quotes",
    "mapping values are not allowed in this context": "; put a value that holds ': ' in quotes, and check the "
    "indentation",
    "could not find expected ':'": "; write a space after the colon of a key, and check the line above",
    "did not find expected ',' or '}'": "; close the bracket that is open, and put what holds a # in quotes",
    "did not find expected ',' or ']'": "; close the bracket that is open, and put what holds a # in quotes",
}
"""What people did, by what the parser says of it."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StopError(Exception):
    """Reading on makes no sense; the faults say why."""


def compose(text: str, file: str, whole: Mark | None = None, loader: Any = None) -> Node:
    """The tree of ``text``; ``file`` names it in positions, ``whole`` replaces every position. Raises
    :class:`FileRefused` with every fault found.
    """
    builder = _Builder(file, whole)
    try:
        events = yaml.parse(text, Loader=loader or _LOADER)
        root = builder.document(iter(events))
    except _StopError:
        root = None
    except (yaml.YAMLError, UnicodeError) as error:
        builder.syntax(error)
        root = None
    if builder.faults or root is None:
        raise FileRefused(builder.faults)
    return root


class _Builder:
    def __init__(self, file: str, whole: Mark | None) -> None:
        self.file = file
        self.whole = whole
        self.faults: list[Fault] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._path: list[str | int] = []
        self._events: Iterator[Any] = iter(())
        self._nodes = 0

    def document(self, events: Iterator[Any]) -> Node | None:
        self._events = events
        root: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                self._fault(event, "a second document starts here (---); keep one document per file")
                raise _StopError
            if isinstance(event, yaml.NodeEvent):
                root = self._node(event, None)
        if root is None:
            refuse(self.file, "the file is empty; a mapping of keys is expected")
        return root

    def syntax(self, error: Exception) -> None:
        mark = getattr(error, "problem_mark", None)
        words = " ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
        reason = getattr(error, "reason", None) or words or "it cannot be parsed"
        reason += _HINTS.get(str(getattr(error, "problem", None)), "")
        where = self._mark_of(mark) if mark is not None else self.whole or Mark(self.file)
        self.faults.append(Fault(where, (), f"not valid YAML: {' '.join(str(reason).split())}"))

    # ---- nodes --------------------------------------------------------------------------------------------------

    def _mark_of(self, mark: Any) -> Mark:
        return self.whole or Mark(self.file, mark.line + 1, mark.column + 1)

    def _fault(self, event: Any, message: str) -> None:
        self.faults.append(Fault(self._mark_of(event.start_mark), tuple(self._path), message))

    def _count(self, event: Any, size: int) -> None:
        self._nodes += size
        if self._nodes > MAX_NODES:
            self._fault(event, f"the file expands to more than {MAX_NODES} values, through aliases or sheer length")
            raise _StopError

    def _node(self, event: Any, key: Mark | None) -> Node:
        mark = self._mark_of(event.start_mark)
        key = key or mark
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, mark, key)
        self._count(event, 1)
        if event.tag is not None and event.tag != "!":
            self._fault(event, "tags are not read here; remove the '!…' and write the value plainly, text in quotes")
        if isinstance(event, yaml.ScalarEvent):
            node = Node(self._scalar(event), mark, key)
        else:
            if len(self._path) >= MAX_DEPTH:
                del self._path[1:]  # the place is enough
                self._fault(event, f"nested more than {MAX_DEPTH} levels deep")
                raise _StopError
            node = self._mapping(mark, key) if isinstance(event, yaml.MappingStartEvent) else self._list(mark, key)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, _height(node))
        return node

    def _alias(self, event: Any, mark: Mark, key: Mark) -> Node:
        target, height = self._anchors.get(event.anchor, (None, 0))
        if target is None:
            self._fault(event, f"alias '*{event.anchor}' has no complete anchor '&{event.anchor}' before it")
            return Node(None, mark, key)
        self._count(event, target.size)
        if len(self._path) + height > MAX_DEPTH:
            self._fault(event, f"nested more than {MAX_DEPTH} levels deep, through aliases")
            raise _StopError
        return Node(target.value, target.mark, key, target.size)

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None or not event.implicit[0]:
            return event.value
        try:
            return resolve(event.value)
        except ScalarError as fault:
            hidden = any(isinstance(part, str) and is_secret(part) for part in self._path)
            self._fault(event, str(fault) if hidden or len(event.value) > 80 else f"{event.value}: {fault}")
            return event.value

    def _list(self, mark: Mark, key: Mark) -> Node:
        items: list[Node] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            self._path.append(len(items))
            items.append(self._node(event, None))
            self._path.pop()
        return Node(items, mark, key, 1 + sum(item.size for item in items))

    # ---- mappings -----------------------------------------------------------------------------------------------

    def _mapping(self, mark: Mark, key: Mark) -> Node:
        inherited: dict[str, Node] = {}
        own: dict[str, Node] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if _is_merge(event):
                inherited = _first_wins(inherited, self._merge_sources())
                continue
            here = self._mark_of(event.start_mark)
            name = self._key(event)
            if name is not None and name in own:
                self._fault(event, f"the key '{name}' stands twice in this mapping; first at {own[name].key}")
            self._path.append(name if name is not None else "?")
            value = self._node(self._next(), here)
            self._path.pop()
            if name is not None:
                own.setdefault(name, value)
        # An own key takes its place in the order where the merge had put it, as YAML loaders do.
        return mapping({**inherited, **own}, mark, key)

    def _next(self) -> Any:
        return next(self._events)

    def _key(self, event: Any) -> str | None:
        if not isinstance(event, yaml.ScalarEvent):
            self._fault(event, "a key must be a plain word, not a list, mapping or alias")
            if not isinstance(event, yaml.AliasEvent):
                self._node(event, None)
            return None
        value = self._scalar(event)
        if isinstance(value, str):
            return value
        self._fault(event, f'a key must be text; write "{event.value}" in quotes')
        return None

    def _merge_sources(self) -> dict[str, Node]:
        event = self._next()
        node = self._node(event, None)
        sources = node.value if isinstance(node.value, list) else [node]
        found: dict[str, Node] = {}
        for source in sources:
            if isinstance(source, Node) and isinstance(source.value, dict):
                found = _first_wins(found, source.value)
            elif not self.faults:
                self._fault(event, "'<<' takes a mapping, or a list of mappings, by alias")
        return found


def _height(node: Node) -> int:
    """How many containers deep."""
    if not isinstance(node.value, dict | list):
        return 0
    items = node.value.values() if isinstance(node.value, dict) else node.value
    return 1 + max((_height(item) for item in items), default=0)


def _first_wins(one: dict[str, Node], other: dict[str, Node]) -> dict[str, Node]:
    return one | {name: node for name, node in other.items() if name not in one}


def _is_merge(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and bool(event.implicit[0]) and event.tag is None
