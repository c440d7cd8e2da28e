"""Which lines of a large text can match at all: those that hold a word which every match needs.

Regular expressions run on those lines only, so a log of megabytes a second costs a few searches for plain words.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

LONGEST_LINE = 1 << 16
"""Characters of a line that count."""


class Sieve:
    """For several patterns at once. If one of them needs no word in particular, every line can match."""

    def __init__(self, patterns: Iterable[str]) -> None:
        found = [needed_words(pattern) for pattern in patterns]
        self._all = None in found
        self._words, self._lowered = (
            sorted({word for item in found if item is not None and item.lowered is lowered for word in item.words})
            for lowered in (False, True)
        )

    def lines(self, text: str) -> Iterator[str]:
        """The lines of ``text`` that can match, in order; of a longer line its first 64 Ki characters."""
        if self._all or (self._lowered and not text.isascii()):  # other scripts change their length with their case
            yield from (line[:LONGEST_LINE] for line in text.split("\n"))
            return
        spans = _spans(text, self._words)
        spans |= _spans(text.lower(), self._lowered) if self._lowered else set()
        for start, end in sorted(spans):
            yield text[start : min(end, start + LONGEST_LINE)]


def _spans(text: str, words: Iterable[str]) -> set[tuple[int, int]]:
    """Start and end of each line that holds a word."""
    spans: set[tuple[int, int]] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            spans.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(word, end)
    return spans


class Needed(NamedTuple):
    """``lowered``: the words are in lower case, for patterns that ignore case."""

    words: frozenset[str]
    lowered: bool


@lru_cache(maxsize=4096)
def needed_words(pattern: str) -> Needed | None:
    """Words of which each match of ``pattern`` holds at least one; ``None`` if there is no such set."""
    try:
        tree = importlib.import_module("re._parser").parse(pattern)
        lowered = bool(int(tree.state.flags) & re.IGNORECASE)
        words = _of(tree)
    except (ImportError, AttributeError, TypeError, ValueError):  # another Python: slower, and as right
        return None
    if words is None or not lowered:
        return None if words is None else Needed(words, lowered=False)
    return Needed(frozenset(map(str.lower, words)), lowered=True) if all(map(str.isascii, words)) else None


def _of(sequence: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    found: list[frozenset[str]] = []
    run = ""
    for operation, value in sequence:
        name = str(operation)
        if name == "LITERAL" and chr(value) != "\n":
            run += chr(value)
            continue
        if name == "AT":  # of no width
            continue
        found, run = [*found, *([frozenset({run})] if run else [])], ""
        inner = _inner(name, value)
        found += [inner] if inner else []
    found += [frozenset({run})] if run else []
    return max(found, key=lambda words: (min(map(len, words)), -len(words)), default=None)


def _inner(name: str, value: Any) -> frozenset[str] | None:
    if name == "SUBPATTERN":
        _, added, _, inner = value
        return None if added & re.IGNORECASE else _of(inner)
    if name == "ATOMIC_GROUP":
        return _of(value)
    if name.endswith("_REPEAT") and value[0] >= 1:
        return _of(value[2])
    if name == "BRANCH":
        branches = [_of(branch) for branch in value[1]]
        return None if None in branches else frozenset().union(*filter(None, branches))
    return None
