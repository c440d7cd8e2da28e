"""Stand-ins for the scheduler's commands: each call is logged with its environment and answers what it was told to."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

COMMANDS = ("sbatch", "squeue", "sacct", "scontrol", "scancel", "srun")

_STUB = r"""#!/bin/sh
me=$(basename "$0"); base=$(dirname "$(dirname "$0")")
{ printf '%s' "$me"; for a in "$@"; do printf ' <%s>' "$a"; done; printf '\n'; } >> "$base/calls.log"
env > "$base/env.$me"
first=$(ls "$base/$me" | sort -n | head -n 1)
[ -n "$first" ] || exit 0
answer=$base/$me/$first
if [ "$(ls "$base/$me" | wc -l)" -gt 1 ]; then mv "$answer" "$base/said.$$"; answer=$base/said.$$; fi
. "$answer"
"""


class SchedulerStub:
    """``env``: PATH with the stand-ins first. Each answer is shell text; the last one of a command stays."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._count = 0
        (base / "bin").mkdir(parents=True)
        for name in COMMANDS:
            (base / name).mkdir()
            program = base / "bin" / name
            program.write_text(_STUB)
            program.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": f"{self._base / 'bin'}:{os.environ['PATH']}", "HOME": str(self._base)}

    def say(self, command: str, *answers: str) -> None:
        """Add answers, in order."""
        for answer in answers:
            self._count += 1
            (self._base / command / str(self._count)).write_text(answer + "\n")

    def calls(self, command: str = "") -> list[str]:
        """What was called so far, with arguments in angle brackets."""
        log = self._base / "calls.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if not command or line.split(" ")[0] == command]

    def environment(self, command: str) -> Mapping[str, str]:
        """Of the last call of a command."""
        text = (self._base / f"env.{command}").read_text()
        return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
