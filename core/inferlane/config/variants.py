"""One file, several recipes: ``base`` with ``override_<name>`` and ``zip_override_<group>`` blocks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from inferlane.config.faults import Fault
from inferlane.config.nodes import Node, mapping, merged
from inferlane.config.zips import MAX_NODES, zipped

BASE = "base"
OVERRIDE = "override_"
ZIP = "zip_override_"
_BESIDE = ("schema", BASE, "lock")
_OF_A_RECIPE = {"name", "model", "roles"}
_ODD = re.compile(r"[\s*?/:\[\]]")
_MEANT = re.compile(r"(?i)(zip)?[-_ ]?([a-z]+?)s?(?:[-_ ](.*))?")
_SELECTOR = re.compile(r"(?:base|(?:zip_)?override_[^/]*|[^/]*[*?][^/]*)")
_SWEEP = f"not supported yet; write its points as lists of a {ZIP}<name> block beside base, or use --set"


MAX_VARIANTS = 1000


class Variant(NamedTuple):
    """``name``: what selects it, such as ``zip_override_g[2]``; empty for the recipe of a file without variants.
    ``over``: the block that changes ``base``, with a name of its own.
    """

    name: str
    base: Node
    over: Node | None = None
    schema: Node | None = None

    @property
    def root(self) -> Node:
        """The recipe, put together."""
        merge = self.base if self.over is None else merged(self.base, self.over)
        assert isinstance(merge.value, dict)
        if self.schema is None or "schema" in merge.value:
            return merge
        return mapping({"schema": self.schema, **merge.value}, merge.mark, merge.key)


class Document(NamedTuple):
    """``base``: only where there are variants. ``faults``: of the blocks as such; ``variants`` holds all that can be
    put together nonetheless, in the file's order.
    """

    file: str
    base: Variant | None
    variants: tuple[Variant, ...]
    faults: tuple[Fault, ...] = ()


def split_reference(reference: str) -> tuple[Path, str | None]:
    """``recipe.yaml:override_x`` to path and selector. A file whose very name holds the colon wins."""
    path, colon, selector = reference.rpartition(":")
    if not colon or not path or Path(reference).exists():
        return Path(reference), None
    if _SELECTOR.fullmatch(selector) or Path(path).is_file():
        return Path(path), selector
    return Path(reference), None


def document(root: Node, file: str) -> Document:
    """The recipes that a tree holds."""
    keys = root.value
    assert isinstance(keys, dict)
    if not _has_variants(keys):
        return Document(file, None, (Variant("", root),))
    if BASE not in keys:
        return Document(file, None, (), tuple(_no_base(root, keys)))
    faults = [fault for name, node in keys.items() for fault in _block_faults(name, node)]
    base = keys[BASE]
    if not isinstance(base.value, dict):
        return Document(file, None, (), tuple(faults))
    schema = keys.get("schema")
    variants: list[Variant] = []
    for name, node in keys.items():
        if not isinstance(node.value, dict):
            continue
        if name.startswith(OVERRIDE):
            variants.append(Variant(name, base, _named(base, node, name.removeprefix(OVERRIDE)), schema))
        elif name.startswith(ZIP):
            blocks, wrong = zipped(name, node)
            faults += wrong
            suffix = name.removeprefix(ZIP)
            variants += (
                Variant(f"{name}[{index}]", base, _named(base, block, f"{suffix}_{index}"), schema)
                for index, block in enumerate(blocks)
            )
        total = sum(base.size + variant.over.size for variant in variants if variant.over is not None)
        if len(variants) > MAX_VARIANTS or total > MAX_NODES:
            return Document(file, None, (), (Fault(node.key, (name,), _too_many(len(variants), total)),))
    return Document(file, Variant(BASE, base, None, schema), tuple(variants), tuple(faults))


def schema_holder(root: Node) -> Node:
    """The block that says which schema the recipes of a tree are of: the top level, else the base, else an override."""
    keys = root.value
    assert isinstance(keys, dict)
    inner = [node for name, node in keys.items() if name.startswith((BASE, OVERRIDE, ZIP))]
    for block in (root, *inner):
        if isinstance(block.value, dict) and "schema" in block.value:
            return block
    old = (block for block in (root, *inner) if isinstance(block.value, dict) and "backend" in block.value)
    return next(old, root)


def _has_variants(keys: dict[str, Node]) -> bool:
    if BASE in keys or any(name.startswith((OVERRIDE, ZIP)) for name in keys):
        return True
    if _OF_A_RECIPE & set(keys):
        return False
    return any(_meant(name) is not None for name, node in keys.items() if isinstance(node.value, dict))


def _named(base: Node, override: Node, suffix: str) -> Node:
    """The override, with a name of its own: ``<base name>_<suffix>`` unless it states one, or is itself misnamed."""
    assert isinstance(base.value, dict)
    assert isinstance(override.value, dict)
    name = base.value.get("name")
    if "name" in override.value or name is None or not isinstance(name.value, str) or _ODD.search(suffix):
        return override
    derived = Node(f"{name.value}_{suffix}", override.key, override.key)
    return mapping({**override.value, "name": derived}, override.mark, override.key)


# ---- faults of the blocks -------------------------------------------------------------------------------------------


def _block_faults(name: str, node: Node) -> list[Fault]:
    if name in ("schema", "lock"):
        return []
    if name == BASE or name.startswith((OVERRIDE, ZIP)):
        return [Fault(node.key, (name,), message) for message in _of_block(name, node)]
    return [Fault(node.key, (name,), _unknown(name))]


def _too_many(count: int, total: int) -> str:
    if count > MAX_VARIANTS:
        return f"makes {count} variants of this file; at most {MAX_VARIANTS} are read"
    return f"{count} variants come to {total} values; the file is too large, split it"


def _of_block(name: str, node: Node) -> list[str]:
    found: list[str] = []
    if not isinstance(node.value, dict):
        empty = node.value is None and name != BASE
        found.append("must be a mapping" + ("; write {} where nothing changes" if empty else ""))
    if name in (OVERRIDE, ZIP):
        found.append(f"needs a name of its own, such as {name}large")
    elif sign := _ODD.search(name):
        found.append(f"a name of a variant cannot hold {sign[0]!r}, which selects; use letters, digits, '_', '-', '.'")
    return found


def _unknown(name: str) -> str:
    if name == "sweep":
        return _SWEEP
    meant = _meant(name)
    if meant is None:
        close = difflib.get_close_matches(name, _BESIDE, 1, 0.6)
        meant = close[0] if close else None
    if meant is not None:
        return f"unknown key; did you mean '{meant}'?"
    return "unknown key beside 'base'; move it into 'base', or into an 'override_<name>' block"


def _meant(name: str) -> str | None:
    """The variant key that ``name`` misspells, if it does."""
    if difflib.get_close_matches(name.lower(), [BASE], 1, 0.74):
        return BASE
    match = _MEANT.fullmatch(name)
    if match is None or not difflib.get_close_matches(match[2].lower(), ["override"], 1, 0.7):
        return None
    return f"{ZIP if match[1] else OVERRIDE}{match[3] or '<name>'}"


def _no_base(root: Node, keys: dict[str, Node]) -> Iterator[Fault]:
    names = [name for name in keys if not name.startswith((OVERRIDE, ZIP))]
    close = difflib.get_close_matches(BASE, names, 1, 0.6)
    hint = f"did you mean it by '{close[0]}'?" if close else "move the keys that they share into it"
    yield Fault(root.mark, (), f"variants need a '{BASE}' block; {hint}")
    for name in names:
        if name not in close and _meant(name) is not None:
            yield Fault(keys[name].key, (name,), _unknown(name))
