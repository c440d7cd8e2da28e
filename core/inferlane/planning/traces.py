"""What a trace is told of a plan beside its environment: arguments, ports, gates, places, images. Never changes it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferlane.config import Cluster, Recipe
from inferlane.config.paths import join
from inferlane.planning.arguments import flag_name
from inferlane.planning.drafts import Draft
from inferlane.planning.environment import Trace
from inferlane.planning.port_plan import public_number
from inferlane.planning.shape import Shape
from inferlane.planning.show import gate_text
from inferlane.plugins import Owner
from inferlane.values import Command, Gate, PlannedProcess, RouterLayout, Run

CORE = "built in"
"""The origin of what no file and no plugin says."""


def owner_words(owner: Owner) -> str:
    """A plugin as an origin; words, so that nobody takes it for a recipe path."""
    return f"{'built-in' if owner.builtin else 'plugin'} {owner.distribution}, {owner.type}"


def words_by_flag(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each flag with what follows it, in order; words before the first flag have the flag ``""``."""
    flag: str | None = None
    values: list[str] = []
    for word in words:
        if not word.startswith("-") or word[1:2].isdigit() or word == "-":
            values.append(word)
            continue
        if flag is not None or values:
            yield flag or "", " ".join(values)
        flag, equals, value = word.partition("=")
        values = [value] if equals else []
    if flag is not None or values:
        yield flag or "", " ".join(values)


def tell_arguments(
    trace: Trace, draft: Draft, command: Command, args: Sequence[str], user: Mapping[str, Any], model: str
) -> None:
    """The plan's own arguments, then the recipe's. An argument whose flag is a key of the recipe comes from there."""
    block = {"worker": "engine", "router": "frontend"}.get(draft.kind, draft.where)
    fields = getattr(draft.config, "model_fields_set", ())
    stated = {flag_name(name): f"{block}.{name}" for name in fields}
    given = {flag_name(key): f"{draft.where}.args.{join((key,))}" for key in user}
    own = {**stated, **given}
    for flag, value in words_by_flag(command.args):
        origin = own.get(flag_name(flag)) or ("model.path" if value == model else owner_words(draft.owner))
        trace(draft.name, f"args.{flag}", origin, value)
    for flag, value in words_by_flag(args[len(command.args) :]):
        trace(draft.name, f"args.{flag}", given.get(flag_name(flag), f"{draft.where}.args"), value)


def tell_process(trace: Trace, draft: Draft, planned: PlannedProcess, images: Sequence[tuple[str, str]]) -> None:
    """Where it runs, what is started, and in which image."""
    name, owner = draft.name, owner_words(draft.owner)
    places = {"worker": f"{draft.where}.nodes", "router": "frontend.placement.node", "benchmark": CORE}
    trace(name, "process.node", places.get(draft.kind, owner), " ".join(slot.node.name for slot in draft.slots))
    trace(name, "process.program", owner, " ".join(planned.program))
    for origin, image in images:
        trace(name, "process.image", origin, image)


def tell_ports(
    trace: Trace,
    drafts: Sequence[Draft],
    cluster: Cluster,
    recipe: Recipe,
    front: RouterLayout,
    public: int,
    shape: Shape,
) -> None:
    """Each port's base, what overrides it, and whether it moved because another holds the number."""
    holders = _Holders(drafts, shape)
    for draft in drafts:
        for port in draft.part.ports:
            subject, key = f"port.{port.name}", f"{draft.owner.type}.{port.name}"
            block, pin = draft.ports[port.name], public_number(draft, port, front, public)
            trace(draft.name, subject, owner_words(draft.owner), str(port.base))
            wanted = port.base
            for origin, table in (("cluster:ports", cluster.ports), ("ports", recipe.ports)):
                if key in table:
                    wanted = table[key]
                    trace(draft.name, subject, f"{origin}.{join((key,))}", str(wanted))
            if pin is not None:
                wanted = pin
                trace(draft.name, subject, "frontend.port", str(wanted))
            if not block.held and not draft.external:
                trace(draft.name, subject, "the port of the worker's first process", str(block.first))
            elif block.first != wanted:
                node = draft.leader.name if port.scope == "leader" else draft.node.name
                why = holders.of(node, wanted, wanted + block.width - 1)
                trace(draft.name, subject, f"moved: {wanted} is taken by {why}", str(block.first))


class _Holders:
    """Who holds which numbers of a node, sorted, for one look-up each."""

    def __init__(self, drafts: Sequence[Draft], shape: Shape) -> None:
        self._shared = shape.shared_ports
        self._used: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for node, numbers in shape.in_use.items():
            self._used[self._space(node)] += [(number, number, "another program") for number in numbers]
        for draft in drafts:
            for port in draft.part.ports:
                block = draft.ports[port.name]
                if block.held:
                    node = draft.leader.name if port.scope == "leader" else draft.node.name
                    span = (block.first, block.first + block.width - 1, f"{draft.name}.{port.name}")
                    self._used[self._space(node)].append(span)
        for used in self._used.values():
            used.sort()

    def _space(self, node: str) -> str:
        return "*" if self._shared else node

    def of(self, node: str, first: int, last: int) -> str:
        """The holder of a number from ``first`` to ``last``."""
        used = self._used[self._space(node)]
        at = bisect_right(used, (last, last + 1, "")) - 1
        return used[at][2] if at >= 0 and used[at][1] >= first else "another block"


def tell_gates(trace: Trace, process: str, gates: Sequence[Gate], origin: str) -> None:
    """Each gate, of a process or of the run (``""``)."""
    for gate in gates:
        trace(process, f"gate.{gate.name}", origin, gate_text(gate))


def tell_run(trace: Trace, recipe: Recipe, cluster: Cluster, run: Run, accelerator: str) -> None:
    """What belongs to the run as a whole."""
    trace("", "run.model", "model.path", recipe.model.path)
    trace("", "run.gpus_per_node", "resources.gpus_per_node", str(run.site.gpus_per_node))
    trace("", "run.gpu_type", "resources.gpu_type", accelerator)
    for origin, variable in (
        ("cluster:visible_devices_env", cluster.visible_devices_env),
        ("resources.visible_devices_env", recipe.resources.visible_devices_env),
    ):
        if variable:
            trace("", "run.visible_devices_env", origin, variable)
    health = "health_check"
    deadline = f"{health}.max_attempts * {health}.interval_seconds"
    trace("", "run.start deadline", deadline, f"{run.start_timeout_s} s")
    if run.endpoint:
        trace("", "run.endpoint", "frontend.port", run.endpoint)
        trace("", "gate.completions", CORE, f"before traffic: {run.endpoint} until every worker has served")
