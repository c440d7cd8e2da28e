"""Compressed node lists (``rack[0-1]_blade[08-10]``), by the scheduler's own expansion where it can be asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from inferlane.errors import RunFault
from inferlane.slurm.calls import call

_ASK_S = 20.0
_ITEM = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_GROUP = re.compile(r"\[([^\[\]]*)\]")


def expand(text: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Every node, in the order of the list, which ranks follow. ``environ``: a clean one."""
    try:
        answer = call(("scontrol", "show", "hostnames", text), environ, _ASK_S)
    except RunFault:  # not on PATH, as inside of a container
        return parse(text)
    names = tuple(answer.out.split())
    return names if answer.ok and names else parse(text)


def parse(text: str) -> tuple[str, ...]:
    """The same without the scheduler. Raises ``RunFault`` for what is no list."""
    items = _ITEM.findall(text)
    if not items or ",".join(items) != text:
        raise RunFault(f"{text!r} is no list of nodes")
    return tuple(name for item in items for name in _names(item))


def _names(item: str) -> Iterator[str]:
    group = _GROUP.search(item)
    if group is None:
        yield item
        return
    for word in _numbers(group[1]):
        for rest in _names(item[group.end() :]):
            yield f"{item[: group.start()]}{word}{rest}"


def _numbers(text: str) -> Iterator[str]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise RunFault(f"[{text}] is no range of numbers in a list of nodes")
        for number in range(int(first), int(last if dash else first) + 1):
            yield f"{number:0{len(first)}d}"
