"""The command of each process: arguments, environment, flags, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inferlane.config import Cluster, Recipe, RoleBlock
from inferlane.planning.accelerators import AcceleratorUse
from inferlane.planning.arguments import full_arguments
from inferlane.planning.drafts import Draft
from inferlane.planning.environment import Layer, Trace, merge_environment, split
from inferlane.planning.flag_check import FlagCheck
from inferlane.planning.services import ServiceUse
from inferlane.planning.traces import owner_words, tell_arguments, tell_process
from inferlane.planning.views import process_view
from inferlane.plugins import Benchmark, Engine, Router, Service
from inferlane.values import (
    TEARDOWN_TIERS,
    Command,
    Critical,
    Env,
    Export,
    Gate,
    Peer,
    Phase,
    PlannedProcess,
    Problem,
    Process,
    ProcessKind,
    Run,
)
from inferlane.values.configs import RouterConfig

OWN_PHASE: Mapping[ProcessKind, Phase] = {
    "worker": "workers",
    "router": "router",
    "service": "after_router",
    "benchmark": "traffic",
}


class CommandBuilder(msgspec.Struct):
    """Turns drafts into planned processes; collects the problems of all of them."""

    recipe: Recipe
    cluster: Cluster
    accelerator: AcceleratorUse
    services: Sequence[ServiceUse]
    families: Mapping[str, tuple[Peer, ...]]
    run: Run
    flags: FlagCheck
    problems: list[Problem]
    trace: Trace | None = None

    def process(self, draft: Draft) -> tuple[PlannedProcess | None, list[Gate]]:
        """The planned process and its own gates; no process where nothing is to be started."""
        masked = draft.part.devices == "mask"
        mask = self.accelerator.mask(draft.slots[0]) if masked else {}
        view = process_view(draft, self.families.get(draft.family, ()), mask, self.arguments(draft))
        gates = _gates(draft, view, self.run)
        if draft.external:
            return None, gates
        command = _command(draft, view, self.run)
        if command is None:  # a benchmark without a client
            return None, gates
        self.problems += command.problems
        return self._planned(draft, view, command, mask), gates

    def arguments(self, draft: Draft) -> Mapping[str, Any]:
        """The recipe's flags for this process; ``args`` of a service are words that its own plugin reads."""
        if draft.group:
            return draft.group.args
        return draft.config.args if isinstance(draft.config, RouterConfig) else {}

    def _planned(self, draft: Draft, view: Process, command: Command, mask: Env) -> PlannedProcess:
        where = f"{draft.where}.args"
        owned = {**draft.owner.spec.owned_args, **draft.layout.owned_args}
        usual = self.flags.usual(command.flags)
        args = full_arguments(
            command, draft.owner.spec.style, owned, self.arguments(draft), where, self.problems, usual
        )
        self.problems += self.flags.check(command.flags, args, self.arguments(draft), where, draft.owner)
        env, unset = split(self._environment(draft, view, command, mask), mask)
        images = images_of(draft, command, self.recipe)
        phase = draft.part.start or OWN_PHASE[draft.kind]
        slot_masks = [self.accelerator.mask(slot) if draft.part.devices == "mask" else {} for slot in draft.slots]
        planned = PlannedProcess(
            name=draft.name,
            kind=draft.kind,
            type=draft.owner.type,
            part=draft.part.name,
            phase=phase,
            tier=TEARDOWN_TIERS[phase],
            program=command.program,
            slots=draft.slots,
            role=view.role,
            worker=draft.worker,
            index=draft.index,
            count=draft.count,
            ranks=draft.serving.ranks if draft.serving else 1,
            critical=self._critical(draft),
            args=args,
            image=images[-1][1] if images else None,
            on_host=command.on_host,
            env=env,
            unset=unset,
            slot_env=tuple({k: v for k, v in m.items() if v is not None} for m in slot_masks)
            if any(slot_masks)
            else (),
            ports=draft.ports,
            dirs=draft.dirs,
            files=command.files,
            outputs=command.outputs,
            twin=command.twin,
            flags=command.flags,
            mpi=draft.part.mpi,
            needs=command.needs,
            metrics=draft.part.metrics,
            fatal_log=self._fatal_log(draft),
            ready_log=draft.part.ready_log,
        )
        if self.trace:
            tell_process(self.trace, draft, planned, images)
            tell_arguments(self.trace, draft, command, args, self.arguments(draft), self.run.model)
        return planned

    def _fatal_log(self, draft: Draft) -> tuple[str, ...]:
        check = self.recipe.health_check
        own = draft.part.fatal_log if check.fatal_log_markers else ()
        return (*own, *check.extra_fatal_log_patterns) if draft.kind == "worker" else own

    def _critical(self, draft: Draft) -> Critical:
        role = role_of(draft, self.recipe)
        return "never" if role is not None and not role.critical else draft.part.critical

    def _environment(self, draft: Draft, view: Process, command: Command, mask: Env) -> dict[str, str | None]:
        gifts = [(use.name, gift) for use in self.services if (gift := self._gift(use, draft, view))]
        role = role_of(draft, self.recipe)
        own = role.env if role is not None else getattr(draft.config, "env", {})
        plugin = owner_words(draft.owner)
        layers = [
            *(Layer(f"service {name}", gift.env_defaults) for name, gift in gifts),
            Layer(plugin, command.env_defaults),
            Layer("cluster:environment", self.cluster.environment, "site"),
            Layer("environment", self.recipe.environment, "user"),
            Layer(f"{draft.where}.env", own, "user"),
            *(Layer(f"service {name}", gift.env, "forced") for name, gift in gifts),
            Layer(plugin, command.env, "forced"),
            Layer(f"accelerator {self.accelerator.owner.type}", mask or self._no_mask(draft, own), "mask"),
        ]
        return merge_environment(draft.name, layers, self.problems, self.trace)

    def _no_mask(self, draft: Draft, own: Env) -> Env:
        """A process that is given no mask sees none at all. One that owns a whole node keeps what the site gives it,
        but not a mask of the recipe, which would take devices away from it.
        """
        variables = self.accelerator.variables
        if draft.part.devices == "mask" and not {*self.recipe.environment, *own}.intersection(variables):
            return {}
        return dict.fromkeys(variables)

    def _gift(self, use: ServiceUse, draft: Draft, view: Process) -> Export | None:
        return None if use.name == draft.name else use.owner.exports(use.config, view, self.run)


