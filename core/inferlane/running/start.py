"""From what a user typed to a running plan: prepare, look at this machine, plan, swap programs for a rehearsal, run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from inferlane.config import dump, masked
from inferlane.config.fields import REFERENCE
from inferlane.errors import PluginFault, RunFault, UsageFault
from inferlane.planning import Shape
from inferlane.planning.accelerators import choose_accelerator
from inferlane.planning.secrets import fill
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.rehearsal import Programs, RehearsalOptions, orders, rehearse, scale_down
from inferlane.running.local import run_plan
from inferlane.running.preflight import host_memory
from inferlane.running.processes.devices import Pool, device_pool
from inferlane.running.settings import Hooks, RunOptions
from inferlane.running.unused import unused_line
from inferlane.values import Plan, PluginCheck, Reply, Summary, Verdict

Announce = Callable[[Path], None]

PATIENCE_S = 240.0  # a first completion may compile, and a router's circuit breaker stays open for a minute
REHEARSED_PATIENCE_S = 20.0

VIRTUAL_MEMORY = 3 << 40
"""Bytes of host memory of each node of a rehearsal; this machine's do not matter there."""


@dataclass(frozen=True)
class Wish:
    """The command line of ``run`` and ``rehearse``. ``rehearsal``: ``None`` for a real run. ``live``: a
    table may be refreshed on a terminal. ``detach``: do not follow it. ``guardian``: its pid.
    """

    request: Request
    launcher: str | None = None
    output: str | None = None
    gpus: str | None = None
    serve: bool = False
    as_json: bool = False
    dry_run: bool = False
    grace_s: float = 30.0
    live: bool = True
    detach: bool = False
    rehearsal: RehearsalOptions | None = None
    guardian: int | None = None


def start(wish: Wish, plugins: Plugins, announce: Callable[[Path], None]) -> int:
    """Run it and return the exit code; raises ``InferlaneError`` for what stands against starting."""
    prepared = prepare(wish.request, plugins)
    owner = prepared.plugins.launcher(name := launcher_name(wish, prepared))
    code: int = owner.launcher(owner.parse({"type": name})).start(wish, prepared, announce)
    return code


def on_this_machine(wish: Wish, prepared: Prepared, announce: Announce) -> int:
    """What the launcher ``local`` does."""
    if wish.rehearsal is None:
        return _run(wish, prepared, announce)
    return _rehearse(wish, wish.rehearsal, prepared, announce)


_SCHEDULED = ("default_account", "default_partition", "default_sbatch_directives")


def launcher_name(wish: Wish, prepared: Prepared) -> str:
    """``--launcher``, else the cluster file's, else the scheduler's where that file is written for one, else this
    machine. A rehearsal is on this machine unless told otherwise.
    """
    if wish.launcher:
        return wish.launcher
    if wish.rehearsal is not None:
        return "local"
    said = any(prepared.cluster.source.origin(key) is not None for key in _SCHEDULED)
    return prepared.site.launcher or ("slurm" if said else "local")


def _run(wish: Wish, prepared: Prepared, announce: Announce) -> int:
    if prepared.resolved.unresolved:
        raise UsageFault("\n".join(prepared.lines(prepared.resolved.unresolved)))
    setup = prepared.hidden.host_setup
    if setup is not None and (setup.commands or setup.teardown):
        where = prepared.place("host_setup")
        raise UsageFault(
            f"{where}: host_setup: not run on this machine; run its commands yourself and say --set host_setup=null"
        )
    plan = prepared.plan(Shape())
    if plan.missing_plugins:
        raise PluginFault("\n".join(plan.missing_plugins.values()))
    shape, pool = Shape(memory_bytes=host_memory()), None
    if plan.uses_devices:
        pool = _pool(wish, prepared)
        shape = shape_of_machine(plan, pool)
    plan = prepared.plan(shape)
    _note(prepared, plan)
    if wish.dry_run:
        return _show(plan, wish.as_json)

    def replan(in_use: Mapping[str, tuple[int, ...]]) -> Plan:
        return prepared.plan(msgspec.structs.replace(shape, in_use=in_use))

    hooks = Hooks(replan=replan, summarise=summariser_of(prepared), judge=judge_of(prepared))
    return run_plan(plan, _options(wish, prepared, pool, announce), hooks)


