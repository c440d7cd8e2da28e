"""Faults with positions, and the error that carries them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from inferlane.config.nodes import Mark, Node
from inferlane.config.paths import Path, join
from inferlane.errors import Refused
from inferlane.values import Problem


class Fault(NamedTuple):
    """One thing that is wrong in a file, and where."""

    mark: Mark
    path: Path
    message: str

    def __str__(self) -> str:
        path = join(self.path)
        return f"{self.mark}: {path}: {self.message}" if path else f"{self.mark}: {self.message}"


class FileRefused(Refused):
    """A recipe or cluster file is wrong. ``lines``: one per fault, ``file:line:col: path: message``. ``root``: the
    document, where it could be read.
    """

    def __init__(self, faults: Iterable[Fault], prefix: str = "", root: Node | None = None) -> None:
        self.root = root
        self.faults = tuple(sorted(dict.fromkeys(faults), key=lambda fault: (fault.mark, str(fault))))
        super().__init__(Problem(where=prefix + join(f.path), message=f.message) for f in self.faults)
        self.lines = tuple(str(fault) for fault in self.faults)
        self.args = ("\n".join(self.lines),)


def refuse(file: str, message: str, line: int = 0, column: int = 0) -> NoReturn:
    """Raise for one fault of a file as a whole."""
    raise FileRefused([Fault(Mark(file, line, column), (), message)])
