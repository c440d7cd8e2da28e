"""Which real programs this machine has."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.machinery import PathFinder


class Programs:
    """Finds a real program, asking for each one once. A Python module is looked for in our own interpreter first."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], tuple[str, ...] | None] = {}

    def __call__(self, program: tuple[str, ...]) -> tuple[str, ...] | None:
        """How to start ``program`` here; ``None`` if it is not installed."""
        if program not in self._found:
            self._found[program] = _find(program)
        return self._found[program]


def _find(program: tuple[str, ...]) -> tuple[str, ...] | None:
    if len(program) > 2 and program[1] == "-m":
        return _find_module(program)
    return program if program and shutil.which(program[0]) else None


def _find_module(program: tuple[str, ...]) -> tuple[str, ...] | None:
    package = program[2].partition(".")[0]
    if PathFinder.find_spec(package) is not None:
        return (sys.executable, *program[1:])
    python = shutil.which(program[0])
    if python is None:
        return None
    question = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
    answer = subprocess.run([python, "-c", question], capture_output=True, timeout=30, check=False)
    return program if answer.returncode == 0 else None