def role_of(draft: Draft, recipe: Recipe) -> RoleBlock | None:
    """The recipe's block of a worker's role; ``None`` for other kinds."""
    return next((block for name, block in recipe.roles.items() if draft.group and name == draft.group.role), None)


def images_of(draft: Draft, command: Command, recipe: Recipe) -> list[tuple[str, str]]:
    """Each image that is asked for, with its origin; the last one is used, and none means the program of the node."""
    if command.on_host:
        return []
    role = role_of(draft, recipe)
    names = ("container",) if role is not None else ("container_image", "container")
    block = role if role is not None else draft.config
    own = next(((name, image) for name in names if (image := getattr(block, name, None))), None)
    found = [(owner_words(draft.owner), command.image)]
    if draft.kind != "service":
        found.append(("model.container", recipe.model.container))
    if own is not None:
        found.append((f"{draft.where}.{own[0]}", own[1]))
    return [(origin, image) for origin, image in found if image]


def _gates(draft: Draft, view: Process, run: Run) -> list[Gate]:
    owner = draft.owner
    if isinstance(owner, Engine | Service):
        return list(owner.gates(draft.config, view, run))
    return []


def _command(draft: Draft, view: Process, run: Run) -> Command | None:
    owner = draft.owner
    assert isinstance(owner, Engine | Router | Service | Benchmark)
    return owner.command(draft.config, view, run)
