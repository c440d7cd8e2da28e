"""Which real programs this machine has."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder

from inferlane.errors import RunFault

_ANSWER_S = 60.0


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
    return program if has_module(python, package) else None


def has_module(python: str, package: str, env: Mapping[str, str] | None = None) -> bool:
    """Whether another interpreter finds ``package``, without importing it. ``RunFault`` if it does not answer."""
    question = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
    try:
        asked = subprocess.run([python, "-c", question], env=env, capture_output=True, timeout=_ANSWER_S, check=False)
    except subprocess.TimeoutExpired:
        raise RunFault(f"{python} did not say within {_ANSWER_S:.0f} s whether it has the module '{package}'") from None
    return asked.returncode == 0
