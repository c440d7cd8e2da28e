"""Before anything starts: ports that are free, programs and paths that exist, tokens that are bound."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from inferlane.errors import RunFault
from inferlane.planning.bind import tokens
from inferlane.rehearsal.programs import has_module
from inferlane.running.leftovers.addresses import Listener, holders
from inferlane.running.readiness.judge import compiled
from inferlane.values import HttpCheck, LogCheck, Need, Plan, PlannedProcess


def check_public_port(bound: Plan, found: tuple[Listener, ...]) -> None:
    """The endpoint's own port cannot move. Raises ``RunFault`` that names port, purpose and who holds it."""
    if bound.endpoint is None:
        return
    parts = urlsplit(bound.endpoint)
    held = holders(parts.hostname or "", found)
    if parts.port in held:
        raise RunFault(
            f"port {parts.port}, the public port of the endpoint {bound.endpoint}, is held by a program that listens "
            f"on {held[parts.port]}:{parts.port}; end that program or set another port (frontend.port)"
        )


def taken_ports(
    plan: Plan, addresses: Mapping[str, str], found: tuple[Listener, ...]
) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Node to all numbers in use there, and a line for each block of the plan that needs one of them."""
    in_use = {node: tuple(sorted(holders(address, found))) for node, address in addresses.items()}
    clashes: list[str] = []
    for process in plan.processes:
        if not process.slots:
            continue
        node = process.slots[0].node.name
        for name, block in process.ports.items():
            taken = [port for port in in_use.get(node, ()) if block.first <= port < block.first + block.width]
            if block.held and taken:
                clashes.append(f"{process.name} wants port {taken[0]} ({name}) on {addresses[node]}, which is taken")
    return in_use, clashes


def check_bound(bound: Plan) -> None:
    """Raises ``RunFault`` that names the tokens nobody has a value for."""
    left = sorted(tokens(bound))
    if left:
        raise RunFault(f"the plan waits for {', '.join(left[:8])}, which a local run does not know")


def check_patterns(bound: Plan) -> None:
    """Regular expressions of gates and logs. Raises ``RunFault`` that names the one that is none, and whose it is."""
    wanted = [
        (process.name, pattern) for process in bound.processes for pattern in (*process.fatal_log, *process.ready_log)
    ]
    for gate in bound.gates:
        for check in (*gate.checks, *gate.fail_on):
            if isinstance(check, LogCheck):
                wanted += [(gate.name, pattern) for pattern in (check.pattern, check.gone) if pattern]
            elif isinstance(check, HttpCheck) and check.text:
                wanted.append((gate.name, check.text))
    for owner, pattern in wanted:
        try:
            compiled(pattern)
        except re.error as error:
            raise RunFault(f"{owner}: {pattern!r} is not a regular expression: {error}") from error


def check_needs(bound: Plan, environments: Mapping[str, Mapping[str, str]]) -> None:
    """Programs, paths and memory that processes need. Raises one ``RunFault`` with a line per fault."""
    faults: list[str] = []
    modules: dict[tuple[str, ...], bool] = {}
    for process in bound.processes:
        environment = environments[process.name]
        wanted = (Need(kind="program", value=process.program[0]), *process.needs)
        found = [fault for need in wanted if (fault := _fault(process, need, environment.get("PATH", "")))]
        faults += found or _module_fault(process, environment, modules)
    if faults:
        raise RunFault("\n".join(dict.fromkeys(faults)))


def _module_fault(
    process: PlannedProcess, environment: Mapping[str, str], known: dict[tuple[str, ...], bool]
) -> list[str]:
    """``python -m MODULE`` with an interpreter of the machine's: whether it has the module, asked once for each."""
    if process.program[1:2] != ("-m",) or process.program[0] == sys.executable:
        return []
    python, package = process.program[0], process.program[2].partition(".")[0]
    key = (python, package, environment.get("PATH", ""), environment.get("PYTHONPATH", ""))
    if key not in known:
        program = shutil.which(python, path=environment.get("PATH", "")) or python
        known[key] = has_module(program, package, environment)
    if known[key]:
        return []
    how = process.twin.install if process.twin is not None and process.twin.install else "install it"
    line = " ".join(process.program)
    return [f"{process.name}: {python} has no module '{package}' for '{line}'; {how}; or try `inferlane rehearse`"]


def _fault(process: PlannedProcess, need: Need, path: str) -> str | None:
    if need.kind == "program" and shutil.which(need.value, path=path) is None:
        hint = "install it, or try `inferlane rehearse`"
        return f"{process.name}: the program {need.value!r} of {process.type} is not on PATH; {hint}"
    if need.kind == "path" and not Path(need.value).exists():
        return f"{process.name}: {need.value} does not exist on this machine"
    if need.kind == "memory_bytes" and (have := host_memory()) and int(need.value) > have:
        return f"{process.name} needs {int(need.value) >> 30} GiB of host memory, this machine has {have >> 30} GiB"
    return None


def host_memory(table: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes of memory this machine has."""
    try:
        for line in table.read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
