"""Which names hold secrets, and how a value is shown in a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_WORDS = frozenset({"TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL", "CREDENTIALS", "AUTH"})
MASK = "***"


def is_secret(name: str) -> bool:
    """Whether the last ``_`` (or ``-``) part of ``name`` says so: ``HF_TOKEN`` is, ``MAX_TOKENS_PER_RANK`` is not."""
    return re.split(r"[_\-]", name)[-1].upper() in _WORDS


def shown(path: Iterable[str | int], value: Any) -> str:
    """``value`` in words, short and on one line; masked when any part of ``path`` names a secret."""
    if any(isinstance(part, str) and is_secret(part) for part in path):
        return MASK
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 80 else text[:76] + "…" + text[0]
