"""A document back to YAML text that reads as the same values, here and elsewhere."""

from __future__ import annotations

from typing import Any

import yaml

from inferlane.config.nodes import Node, plain, put, walk
from inferlane.config.scalars import ScalarError, resolve
from inferlane.config.secrets import MASK, is_secret


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    try:
        same = resolve(value) == value
    except ScalarError:
        same = False
    style = "|" if "\n" in value else None if same else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def masked(root: Node) -> Node:
    """The document without literal secrets, still a document that loads; references stay."""
    for path, node in list(walk(root)):
        if isinstance(node.value, str) and path and is_secret(str(path[-1])) and not node.value.startswith("${"):
            root = put(root, path, Node(MASK, node.mark, node.key))
    return root


def dump(root: Node) -> str:
    """The text of a document: one variant, edits applied, aliases and merges written out."""
    return text_of(plain(root))


def text_of(document: Any) -> str:
    """The text of plain data."""
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))
