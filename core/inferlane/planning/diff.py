"""What differs between two plans: process by process, and by what a person would name."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from inferlane.planning.bind import TOKEN, decode, encode
from inferlane.planning.explain import alike, compact
from inferlane.planning.show import gate_text
from inferlane.planning.traces import words_by_flag
from inferlane.values import Gate, Plan, PlannedProcess

_PROCESS_BLOCKS = frozenset({"name", "args", "env", "unset", "slot_env", "ports", "slots", "files"})
_RUN_BLOCKS = frozenset({"processes", "gates", "nodes", "warnings", "addresses", "upstreams"})
_ADDRESS = re.compile(r"\{(n\d+)\.(?:ip|host|bind)\}")
_RUN_ID = re.compile(r".+-\d{8}T\d{6}Z-[0-9a-f]{4}")
_BOUND = re.compile(r"[\w.:]*[.:][\w.:]*")
_FOLDER = re.compile(r"\{run\.(files|logs|results)\}")
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}

Kind = Literal["added", "removed", "changed"]


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing: an argument, a variable, a port. ``before`` and ``after``: its values as text, ``None`` = not there.
    A variable's value is ``removed`` where the plan takes the name away.
    """

    block: str
    name: str
    change: Kind
    before: str | None = None
    after: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """``run``: what belongs to no process. ``changed``: process to its changes; only those that have any."""

    equal: bool
    run: tuple[Change, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]


def compare(before: Plan, after: Plan) -> Difference:
    """How ``after`` differs from ``before``. Warnings do not count: they change nothing that runs."""
    old = {process.name: process for process in before.processes}
    new = {process.name: process for process in after.processes}
    both = ((name, tuple(_process(old[name], new[name]))) for name in new if name in old)
    changed = {name: changes for name, changes in both if changes}
    added, removed = tuple(n for n in new if n not in old), tuple(n for n in old if n not in new)
    run = tuple(_run(before, after))
    return Difference(not (changed or added or removed or run), run, added, removed, changed)


def is_bound(plan: Plan) -> bool:
    """Whether it holds addresses, not tokens."""
    return any(not TOKEN.fullmatch(address) for address in plan.addresses.values())


def symbolic(plan: Plan, folder: Path | None = None, python: str = "") -> Plan:
    """The plan with one symbol for each node's address, its run folder and the interpreter ``python``, so that a plan
    that has run can be compared with another, or with one that waits for its addresses.
    """
    text = encode(plan).decode()
    bound = {address: name for name, address in plan.addresses.items() if _BOUND.fullmatch(address)}
    if bound:
        some = "|".join(re.escape(address) for address in sorted(bound, key=len, reverse=True))
        pattern = re.compile(rf"(\[?)(?<![\w.:])({some})(?![\w.]|:[0-9a-f]*:)(\]?)")
        text = pattern.sub(lambda match: f"{{{bound[match[2]]}.address}}", text)
    text = _ADDRESS.sub(r"{\1.address}", text)
    text = _FOLDER.sub(r"{run.dir}/\1", text)
    if python:
        text = text.replace(f'"{python}"', '"{run.python}"')
    if folder is not None:
        text = text.replace(str(folder), "{run.dir}")
        if _RUN_ID.fullmatch(folder.name):  # that of a copy may be any word, which stands for other things too
            text = text.replace(folder.name, "{run.id}")
    return decode(text.encode())


def _run(before: Plan, after: Plan) -> Iterator[Change]:
    old, new = _rest(before, _RUN_BLOCKS), _rest(after, _RUN_BLOCKS)
    yield from _changes("run", {**old, "nodes": str(len(before.nodes))}, {**new, "nodes": str(len(after.nodes))})
    yield from _gates(before.gates, after.gates)
    yield from _changes("upstreams", _upstreams(before), _upstreams(after))


def _process(before: PlannedProcess, after: PlannedProcess) -> Iterator[Change]:
    if before == after:
        return
    yield from _changes("process", _own(before), _own(after))
    yield from _files(before, after)
    old, new = _arguments(before.args), _arguments(after.args)
    differ = list(_changes("args", old, new))
    yield from differ
    if not differ and before.args != after.args:
        yield Change("args", "order", "changed", " ".join(before.args), " ".join(after.args))
    yield from _changes("env", _variables(before), _variables(after))
    yield from _changes("mask", _masks(before), _masks(after))
    yield from _changes("ports", _ports(before), _ports(after))


