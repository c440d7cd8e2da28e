"""Steps as the supervisor's children: started by ``srun``, told to end through the scheduler."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from inferlane.running.ground import ThisMachine
from inferlane.running.processes.spawn import Child, spawn
from inferlane.slurm.steps import Job, signal_steps, step_numbers
from inferlane.values import PlannedProcess


class StepGround:
    """``environ``: what the scheduler's commands get from us."""

    def __init__(self, job: Job, environ: Mapping[str, str]) -> None:
        self._job = job
        self._environ = dict(environ)
        self._clients = ThisMachine()

    def start(self, process: PlannedProcess, env: Mapping[str, str], log: Path) -> Child:
        """The child is ``srun``; it lives and ends with its step."""
        return spawn(process, self._job.argv(process, env), {**self._environ, **env}, log)

    def ask(self, children: Sequence[Child]) -> None:
        """TERM to the programs themselves: an ``srun`` that gets one kills its step at once."""
        known = step_numbers(self._job.number, self._environ)
        signal_steps([known[child.name] for child in children if child.name in known], signal.SIGTERM, self._environ)
        self._clients.ask([child for child in children if child.name not in known])

    def kill(self, children: Sequence[Child]) -> None:
        """KILL to the steps, then to what waits for them here."""
        known = step_numbers(self._job.number, self._environ)
        signal_steps([known[child.name] for child in children if child.name in known], signal.SIGKILL, self._environ)
        self._clients.kill(children)
