"""``zip_override_<group>``: a block whose lists run side by side, one variant for each position."""

from __future__ import annotations

from collections.abc import Iterator

from inferlane.config.faults import Fault
from inferlane.config.nodes import Node, mapping
from inferlane.config.paths import Path, join

MAX_NODES = 2_000_000
"""Of all variants of a group together."""

_LITERAL = "a list that is a value itself is written in a list: [[…]]"
_SHOWN = 3


def zipped(group: str, node: Node) -> tuple[list[Node], list[Fault]]:
    """The override blocks of ``group``, in order; none if there are faults. Every list outside a list is an axis. An
    item keeps its own position; a list of one item and what is no list hold for every variant.
    """
    axes = list(_axes(node, ()))
    faults = [
        Fault(axis.key, (group, *path), "an empty list gives no variant; write one item per variant, or take it out")
        for path, axis in axes
        if not axis.value
    ]
    lengths: dict[int, list[Path]] = {}
    for path, axis in axes:
        assert isinstance(axis.value, list)
        lengths.setdefault(len(axis.value), []).append(path)
    if not axes:
        message = f"has no list, so there is nothing to zip; write lists, or call it {group.removeprefix('zip_')}"
        faults.append(Fault(node.key, (group,), message))
    longer = {length: paths for length, paths in lengths.items() if length > 1}
    if len(longer) > 1:
        faults.append(Fault(node.key, (group,), _uneven(longer)))
    count = max(lengths, default=0)
    if count * node.size > MAX_NODES:
        message = f"{count} variants of a block of {node.size} values; the file is too large, split it"
        faults.append(Fault(node.key, (group,), message))
    faults += _shared_name(group, node, count)
    return ([] if faults else [_slice(node, index) for index in range(count)]), faults


def _axes(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    if isinstance(node.value, list):
        yield path, node
    elif isinstance(node.value, dict):
        for name, child in node.value.items():
            yield from _axes(child, (*path, name))


def _uneven(longer: dict[int, list[Path]]) -> str:
    each: list[str] = []
    for length, paths in sorted(longer.items()):
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        each.append(f"{length} in {', '.join(join(path) for path in paths[:_SHOWN])}{more}")
    return f"lists of different lengths: {'; '.join(each)}. Make them equal, or of one item for all; {_LITERAL}"


def _shared_name(group: str, node: Node, count: int) -> Iterator[Fault]:
    assert isinstance(node.value, dict)
    name = node.value.get("name")
    if count > 1 and name is not None and isinstance(name.value, str):
        message = f"one name for {count} variants; write a list of {count} names, or leave it out"
        yield Fault(name.mark, (group, "name"), message)


def _slice(node: Node, index: int) -> Node:
    if isinstance(node.value, dict):
        return mapping({name: _slice(child, index) for name, child in node.value.items()}, node.mark, node.key)
    if isinstance(node.value, list):
        return node.value[index if len(node.value) > 1 else 0]
    return node
