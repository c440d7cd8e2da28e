"""The end of a log, fit to be shown: bounded in lines and bytes, any encoding, no control characters."""

from __future__ import annotations

import re
from pathlib import Path

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_LINE = 400


def without_colour(text: str) -> str:
    """``text`` without terminal escape sequences."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def printable(text: str) -> str:
    """One line that cannot move a terminal's cursor."""
    return _CONTROL.sub("�", without_colour(text)).replace("\t", "    ")


def tail(path: Path, lines: int = 20, limit: int = 16384) -> tuple[str, ...]:
    """The last ``lines`` non-empty lines within the last ``limit`` bytes; a character cut by the limit is dropped."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - limit))
            raw = log.read(limit)
    except OSError:
        return ()
    if size > limit:
        whole = raw.split(b"\n", 1)
        raw = whole[1] if len(whole) == 2 and whole[1] else raw.lstrip(bytes(range(0x80, 0xC0)))
    text = _without_cut_end(raw).decode(errors="replace").replace("\r\n", "\n")
    kept = [shown for line in text.split("\n") if (shown := printable(line.rpartition("\r")[2] or line).rstrip())]
    return tuple(line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…" for line in kept[-lines:])


def _without_cut_end(raw: bytes) -> bytes:
    """Drop the first bytes of a character whose rest is not written yet."""
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte < 0x80:
            return raw
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return raw[:-back] if back < wanted else raw
    return raw


def last_line(path: Path) -> str:
    """The last line of a log, or nothing."""
    found = tail(path, lines=1, limit=4096)
    return found[-1] if found else ""
