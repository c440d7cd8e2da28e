"""Keys that existing files hold and that have no field here: read another way, inert, or refused by name.

Which is which is data (``known_keys.json``), as some of the names belong to one engine or vendor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any, Literal

import msgspec

from inferlane.config.faults import Fault
from inferlane.config.nodes import Node, find, grown, mapping, moved, plain, put, without
from inferlane.config.paths import Path, join, split
from inferlane.config.secrets import shown

Kind = Literal["recipe", "cluster"]


class Sorted(msgspec.Struct, frozen=True):
    """A document whose keys all have a field. ``inert``: paths that were there and have no effect. ``spellings``: our
    path to the user's.
    """

    root: Node
    inert: tuple[str, ...] = ()
    spellings: Mapping[str, str] = msgspec.field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def load_rules(kind: Kind) -> dict[str, Any]:
    """The rules for one kind of file."""
    text = File(__file__).with_name("known_keys.json").read_text(encoding="utf-8")
    rules: dict[str, Any] = msgspec.json.decode(text)[kind]
    return rules


def known_beside(kind: Kind, root: Node) -> dict[str, list[str]]:
    """Keys known by rule, by the dotted path of their mapping, for suggestions."""
    rules = load_rules(kind)
    known: dict[str, list[str]] = {}
    for pattern in (*rules["spellings"], *rules.get("translations", {}), *rules["inert"], *rules["unsupported"]):
        parent, _, name = pattern.rpartition(".")
        for path in _matches(root, parent.split(".") if parent else []):
            known.setdefault(join(path), []).append(name)
    return known


def sort_keys(root: Node, kind: Kind) -> Sorted:
    """Apply the rules: spellings and translations first, then refusals, then what is inert is taken out."""
    rules = load_rules(kind)
    root, spellings, faults = _respell(root, rules["spellings"])
    root, translated = _translate(root, rules.get("translations", {}))
    faults += translated
    for pattern, rule in rules["unsupported"].items():
        for path in list(_matches(root, pattern.split("."))):
            node = find(root, path)
            if node is not None and not _neutral(node, rule):
                theirs = spellings.get(join(path))
                faults.append(Fault(node.key, split(theirs) if theirs else path, _refusal(node, path, rule)))
            root = without(root, path) if pattern not in rules["inert"] else root
    inert: list[str] = []
    for pattern in rules["inert"]:
        for path in list(_matches(root, pattern.split("."))):
            inert.append(join(path))
            root = without(root, path)
    refused = {join(fault.path) for fault in faults}
    kept = tuple(path for path in inert if path not in refused)
    return Sorted(root, kept, spellings, tuple(faults))


def _matches(root: Node, pattern: list[str]) -> Iterator[Path]:
    """Paths that exist; ``*`` stands for any key."""
    paths: list[Path] = [()]
    for part in pattern:
        nodes = [(path, find(root, path)) for path in paths]
        paths = [
            (*path, name)
            for path, node in nodes
            if node is not None and isinstance(node.value, dict)
            for name in node.value
            if part in ("*", name)
        ]
    yield from paths


def _neutral(node: Node, rule: Mapping[str, Any]) -> bool:
    value = plain(node)
    if any(value == allowed and type(value) is type(allowed) for allowed in rule.get("neutral", ())):
        return True
    conditions = rule.get("neutral_if", {})
    return bool(conditions) and isinstance(value, dict) and all(value.get(k) in v for k, v in conditions.items())


def _refusal(node: Node, path: Path, rule: Mapping[str, Any]) -> str:
    value = "" if isinstance(node.value, dict | list) else f" ({shown(path, node.value)})"
    hint = f"; {rule['say']}" if "say" in rule else "; remove it"
    return f"not supported yet{value}{hint}"


def _respell(root: Node, spellings: Mapping[str, str]) -> tuple[Node, dict[str, str], list[Fault]]:
    used: dict[str, str] = {}
    faults: list[Fault] = []
    for theirs, ours in spellings.items():
        source, target = split(theirs), split(ours)
        node = find(root, source)
        if node is None:
            continue
        other = find(root, target)
        if other is not None:
            message = f"says the same as '{used.get(ours, ours)}' at {other.key}; keep one of them"
            faults.append(Fault(node.key, source, message))
            continue
        root = put(without(root, source), target, moved(node, node.key))
        used[ours] = theirs
    return root, used, faults


def _translate(root: Node, translations: Mapping[str, Any]) -> tuple[Node, list[Fault]]:
    faults: list[Fault] = []
    for name, meanings in translations.items():
        node = find(root, (name,))
        if node is None:
            continue
        root = without(root, (name,))
        if node.value is None:
            continue
        if not isinstance(node.value, str) or node.value not in meanings:
            words = " or ".join(sorted(meanings))
            faults.append(Fault(node.key, (name,), f"must be {words}, not {shown((name,), plain(node))}"))
            continue
        assert isinstance(root.value, dict)
        new = {key: grown(value, node.mark) for key, value in meanings[node.value].items()}
        root = mapping({**new, **root.value}, root.mark, root.key)
    return root, faults