def _changes(block: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield Change(block, name, "added" if old is None else "removed" if new is None else "changed", old, new)


def _rest(value: msgspec.Struct, known: frozenset[str]) -> dict[str, str]:
    """The fields that are compared as they are; those with parts, part by part."""
    found: dict[str, str] = {}
    for name in value.__struct_fields__:
        item = msgspec.to_builtins(getattr(value, name))
        if name in known or item in (None, (), [], {}):
            continue
        if isinstance(item, dict):
            found |= {f"{name}.{key}": _text(part) for key, part in item.items()}
        else:
            found[name] = _text(item)
    return found


def _own(process: PlannedProcess) -> dict[str, str]:
    slots = " ".join(f"{slot.node.name}:{','.join(map(str, slot.gpus))}".rstrip(":") for slot in process.slots)
    return {**_rest(process, _PROCESS_BLOCKS), "placement": slots}


def _files(before: PlannedProcess, after: PlannedProcess) -> Iterator[Change]:
    """By name; of a file that both have, the lines that differ."""
    old, new = ({file.name: file.text for file in process.files} for process in (before, after))
    for change in _changes("file", old, new):
        if change.change != "changed":
            yield change
            continue
        lines = list(difflib.ndiff((change.before or "").splitlines(), (change.after or "").splitlines()))
        first, second = (" ".join(line[2:].strip() for line in lines if line.startswith(sign)) for sign in ("- ", "+ "))
        yield msgspec.structs.replace(change, before=first, after=second) if first != second else change


def _arguments(args: Sequence[str]) -> dict[str, str]:
    """Flag to its values; a flag that comes several times has all of them, in order."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for flag, value in words_by_flag(args):
        found[flag or "words"].append(value)
    return {flag: ", ".join(values) for flag, values in found.items()}


def _variables(process: PlannedProcess) -> dict[str, str]:
    return {**dict.fromkeys(process.unset, "removed"), **process.env}


def _masks(process: PlannedProcess) -> dict[str, str]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for mask in process.slot_env:
        for name, value in mask.items():
            found[name].append(value)
    return {name: " ".join(dict.fromkeys(values)) for name, values in found.items()}


def _ports(process: PlannedProcess) -> dict[str, str]:
    return {
        name: f"{block.first}" + (f"-{block.first + block.width - 1}" if block.width > 1 else "")
        for name, block in process.ports.items()
    }


def _gates(before: Sequence[Gate], after: Sequence[Gate]) -> Iterator[Change]:
    """By name. A line does not show all of a condition, so what it cannot tell apart is shown as data."""
    old, new = _by_name(before), _by_name(after)
    for name in dict.fromkeys((*old, *new)):
        pair = (old.get(name, []), new.get(name, []))
        first, second = (" and ".join(map(gate_text, gates)) if gates else None for gates in pair)
        if pair[0] != pair[1] and first == second:
            first, second = (msgspec.json.encode(gates).decode() for gates in pair)
        yield from _changes(
            "gates", {name: first} if first is not None else {}, {name: second} if second is not None else {}
        )


def _by_name(gates: Sequence[Gate]) -> Mapping[str, list[Gate]]:
    found: defaultdict[str, list[Gate]] = defaultdict(list)
    for gate in gates:
        found[gate.name].append(gate)
    return found


def _upstreams(plan: Plan) -> dict[str, str]:
    return {upstream.process: _text(upstream) for upstream in plan.upstreams}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def as_json(difference: Difference) -> str:
    """The difference as data, indented."""
    return msgspec.json.format(msgspec.json.encode(difference), indent=2).decode()


def as_text(difference: Difference, names: tuple[str, str]) -> str:
    """Lines for a person; processes with the same changes are told once."""
    if difference.equal:
        return "no difference"
    lines = [f"- {names[0]}", f"+ {names[1]}"]
    if difference.run:
        lines += ["", "run", *_lines(difference.run)]
    for word, some in (("added", difference.added), ("removed", difference.removed)):
        lines += ["", f"{_SIGNS[word]} {word}: {compact(some)}"] if some else []
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, changes in difference.changed.items():
        groups[tuple(alike(line) or "" for line in _lines(changes))].append(name)
    for told, members in groups.items():
        own = difference.changed[members[0]]
        lines += ["", compact(members), *(_lines(own) if len(members) == 1 else told)]
    return "\n".join(lines)


def _lines(changes: Sequence[Change]) -> list[str]:
    """One line for each; those that differ by the index of a node or worker only are told once."""
    told: dict[str, list[str]] = {}
    for change in changes:
        values = [_short(value) for value in (change.before, change.after) if value is not None]
        line = f"  {_SIGNS[change.change]} {change.block} {change.name}: {' -> '.join(values)}".rstrip(": ")
        told.setdefault(alike(line) or "", []).append(line)
    return [found[0] if len(found) == 1 else f"{line}  (x{len(found)})" for line, found in told.items()]


def _short(value: str) -> str:
    words = value.replace("\n", "\\n")
    return words if len(words) <= 200 else f"{words[:200]}…"
