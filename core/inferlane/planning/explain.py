"""Where everything in a plan comes from: told once per role and block, where processes agree."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from inferlane.errors import UsageFault
from inferlane.planning.arguments import flag_name
from inferlane.planning.bind import TOKEN
from inferlane.values import Plan

BLOCKS = {"run": "", "process": "", "args": "args", "env": "env", "mask": "mask", "port": "ports", "gate": "gates"}
"""Kinds of subjects, in the order they are shown, with their headings."""

MOST_VALUES = 8
"""More different values of one thing are counted, not shown."""

_INDEX = (
    (re.compile(r"\{n\d+\."), "{n*."),
    (re.compile(r"\b(prefill|decode|agg)-\d+(-\d+)?\b"), r"\1-*"),
    (re.compile(r"(?<=-)n\d+\b"), "n*"),
)

Layers = tuple[tuple[str, str | None], ...]


class _Item(msgspec.Struct):
    """One thing of one group with one value and origin: who has it, as first told, and how often. ``same``: nobody's
    differs from it even by an index.
    """

    layers: Layers
    names: list[str]
    label: str = ""
    count: int = 0
    same: bool = True


_Things = dict[tuple[str, str], dict[Layers, _Item]]


class Origins:
    """A trace for :func:`inferlane.planning.build_plan` that afterwards tells what it was told. ``place`` says where a
    path of recipe or cluster file was written, ``spelled`` how it is spelled there, ``replaced`` what it replaced.
    """

    def __init__(
        self,
        place: Callable[[str], str],
        spelled: Callable[[str], str] = str,
        replaced: Callable[[str], list[str]] = lambda path: [],
    ) -> None:
        self._place, self._spelled, self._replaced = place, spelled, replaced
        self._told: defaultdict[str, dict[str, list[Layers]]] = defaultdict(dict)

    def __call__(self, process: str, subject: str, origin: str, value: str | None) -> None:
        """Arguments and gates may come several times; anything else replaces what was told before."""
        told = self._told[process].setdefault(subject, [])
        if subject.startswith(("args.", "gate.")) or not told:
            told.append(((origin, value),))
        else:
            told[-1] = (*told[-1], (origin, value))

    def text(self, plan: Plan, only: str = "", known: Mapping[str, str] | None = None) -> str:
        """One line per thing: value, origin, what it replaced. ``only``: a recipe path, process, flag or name; raises
        :class:`UsageFault` if nothing is so called. ``known``: tokens to bind in what is shown.
        """
        groups, index = self._groups(plan, only), {process.name: process.index for process in plan.processes}
        if only and not any(groups.values()):
            raise UsageFault(self._unknown(plan, only))
        lines = ["where it comes from"]
        for names, things in groups.items():
            if things:
                lines += ["", _title(names, plan), *self._body(names, things, index, known or {})]
        return "\n".join(lines)

    def _groups(self, plan: Plan, only: str) -> dict[tuple[str, ...], _Things]:
        members: dict[tuple[str | None, ...], list[str]] = {("",): [""]}
        for process in plan.processes:
            members.setdefault((process.kind, process.type, process.role, process.part), []).append(process.name)
        whole = {group for group, names in members.items() if only and (only in group or only in names)}
        return {
            tuple(names): self._things(names, "" if only in group else only)
            for group, names in members.items()
            if not whole or group in whole
        }

    def _things(self, names: Sequence[str], only: str) -> _Things:
        things: _Things = {}
        for name in names:
            for subject, told in self._told[name].items():
                for layers in told:
                    kind, _, label = _kind(subject, layers).partition(".")
                    if only and only != name and not _matches(kind, label, layers, only):
                        continue
                    key: Layers = tuple((alike(origin) or "", alike(value)) for origin, value in layers)
                    items = things.setdefault((kind, alike(label) or ""), {})
                    item = items.setdefault(key, _Item(layers, [], label))
                    item.count += 1
                    item.same = item.same and item.layers == layers and item.label == label
                    if not item.names or item.names[-1] != name:
                        item.names.append(name)
        return things

    def _body(
        self, names: Sequence[str], things: _Things, index: Mapping[str, int], known: Mapping[str, str]
    ) -> Iterator[str]:
        heading = ""
        for kind, title in BLOCKS.items():
            for (of, label), items in things.items():
                if of != kind:
                    continue
                if title != heading:
                    heading = title
                    yield f"  {title}"
                yield from self._lines(kind, label, _joined(list(items.values()), index), names, known)

    def _lines(
        self, kind: str, label: str, items: Sequence[_Item], names: Sequence[str], known: Mapping[str, str]
    ) -> Iterator[str]:
        indent = "    " if BLOCKS[kind] else "  "
        for item in items[:MOST_VALUES]:
            yield indent + self._line(kind, label, item, names, known)
        if len(items) > MOST_VALUES:
            yield f"{indent}{label or kind}: {len(items) - MOST_VALUES} more values; --explain PROCESS shows one's own"

    def _line(self, kind: str, label: str, item: _Item, names: Sequence[str], known: Mapping[str, str]) -> str:
        layers: Layers = tuple((alike(origin) or "", alike(value)) for origin, value in item.layers)
        if item.same:
            label = item.label
            layers = tuple((origin, _bound(value, known)) for origin, value in item.layers)
        origin, value = layers[-1]
        text = f"{_value(kind, label, value)}  <- {self._where(origin, kind, label)}"
        paths = [_path(part, kind, label) for part in origin.split(" * ") if " " not in part]
        over = [said for path in paths for said in self._replaced(path)]
        lower = ((o, "removed" if v is None else v) for o, v in reversed(layers[:-1]) if v != value)
        over += [f"{said}, {self._where(o, kind, label)}" for o, said in lower]
        text += f"  (over {'; '.join(over)})" if over else ""
        text += f"  (x{item.count})" if item.count > len(item.names) else ""
        return text + (f"  [{compact(item.names)}]" if len(item.names) < len(names) else "")

    def _where(self, origin: str, kind: str, label: str) -> str:
        if " * " in origin:
            return " x ".join(self._where(part, kind, label) for part in origin.split(" * "))
        if " " in origin:
            return origin
        path = _path(origin, kind, label)
        return f"{self._spelled(path)} ({self._place(path)})"

    def _unknown(self, plan: Plan, only: str) -> str:
        names = {process.name for process in plan.processes}
        for told in self._told.values():
            names |= {subject.partition(".")[2] for subject in told}
        names |= {origin for told in self._told.values() for layers in told.values() for (origin, _) in layers[-1]}
        near = difflib.get_close_matches(only, sorted(n for n in names if n and " " not in n), 1, 0.6)
        hint = f"did you mean '{near[0]}'?" if near else "give a recipe path, a process, a flag, a variable or a port"
        return f"--explain: nothing in this plan is called '{only}'; {hint}"


def _matches(kind: str, label: str, layers: Layers, only: str) -> bool:
    if only in (kind, BLOCKS[kind], label) or (kind == "args" and label and flag_name(only) == flag_name(label)):
        return True
    paths = {_path(origin, kind, label) for origin, _ in layers if " " not in origin}
    paths |= {part for origin, _ in layers if " * " in origin for part in origin.split(" * ")}
    return any(path == only or path.startswith((f"{only}.", f"{only}[")) for path in paths)


def _kind(subject: str, layers: Layers) -> str:
    """Variables that a device mask has the last word on are masks."""
    if subject.startswith("env.") and layers[-1][0].startswith("accelerator "):
        return "mask" + subject.removeprefix("env")
    return subject


def _path(origin: str, kind: str, label: str) -> str:
    """The recipe or cluster path of an origin: environments are told as blocks."""
    return f"{origin}.{label}" if kind in ("env", "mask") else origin


def alike(text: str | None) -> str | None:
    """The same text for what differs by the index of a node or worker only."""
    if text is None or ("-" not in text and "{n" not in text):
        return text
    for pattern, sign in _INDEX:
        text = pattern.sub(sign, text)
    return text


def _bound(value: str | None, known: Mapping[str, str]) -> str | None:
    return TOKEN.sub(lambda match: known.get(match[1], match[0]), value) if value is not None else None


def _value(kind: str, label: str, value: str | None) -> str:
    if kind in ("env", "mask"):
        return f"{label}={value}" if value is not None else f"{label} removed"
    return " ".join(word for word in (label + (":" if kind == "gate" else ""), value) if word)


def _joined(items: list[_Item], index: Mapping[str, int]) -> list[_Item]:
    """Values that are each process's own index in its worker, or its nodes, become one."""
    origins = {item.layers[-1][0] for item in items}
    if len(items) == 1 or len(origins) > 1 or any(len(item.layers) > 1 for item in items):
        return items
    values = [item.layers[-1][1] or "" for item in items]
    nodes = list(dict.fromkeys(word for value in values for word in value.split()))
    names = [name for item in items for name in item.names]
    if all({str(index.get(name)) for name in item.names} == {value} for item, value in zip(items, values, strict=True)):
        text = f"{values[0]} … {values[-1]}, by index"
    elif all(re.fullmatch(r"n\d+", node) for node in nodes):
        text = compact(nodes)
    else:
        return items
    return [_Item(((origins.pop(), text),), names, items[0].label, len(names))]


def compact(names: Sequence[str]) -> str:
    """A list of names, shortened where it is long."""
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]} … {names[-1]} ({len(names)})"


def _title(names: Sequence[str], plan: Plan) -> str:
    return compact(names) if names[0] else f"run {plan.name}"
