"""A document as a tree that remembers where each key and value was written. Trees share branches and never change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from inferlane.config.paths import Path

Scalar = str | int | float | bool | None


class Mark(NamedTuple):
    """A position, counted from 1. Line 0 means the whole of ``file`` (which then is not a file, but say ``--set``)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Node:
    """``mark``: where the value is; ``key``: where its key is (the value, for list items and documents). ``size``: how
    many nodes it expands to.
    """

    value: Scalar | dict[str, Node] | list[Node]
    mark: Mark
    key: Mark
    size: int = 1


def mapping(children: dict[str, Node], mark: Mark, key: Mark) -> Node:
    """A node that holds ``children``."""
    return Node(children, mark, key, 1 + sum(child.size for child in children.values()))


def plain(node: Node) -> Any:
    """Fresh dicts, lists and scalars."""
    if isinstance(node.value, dict):
        return {name: plain(child) for name, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return node.value


def grown(value: Any, mark: Mark) -> Node:
    """The opposite of :func:`plain`: everything stands at ``mark``."""
    if isinstance(value, dict):
        return mapping({name: grown(child, mark) for name, child in value.items()}, mark, mark)
    if isinstance(value, list | tuple):
        items = [grown(child, mark) for child in value]
        return Node(items, mark, mark, 1 + sum(item.size for item in items))
    return Node(value, mark, mark)


def child(node: Node, part: str | int) -> Node | None:
    """The node one step down, if there is one."""
    if isinstance(part, str):
        return node.value.get(part) if isinstance(node.value, dict) else None
    return node.value[part] if isinstance(node.value, list) and part < len(node.value) else None


def find(root: Node, path: Path) -> Node | None:
    """The node at ``path``."""
    node: Node | None = root
    for part in path:
        node = child(node, part) if node is not None else None
    return node


def nearest(root: Node, path: Path) -> Node:
    """The node at ``path``, else its nearest ancestor that exists."""
    node = root
    for part in path:
        below = child(node, part)
        if below is None:
            break
        node = below
    return node


def put(node: Node, path: Path, new: Node) -> Node:
    """A tree with ``new`` at ``path``; missing mappings are made. Raises ``LookupError`` in a user's words."""
    if not path:
        return new
    part, rest = path[0], path[1:]
    value = {} if node.value is None and isinstance(part, str) else node.value
    if isinstance(part, str) and isinstance(value, dict):
        below = value.get(part) or Node(None, new.mark, new.key)
        return mapping({**value, part: put(below, rest, new)}, node.mark, node.key)
    if isinstance(part, int) and isinstance(value, list) and part <= len(value):
        below = value[part] if part < len(value) else Node(None, new.mark, new.key)
        items = [*value[:part], put(below, rest, new), *value[part + 1 :]]
        return Node(items, node.mark, node.key, 1 + sum(item.size for item in items))
    if isinstance(part, int) and isinstance(value, list):
        raise LookupError(f"there is no item [{part}]; the list has {len(value)}")
    kind = "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else "a single value"
    raise LookupError(f"{kind} has no {'item' if isinstance(part, int) else 'key'} {part!r}")


def without(node: Node, path: Path) -> Node:
    """A tree that lacks the node at ``path``; the same tree if there is none."""
    below = child(node, path[0])
    if below is None:
        return node
    if isinstance(node.value, dict):
        rest = {name: item for name, item in node.value.items() if name != path[0]}
        if len(path) > 1:
            rest = {name: without(below, path[1:]) if name == path[0] else c for name, c in node.value.items()}
        return mapping(rest, node.mark, node.key)
    assert isinstance(node.value, list)
    assert isinstance(path[0], int)
    middle = [without(below, path[1:])] if len(path) > 1 else []
    items = [*node.value[: path[0]], *middle, *node.value[path[0] + 1 :]]
    return Node(items, node.mark, node.key, 1 + sum(item.size for item in items))


def merged(low: Node, high: Node) -> Node:
    """``high`` over ``low``: mappings merge, lists and scalars are replaced, null deletes."""
    if not isinstance(low.value, dict) or not isinstance(high.value, dict):
        return high
    children = dict(low.value)
    for name, item in high.value.items():
        if item.value is None:
            children.pop(name, None)
        else:
            below = children.get(name)
            fresh = isinstance(item.value, dict) and (below is None or not isinstance(below.value, dict))
            children[name] = merged(mapping({}, item.mark, item.key) if fresh or below is None else below, item)
    return mapping(children, low.mark, low.key)


def moved(node: Node, key: Mark) -> Node:
    """The same value under another key."""
    return replace(node, key=key)


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Every node with its path, parents first."""
    yield path, node
    if isinstance(node.value, dict):
        for name, item in node.value.items():
            yield from walk(item, (*path, name))
    elif isinstance(node.value, list):
        for index, item in enumerate(node.value):
            yield from walk(item, (*path, index))
