"""Steps that do something on every node of the job at once, and what the nodes answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from inferlane.errors import RunFault

_STEP_S = 60.0


class Nodes:
    """``step``: the beginning of an ``srun`` line, one task on each of ``names``. ``python``: the interpreter there."""

    def __init__(self, step: Sequence[str], names: Sequence[str], python: str, environ: Mapping[str, str]) -> None:
        self._step = tuple(step)
        self.names = tuple(names)
        self._python = python
        self._environ = dict(environ)

    def ask(self, *words: str) -> dict[str, dict[str, Any]]:
        """What each node answers to ``inferlane.slurm.node WORDS``.

        Raises ``RunFault`` that names every node without an answer, with the scheduler's own words.
        """
        argv = [*self._step, self._python, "-P", "-m", "inferlane.slurm.node", *words]
        try:
            done = subprocess.run(argv, env=self._environ, capture_output=True, timeout=_STEP_S, check=False)
        except subprocess.TimeoutExpired as late:
            said = (late.stderr or b"").decode(errors="replace").strip()
            raise RunFault(f"a step on every node did not end within {_STEP_S:g} s: {said or ' '.join(argv)}") from late
        except OSError as error:
            raise RunFault(f"cannot start {argv[0]!r}: {error.strerror}") from error
        answers = read_answers(done.stdout.decode(errors="replace"))
        missing = [name for name in self.names if name not in answers]
        if missing:
            said = done.stderr.decode(errors="replace").strip()[-2000:]
            raise RunFault(
                f"no answer of {', '.join(missing)} to a step on every node (exit code {done.returncode}): {said}; "
                f"is {self._python} there (`python` of the cluster file), and can it import inferlane?"
            )
        return answers


def read_answers(text: str) -> dict[str, dict[str, Any]]:
    """Node to its answer; lines of others (module systems, banners) are passed over."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and "node" in said:
            found[str(said["node"])] = said
    return found
