"""``--set path=value`` and ``--unset path``."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from inferlane.config.compose import MAX_DEPTH, compose
from inferlane.config.faults import Fault, FileRefused
from inferlane.config.nodes import Mark, Node, find, put, without
from inferlane.config.paths import Path, PathError, split
from inferlane.config.scalars import ScalarError, resolve

_SET = Mark("--set")
_UNSET = Mark("--unset")


def edit(root: Node, sets: Sequence[str], unsets: Sequence[str]) -> tuple[Node, list[Fault]]:
    """The tree after every ``--unset``, then every ``--set``, in order, and what is wrong with those left out."""
    faults: list[Fault] = []
    for text in unsets:
        try:
            root = _unset(root, text)
        except FileRefused as refused:
            faults += refused.faults
    for text in sets:
        try:
            root = _set(root, text)
        except FileRefused as refused:
            faults += refused.faults
    return root, faults


def relevant(unsets: Sequence[str], root: Node, roots: Sequence[Node]) -> tuple[str, ...]:
    """Of ``unsets``, those for ``root`` where all ``roots`` are edited: not what only others of them have."""
    return tuple(text for text in unsets if _has(root, text) or not any(_has(other, text) for other in roots))


def _has(root: Node, text: str) -> bool:
    try:
        return find(root, split(text)) is not None
    except PathError:
        return False


def _set(root: Node, text: str) -> Node:
    name, equals, value = _cut(text)
    if not equals:
        raise _refused(_SET, (), f"'{name}' has no value; write --set {name or 'path'}=value")
    path = _path(_SET, name)
    try:
        return put(root, path, _value(value, path))
    except LookupError as error:
        raise _refused(_SET, path, str(error.args[0])) from error


def _unset(root: Node, text: str) -> Node:
    path = _path(_UNSET, text)
    if find(root, path) is None:
        parent = find(root, path[:-1])
        keys = list(parent.value) if parent is not None and isinstance(parent.value, dict) else []
        close = difflib.get_close_matches(str(path[-1]), [str(key) for key in keys], 1, 0.6)
        hint = f"; did you mean '{close[0]}'?" if close else ", so it cannot be unset"
        raise _refused(_UNSET, path, f"is not set{hint}")
    return without(root, path)


def _cut(text: str) -> tuple[str, str, str]:
    """Split at the first ``=`` outside quotes; a backslash in double quotes takes the next sign as it is."""
    quote, literal = "", False
    for at, sign in enumerate(text):
        if literal:
            literal = False
        elif sign == quote:
            quote = ""
        elif quote:
            literal = quote == '"' and sign == "\\"
        elif sign in "\"'":
            quote = sign
        elif sign == "=":
            return text[:at].strip(), "=", text[at + 1 :]
    return text.strip(), "", ""


def _path(mark: Mark, text: str) -> Path:
    try:
        path = split(text)
    except PathError as error:
        raise _refused(mark, (), f"{text!r}: {error}") from error
    if len(path) > MAX_DEPTH:
        raise _refused(mark, (), f"a path of {len(path)} steps; at most {MAX_DEPTH} are read")
    return path


def _value(text: str, path: Path) -> Node:
    """A quoted text, ``[list]`` or ``{mapping}`` in YAML; anything else is one plain scalar, taken whole."""
    try:
        if text.lstrip()[:1] in ("[", "{", '"', "'"):
            return compose(text, "--set", _SET)
        return Node(resolve(text.strip()), _SET, _SET)
    except FileRefused as refused:
        raise FileRefused(Fault(_SET, path + fault.path, fault.message) for fault in refused.faults) from refused
    except ScalarError as fault:
        raise _refused(_SET, path, f"{fault} (twice for the shell: 'path=\"text\"')") from fault


def _refused(mark: Mark, path: Path, message: str) -> FileRefused:
    return FileRefused([Fault(mark, path, message)])
