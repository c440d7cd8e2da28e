"""A plan for a person: a table, JSON, or shell lines. Nothing here runs anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import msgspec

from inferlane.planning.bind import TOKEN, encode
from inferlane.values import Check, FileCheck, Gate, HttpCheck, LogCheck, Plan, PlannedProcess, PluginCheck, Rows


def as_json(plan: Plan) -> str:
    """The whole plan, indented."""
    return msgspec.json.format(encode(plan), indent=2).decode()


def as_commands(plan: Plan) -> str:
    """One shell line per process, in the order they start; masks and removals included."""
    return "\n".join(f"# {process.name} on {_nodes(process)}\n{_shell_line(process)}" for process in plan.processes)


def _shell_line(process: PlannedProcess) -> str:
    env = {**process.env, **process.mask}
    removed = [word for name in process.unset if name not in env for word in ("-u", name)]
    words = [*removed, *(f"{name}={value}" for name, value in env.items()), *process.argv]
    return shlex.join(["env", *words] if removed or env else words)


def as_table(plan: Plan) -> str:
    """Processes, gates and the endpoint."""
    rows = [("process", "type", "node", "devices", "phase", "ports")]
    rows += [(p.name, p.type, _nodes(p), _devices(p), p.phase, " ".join(_ports(p)) or "-") for p in plan.processes]
    lines = [f"{plan.name}: {plan.model}, {len(plan.nodes)} node(s) of {plan.gpus_per_node} GPUs", ""]
    lines += columns(rows)
    lines += ["", "gates"]
    lines += [f"  before {g.before}: {g.name} ({'; '.join(check_text(c) for c in g.checks)})" for g in plan.gates]
    if plan.endpoint:
        lines.append(f"  before traffic: completions through {plan.endpoint} until every worker has served")
    bound = {name: address for name, address in plan.addresses.items() if not TOKEN.fullmatch(address)}
    lines += ["", "nodes", *(f"  {name}  {address}" for name, address in bound.items())] if bound else []
    lines += ["", f"endpoint  {plan.endpoint or 'none'}", f"start deadline  {plan.start_timeout_s} s"]
    return "\n".join(lines)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as aligned lines."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _nodes(process: PlannedProcess) -> str:
    return ",".join(slot.node.name for slot in process.slots)


def _devices(process: PlannedProcess) -> str:
    return ",".join(_ranges(process.slots[0].gpus)) or "-"


def _ranges(numbers: Iterable[int]) -> list[str]:
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in spans]


def _ports(process: PlannedProcess) -> list[str]:
    return [
        f"{name}:{block.first}" + (f"-{block.first + block.width - 1}" if block.width > 1 else "")
        for name, block in process.ports.items()
        if block.held
    ]


def _listed(rows: Rows) -> str:
    kinds = [value for values in rows.where.values() for value in values if isinstance(value, str)]
    return " ".join([str(rows.at_least), *kinds])


def gate_text(gate: Gate) -> str:
    """What a gate waits for, before which phase and how long."""
    limit = f", within {gate.timeout_s:g} s" if gate.timeout_s is not None else ""
    return f"before {gate.before}{limit}: {'; '.join(check_text(check) for check in gate.checks)}"


def check_text(check: Check) -> str:
    """One check in a few words."""
    if isinstance(check, HttpCheck | PluginCheck):
        rows = check.rows if isinstance(check, HttpCheck) else None
        return f"GET {check.url}" + (f" lists {_listed(rows)}" if rows else "")
    if isinstance(check, FileCheck):
        return f"{check.path} exists"
    if isinstance(check, LogCheck):
        return f"log of {check.process} has /{check.pattern}/"
    return f"{check.address} accepts"
