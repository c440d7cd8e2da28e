"""``${NAME}`` in a cluster file, keys included; ``$$`` is a dollar sign."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from inferlane.config.faults import Fault
from inferlane.config.fields import REFERENCE
from inferlane.config.nodes import Node, mapping
from inferlane.config.paths import Path
from inferlane.config.secrets import MASK, is_secret

_TOKEN = re.compile(r"\$\$|" + REFERENCE.pattern)


class Unset(NamedTuple):
    """A variable that the cluster file refers to and that is not set."""

    path: Path
    name: str


class Expanded(NamedTuple):
    """``unset``: what could not be replaced (its ``${NAME}`` stays). ``references``: names left in place on purpose.
    ``secrets``: variables that were filled in, with values that no message may hold.
    """

    root: Node
    unset: tuple[Unset, ...]
    references: tuple[str, ...]
    secrets: Mapping[str, str] = MappingProxyType({})

    def masked(self, fault: Fault) -> Fault:
        """The fault without any secret that was filled in."""
        for secret in self.secrets.values():
            path = tuple(part.replace(secret, MASK) if isinstance(part, str) else part for part in fault.path)
            fault = Fault(fault.mark, path, fault.message.replace(secret, MASK))
        return fault


def expand(root: Node, environ: Mapping[str, str]) -> Expanded:
    """The tree with every reference replaced.

    A whole value of ``environment`` whose variable holds a secret stays a reference, so that the secret never enters a
    plan; the launcher resolves it.
    """
    work = _Expansion(environ)
    return Expanded(work.node(root, ()), tuple(work.unset), tuple(sorted(work.references)), work.secrets)


class _Expansion:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.unset: list[Unset] = []
        self.references: set[str] = set()
        self.secrets: dict[str, str] = {}

    def node(self, node: Node, path: Path) -> Node:
        if isinstance(node.value, dict):
            children: dict[str, Node] = {}
            for name, child in node.value.items():
                new = self._text(name, (*path, name))
                children[new] = self.node(child, (*path, new))
            return mapping(children, node.mark, node.key)
        if isinstance(node.value, list):
            items = [self.node(child, (*path, index)) for index, child in enumerate(node.value)]
            return Node(items, node.mark, node.key, node.size)
        if isinstance(node.value, str) and not self._stays(node.value, path):
            return Node(self._text(node.value, path), node.mark, node.key)
        return node

    def _stays(self, text: str, path: Path) -> bool:
        match = REFERENCE.fullmatch(text)
        if not match or path[:1] != ("environment",) or not (is_secret(match[1]) or is_secret(str(path[-1]))):
            return False
        self.references.add(match[1])
        if match[1] not in self._environ:
            self.unset.append(Unset(path, match[1]))
        return True

    def _text(self, text: str, path: Path) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name is None:
                return "$"
            if name not in self._environ:
                self.unset.append(Unset(path, name))
                return match[0]
            if is_secret(name) and self._environ[name]:
                self.secrets[name] = self._environ[name]
            return self._environ[name]

        return _TOKEN.sub(value, text) if "$" in text else text
