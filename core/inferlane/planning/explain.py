"""Where each argument and variable of a plan comes from, shown once where processes agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from inferlane.values import Plan


class Origins:
    """A trace for :func:`inferlane.planning.build_plan`. ``place`` turns a recipe path into file, line and column."""

    def __init__(self, place: Callable[[str], str]) -> None:
        self._place = place
        self._layers: defaultdict[tuple[str, str], list[tuple[str, str | None]]] = defaultdict(list)

    def __call__(self, process: str, subject: str, origin: str, value: str | None) -> None:
        self._layers[process, subject].append((origin, value))

    def text(self, plan: Plan) -> str:
        """One line per argument and variable: value, origin, and what it replaced."""
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for (name, subject), layers in self._layers.items():
            lines[name].append(self._line(subject, layers))
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for process in plan.processes:
            groups["\n".join(lines[process.name])].append(process.name)
        blocks = [f"{', '.join(names)}\n{body}" for body, names in groups.items() if body]
        return "where it comes from\n" + "\n\n".join(blocks)

    def _line(self, subject: str, layers: list[tuple[str, str | None]]) -> str:
        origin, value = layers[-1]
        kind, _, name = subject.partition(".")
        shown = name if kind == "args" else f"{name}={value}" if value is not None else f"{name} removed"
        over = [self._where(o, subject) for o, v in layers[:-1] if v != value]
        return f"  {shown}  <- {self._where(origin, subject)}" + (f"  (over {', '.join(over)})" if over else "")

    def _where(self, origin: str, subject: str) -> str:
        if " " in origin:
            return origin
        path = f"{origin}.{subject.partition('.')[2]}" if subject.startswith("env.") else origin
        return f"{path} ({self._place(path)})"
