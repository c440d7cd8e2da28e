"""Reading a recipe or cluster file from disk."""

from __future__ import annotations

from pathlib import Path

from inferlane.config.compose import compose
from inferlane.config.faults import Fault, FileRefused, refuse
from inferlane.config.nodes import Node
from inferlane.errors import UsageFault

MAX_BYTES = 8 * 1024 * 1024


def here() -> Path:
    """The current folder. Raises :class:`UsageFault` if it has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageFault("the current folder does not exist any more; go to another one") from error


def read(path: Path, shown: str) -> Node:
    """The tree of the file at ``path``, a mapping; ``shown`` names it in messages. Raises :class:`FileRefused`."""
    root = compose(_text(_bytes(path, shown), shown), shown)
    if not isinstance(root.value, dict):
        raise FileRefused([Fault(root.mark, (), "the top level must be a mapping of keys (name: value lines)")])
    return root


def _bytes(path: Path, shown: str) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        refuse(shown, f"no such file{_nearby(path)}")
    except IsADirectoryError:
        refuse(shown, "this is a directory; name a file in it")
    except PermissionError:
        refuse(shown, "cannot be read: permission denied")
    except (OSError, ValueError) as error:
        refuse(shown, f"cannot be read: {getattr(error, 'strerror', None) or error}")
    if len(data) > MAX_BYTES:
        refuse(shown, f"larger than {MAX_BYTES // 1024 // 1024} MiB; this is not a recipe or cluster file")
    return data


def _nearby(path: Path) -> str:
    """What was probably meant, for a message."""
    from difflib import get_close_matches

    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {folder}"
    try:
        near = get_close_matches(path.name, [item.name for item in folder.iterdir()], 1, 0.75)
    except OSError:
        return ""
    return f"; did you mean '{near[0]}'?" if near else ""


def _text(data: bytes, shown: str) -> str:
    if not data.strip():
        refuse(shown, "the file is empty; a mapping of keys is expected")
    nul = data.find(b"\0")
    if nul >= 0:
        refuse(shown, "not a text file: it holds NUL bytes", data.count(b"\n", 0, nul) + 1, 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        refuse(shown, "not UTF-8 text; save the file as UTF-8", line, column)
