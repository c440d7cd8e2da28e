"""Dotted paths: ``roles.prefill.args."a.b"[0]``. A key with a dot, bracket, quote, ``=`` or outer space is quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable

Path = tuple[str | int, ...]
"""Keys and list positions, outermost first."""

_BARE = re.compile(r"""(?!\s)[^.\[\]"'=]+(?<!\s)""")
_STEP = re.compile(r"""\[(\d+)\]|"((?:[^"\\]|\\.)*)"|'([^']*)'|([^.\[\]"']+)""")


class PathError(ValueError):
    """A dotted path that cannot be read."""


def join(parts: Iterable[str | int]) -> str:
    """The text of a path."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        word = part if _BARE.fullmatch(part) else '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f".{word}" if text else word
    return text


def split(text: str) -> Path:
    """The parts of a path; raises :class:`PathError`."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        dot = text[at] == "." and bool(parts)
        at += dot
        match = _STEP.match(text, at)
        if match is None or (match[1] is None) != (dot or not parts):
            raise PathError(f"cannot read the path at '{text[at:] or text}'; write it like roles.agg.args.name")
        index, double, single, bare = match.groups()
        if index is not None:
            parts.append(int(index))
        else:
            plain = single if single is not None else bare
            parts.append(re.sub(r"\\(.)", r"\1", double) if double is not None else plain)
        at = match.end()
    if not parts:
        raise PathError("the path is empty; write it like roles.decode.args.name")
    return tuple(parts)
