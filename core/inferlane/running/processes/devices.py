"""The accelerator devices of this machine, as opaque words: counted, sliced by position, never read as numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from inferlane.errors import UsageFault

_NONE = ("", "-1")


@dataclass(frozen=True)
class Pool:
    """``words``: what to write for each device. ``masked``: an outer mask or ``--gpus`` chose them, so every process
    needs a mask of its own. ``origin``: where they come from, for messages.
    """

    words: tuple[str, ...]
    masked: bool
    origin: str


def _listed(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    words = tuple(word for word in words if word not in _NONE)
    if len(set(words)) != len(words):
        raise UsageFault(f"{text}: a device is named twice")
    return words


def device_pool(
    asked: str | None, environ: Mapping[str, str], variable: str | None, found: Sequence[str] | None = None
) -> Pool:
    """``asked`` (``--gpus``) within the outer mask in ``variable``, else the mask, else what the machine has.

    Words asked for are looked up in the mask; where the mask holds identifiers, numbers are positions in it. A word
    that is not there is not available, so the pool is smaller than asked. Raises ``UsageFault`` for a repeated word.
    """
    outer = environ.get(variable) if variable else None
    if outer is None and asked is None:
        words = tuple(found) if found is not None else found_devices()
        return Pool(words, masked=False, origin="found on this machine")
    if outer is None:
        return Pool(_listed(asked or ""), masked=True, origin=f"--gpus {asked}")
    inside = _listed(outer)
    if asked is None:
        return Pool(inside, masked=True, origin=f"{variable}={outer}")
    by_position = not all(word.isdigit() for word in inside)
    chosen = [_within(word, inside, by_position) for word in _listed(asked)]
    words = tuple(word for word in chosen if word is not None)
    return Pool(words, masked=True, origin=f"--gpus {asked} within {variable}={outer}")


def _within(word: str, inside: tuple[str, ...], by_position: bool) -> str | None:
    if word in inside:
        return word
    if by_position and word.isdigit() and int(word) < len(inside):
        return inside[int(word)]
    return None


def found_devices(root: Path = Path("/"), sources: Sequence[Mapping[str, Any]] | None = None) -> tuple[str, ...]:
    """Positions of the devices this machine has, by the table in ``devices.json``; the first source with any wins."""
    if sources is None:
        sources = json.loads(resources.files(__package__).joinpath("devices.json").read_bytes())
    for source in sources or ():
        count = sum(1 for path in root.glob(source["pattern"].lstrip("/")) if _counts(path, source.get("property")))
        if count:
            return tuple(str(position) for position in range(count))
    return ()


def _counts(path: Path, wanted: str | None) -> bool:
    """Whether a path stands for a device: by being there, or by a property line with a value above zero."""
    if wanted is None:
        return True
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return False
    values = [line.split()[1] for line in lines if line.split()[:1] == [wanted] and len(line.split()) > 1]
    return any(value.isdigit() and int(value) > 0 for value in values)