def shape_of_machine(plan: Plan, pool: Pool) -> Shape:
    """What of this machine a plan may count on. Raises ``RunFault`` if the plan needs more nodes or devices."""
    if len(plan.nodes) > 1:
        raise RunFault(
            f"{plan.name} needs {len(plan.nodes)} nodes, this machine is one; try `inferlane rehearse`, or a scheduler"
        )
    used = {position for process in plan.processes for slot in process.slots for position in slot.gpus}
    if len(used) > len(pool.words):
        raise RunFault(f"{plan.name}: {len(used)} devices needed, {len(pool.words)} available ({pool.origin})")
    masked = pool.masked or len(pool.words) > plan.gpus_per_node
    return Shape(nodes=1, devices=len(pool.words), masked=masked, shared_ports=True, memory_bytes=host_memory())


def _pool(wish: Wish, prepared: Prepared) -> Pool:
    use, _ = choose_accelerator(prepared.hidden, prepared.site, Shape(), prepared.plugins, [])
    return device_pool(wish.gpus, os.environ, use.config.visible_devices_env)


def _rehearse(wish: Wish, options: RehearsalOptions, prepared: Prepared, announce: Announce) -> int:
    scaled = ""
    if not options.full:
        smaller, scaled = scale_down(prepared.hidden)
        prepared = msgspec.structs.replace(prepared, hidden=smaller)
    find = Programs()
    plan = prepared.plan(Shape(memory_bytes=VIRTUAL_MEMORY))
    _note(prepared, plan, scaled, *plan.missing_plugins.values())
    swapped = rehearse(plan, options, find)
    twins, real = (", ".join(names) or "none" for names in (swapped.twins, swapped.real))
    sys.stderr.write(f"rehearsal: twins: {twins}; real: {real}\n")
    if wish.dry_run:
        return _show(swapped.plan, wish.as_json)

    def replan(in_use: Mapping[str, tuple[int, ...]]) -> Plan:
        return rehearse(prepared.plan(Shape(in_use=in_use, memory_bytes=VIRTUAL_MEMORY)), options, find).plan

    hooks = Hooks(
        replan=replan,
        orders=lambda bound: orders(bound, options, prepared.hidden),
        summarise=summariser_of(prepared),
        judge=judge_of(prepared),
    )
    info = {"twins": list(swapped.twins), "real": list(swapped.real), "scaled": scaled}
    return run_plan(swapped.plan, _options(wish, prepared, None, announce), hooks, info)


def _options(wish: Wish, prepared: Prepared, pool: Pool | None, announce: Callable[[Path], None]) -> RunOptions:
    recipe = dump(masked(prepared.recipe.source.root)).encode()
    return RunOptions(
        outputs=Path(wish.output or prepared.site.output_dir or "outputs"),
        environ={**os.environ, **prepared.secrets},
        grace_s=wish.grace_s,
        patience_s=PATIENCE_S if wish.rehearsal is None else REHEARSED_PATIENCE_S,
        as_json=wish.as_json and not wish.detach,
        live=wish.live,
        serve=wish.serve,
        pass_environment=prepared.site.pass_environment,
        devices=pool.words if pool else (),
        tokens={"run.model": model_of(prepared, wish)},
        documents={"recipe.yaml": recipe},
        guardian=wish.guardian,
        announce=announce,
    )


def model_of(prepared: Prepared, wish: Wish) -> str:
    """The model's path; a rehearsal needs none, so that a variable which is not set stays as its name."""
    path = fill(prepared.hidden.model.path, prepared.secrets)
    return path if wish.rehearsal is None else REFERENCE.sub(r"\1", path)


def summariser_of(prepared: Prepared) -> Callable[[Mapping[str, str]], Summary | None] | None:
    block = prepared.hidden.benchmark
    if block is None:
        return None
    owner = prepared.plugins.benchmark(str(block["type"]))
    config = owner.parse(block)
    return lambda outputs: owner.summary(config, outputs)


def judge_of(prepared: Prepared) -> Callable[[PluginCheck, Reply], Verdict]:
    def judge(check: PluginCheck, reply: Reply) -> Verdict:
        owner = prepared.plugins.router(str(prepared.hidden.frontend["type"]))
        return owner.verdict(owner.parse(prepared.hidden.frontend), check, reply)

    return judge


def _note(prepared: Prepared, plan: Plan, *more: str) -> None:
    for line in filter(None, (*prepared.notes(plan), unused_line(prepared), *more)):
        sys.stderr.write(line + "\n")


def _show(plan: Plan, json: bool) -> int:
    from inferlane.planning.show import as_json, as_table

    sys.stdout.write((as_json if json else as_table)(plan) + "\n")
    sys.stdout.flush()  # here it is the point, so that a full disk is a failure
    return 0
