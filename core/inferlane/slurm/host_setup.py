"""Commands on the bare nodes of a job: before anything else, and always afterwards.

One step with a task on each node; the commands of a node run one after another in one shell, as arguments that it
evaluates, so no text of a recipe becomes part of ours.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from inferlane.config.blocks import HostSetup
from inferlane.errors import RunFault
from inferlane.values import Plan

_NAME = "host-setup"
_MARK = "inferlane-host-setup"
_SAID = re.compile(rf"^{_MARK} (\S+) (?:(done)|command (\d+) ended with (\d+))$", re.MULTILINE)
_TAIL = 2000
_POLL_S = 0.1
_END_S = 5.0

_SHELL = f"""_inferlane_n=0 _inferlane_node=${{SLURMD_NODENAME:-$(hostname)}}
_inferlane_said() {{ echo "{_MARK} $_inferlane_node command $_inferlane_n ended with $1"; }}
_inferlane_end() {{
  if [ "$1" -ne 0 ] || [ "$_inferlane_n" -ne "$2" ]; then _inferlane_said "$1"; return; fi
  echo "{_MARK} $_inferlane_node done"
}}
trap '_inferlane_end $? $#' EXIT
for _inferlane_command in "$@"; do
  _inferlane_n=$((_inferlane_n + 1))
  eval "$_inferlane_command" </dev/null || __FAILED__
done
"""
_STOPS, _GOES_ON = "exit $?", "_inferlane_said $?"


class HostCommands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is frozen of ``host_setup``. ``nodes``: symbols of the plan. ``timeout_s``: for all commands of a node."""

    commands: tuple[str, ...] = ()
    teardown: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    ignore_failure: bool = False
    timeout_s: float = 300.0


class Ran(NamedTuple):
    """How a step ended: its exit code, ``None`` if it was ended because of the time or a stop; and what it wrote."""

    code: int | None
    text: str


Stopped = Callable[[], bool]

Run = Callable[[Sequence[str], float, Stopped], Ran]
"""Runs an argument list for so many seconds at most, and not on after a stop."""


def host_commands(block: HostSetup | None, plan: Plan) -> HostCommands:
    """Of a recipe's block, filled by the cluster file's where it has none; nothing for an absent or empty one."""
    if block is None or not (block.commands or block.teardown):
        return HostCommands()
    with_workers = {slot.node.name for process in plan.processes if process.kind == "worker" for slot in process.slots}
    return HostCommands(
        commands=block.commands,
        teardown=block.teardown,
        nodes=tuple(node.name for node in plan.nodes if block.nodes == "all" or node.name in with_workers),
        ignore_failure=block.ignore_failure,
        timeout_s=float(block.timeout_seconds),
    )


def step(begin: Sequence[str], commands: Sequence[str], go_on: bool) -> tuple[str, ...]:
    """The whole ``srun`` line. ``begin``: up to its program, one task on each node. ``go_on``: past a failure."""
    return (*begin, "bash", "-c", _SHELL.replace("__FAILED__", _GOES_ON if go_on else _STOPS), _NAME, *commands)


class HostSteps:
    """The steps of one job. ``begin``: of an ``srun`` line with one task on each of ``hosts``. ``stopped``: whether the
    run was told to end, which is no fault of a command.
    """

    def __init__(
        self,
        wanted: HostCommands,
        hosts: Sequence[str],
        begin: Sequence[str],
        run: Run,
        stopped: Stopped = lambda: False,
    ) -> None:
        self._wanted = wanted
        self._hosts = tuple(hosts)
        self._begin = tuple(begin)
        self._run = run
        self._stopped = stopped

    def setup(self) -> list[str]:
        """Run the commands; a line for each failure that is to be ignored. Raises ``RunFault`` for the others."""
        if not self._wanted.commands:
            return []
        faults, tail = self._faults(self._wanted.commands, self._wanted.ignore_failure, self._stopped)
        if not faults or self._stopped():
            return []
        if self._wanted.ignore_failure:
            return [f"host_setup: {fault} (ignored, as ignore_failure says)" for fault in faults]
        raise RunFault("\n".join([f"host_setup: {fault}" for fault in faults] + ([tail] if tail else [])))

    def teardown(self) -> list[str]:
        """Run the commands for after the run, all of them; a line for each failure, which changes no verdict."""
        if not self._wanted.teardown:
            return []
        return [
            f"host_setup.teardown: {fault}" for fault in self._faults(self._wanted.teardown, True, lambda: False)[0]
        ]

    def _faults(self, commands: Sequence[str], go_on: bool, stopped: Stopped) -> tuple[list[str], str]:
        try:
            ran = self._run(step(self._begin, commands, go_on), self._wanted.timeout_s, stopped)
        except OSError as error:
            return [f"cannot start {self._begin[0]}: {error.strerror}"], ""
        faults = [
            f"{node}: command {number} ended with {code}: {_short(commands[int(number) - 1])}"
            for node, _, number, code in _SAID.findall(ran.text)
            if number and 0 < int(number) <= len(commands)
        ]
        said = {match[1]: bool(match[2]) for match in _SAID.finditer(ran.text)}  # the last word of each
        late = ran.code is None and go_on
        silent = [node for node in self._hosts if node not in said or (late and not said[node])]
        faults += [f"{node}: {self._why(ran)}" for node in silent]
        return faults, _SAID.sub("", ran.text).strip()[-_TAIL:]

    def _why(self, ran: Ran) -> str:
        if ran.code is None:
            return f"not done within {self._wanted.timeout_s:g} s (timeout_seconds)"
        return f"the step ended with {ran.code} and the node did not say why"


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 120 else f"{line[:117]}..."


class StepRunner:
    """Runs a step with its output in a file."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        self._environ = dict(environ)
        self._log = log

    def __call__(self, argv: Sequence[str], seconds: float, stopped: Stopped) -> Ran:
        """Run it. Raises ``OSError`` if it cannot be started."""
        deadline = time.monotonic() + seconds
        with self._log.open("ab") as out:
            start = out.tell()
            process = subprocess.Popen(
                argv, env=self._environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
            try:
                while (code := process.poll()) is None and time.monotonic() < deadline and not stopped():
                    time.sleep(_POLL_S)
            finally:
                _end(process)
        with self._log.open("rb") as written:
            written.seek(start)
            return Ran(code, written.read().decode(errors="replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """TERM, on which ``srun`` kills its step; KILL if it does not heed it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
