"""``key: null`` in an override takes a key of the base out; one that no recipe has is a slip of the pen."""

from __future__ import annotations

from collections.abc import Iterator

from inferlane.config.faults import Fault
from inferlane.config.keys import known_beside
from inferlane.config.nodes import Node, find, walk
from inferlane.config.paths import join
from inferlane.config.recipe import Recipe
from inferlane.config.translate import known_keys, unknown_key
from inferlane.config.variants import Variant


def unknown_deletions(variant: Variant) -> Iterator[Fault]:
    """Keys that an override deletes, that its base does not have, and that cannot be there either."""
    extra: dict[str, list[str]] | None = None
    for path, node in walk(variant.over) if variant.over is not None else ():
        if node.value is not None or not isinstance(path[-1], str) or _inside_a_list(path) or _has(variant.base, path):
            continue
        known = known_keys(Recipe, path[:-1])
        extra = known_beside("recipe", variant.root) if extra is None else extra
        if known and path[-1] not in (*known, *extra.get(join(path[:-1]), ())):
            yield Fault(node.key, path, unknown_key(path, Recipe, extra))


def _inside_a_list(path: tuple[str | int, ...]) -> bool:
    return any(isinstance(part, int) for part in path)


def _has(base: Node, path: tuple[str | int, ...]) -> bool:
    return find(base, path) is not None
