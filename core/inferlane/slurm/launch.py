"""From a recipe to a job: plan, freeze, submit, follow."""

from __future__ import annotations

import fnmatch
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from inferlane.config import Cluster, Recipe, dump, masked
from inferlane.config.dump import text_of
from inferlane.errors import EXIT_OK, PluginFault, UsageFault
from inferlane.planning import Shape, encode
from inferlane.planning.secrets import references
from inferlane.preparation import Prepared
from inferlane.rehearsal import Programs, rehearse, scale_down
from inferlane.running.folder import directory
from inferlane.running.start import PATIENCE_S, REHEARSED_PATIENCE_S, VIRTUAL_MEMORY, Wish, model_of
from inferlane.slurm import frozen
from inferlane.slurm.embedded import pack
from inferlane.slurm.follow import follow
from inferlane.slurm.frozen import JobSettings, StepSettings
from inferlane.slurm.gpus import gpu_request, step_options
from inferlane.slurm.host_setup import host_commands
from inferlane.slurm.script import embedded, render
from inferlane.slurm.submit import submit
from inferlane.values import Plan

SCRIPT = "job.sh"
_BASE = ("PATH", "HOME", "USER", "LANG")


def launch(wish: Wish, prepared: Prepared) -> int:
    """Submit, and follow to the true end unless ``wish.detach``. Raises ``InferlaneError`` for what stands against."""
    prepared, plan, info = _planned(wish, prepared)
    settings = _settings(wish, prepared, plan, info)
    names = passed_names(prepared, os.environ, wish.rehearsal is not None)
    if wish.dry_run:
        sys.stdout.write(render(plan, prepared.hidden, prepared.site, Path("RUN"), settings.python))
        return EXIT_OK
    run = directory.create(Path(wish.output or prepared.site.output_dir or "outputs"), prepared.hidden.name)
    files = frozen.files(settings, encode(plan), _text(prepared.hidden), _text(prepared.site))
    files["recipe.yaml"] = dump(masked(prepared.recipe.source.root)).encode()
    for name, content in files.items():
        run.write(name, content)
    packed = pack(files) if embedded(prepared.site) else None
    run.write(SCRIPT, render(plan, prepared.hidden, prepared.site, run.path, settings.python, packed).encode())
    token = f"inferlane-{secrets.token_hex(8)}"
    job = submit(run.path / SCRIPT, run.path, token, names, {**os.environ, **prepared.secrets})
    return follow(job, run, wish.as_json, wish.detach)


def _planned(wish: Wish, prepared: Prepared) -> tuple[Prepared, Plan, dict[str, Any] | None]:
    options = wish.rehearsal
    if options is None:
        if prepared.resolved.unresolved:
            raise UsageFault("\n".join(prepared.lines(prepared.resolved.unresolved)))
        plan = prepared.plan(Shape())
        if plan.missing_plugins:
            raise PluginFault("\n".join(plan.missing_plugins.values()))
        _say(prepared.notes(plan))
        return prepared, plan, None
    scaled = ""
    if not options.full:
        smaller, scaled = scale_down(prepared.hidden)
        prepared = msgspec.structs.replace(prepared, hidden=smaller)
    plan = prepared.plan(Shape(memory_bytes=VIRTUAL_MEMORY))
    swapped = rehearse(plan, options, Programs())
    twins, real = (", ".join(names) or "none" for names in (swapped.twins, swapped.real))
    _say([*prepared.notes(plan), scaled, *plan.missing_plugins.values(), f"rehearsal: twins: {twins}; real: {real}"])
    return prepared, swapped.plan, {"twins": list(swapped.twins), "real": list(swapped.real), "scaled": scaled}


def _settings(wish: Wish, prepared: Prepared, plan: Plan, info: dict[str, Any] | None) -> JobSettings:
    recipe, site = prepared.hidden, prepared.site
    request = gpu_request(recipe, site, plan.gpus_per_node, plan.uses_devices)
    model = model_of(prepared, wish)
    contained = info is None and any(process.image and not process.on_host for process in plan.processes)
    mounts = tuple(prepared.resolved.mounts)
    if contained and model.startswith("/"):
        mounts = (f"{model}:/model", *mounts)
    return JobSettings(
        name=recipe.name,
        grace_s=wish.grace_s,
        patience_s=PATIENCE_S if info is None else REHEARSED_PATIENCE_S,
        python=site.python or sys.executable,
        model="/model" if contained and model.startswith("/") else model,
        digest=frozen.digest(encode(plan)),
        interface=site.network_interface,
        pass_environment=site.pass_environment,
        serve=wish.serve,
        rehearsal=info,
        rehearsed=wish.rehearsal,
        host=host_commands(recipe.host_setup, plan),
        steps=StepSettings(
            gpus=step_options(request, plan.gpus_per_node),
            mounts=mounts,
            preamble=site.default_bash_preamble,
            options=recipe.srun_options,
            role_options={name: role.srun_options for name, role in recipe.roles.items() if role.srun_options},
            containers=info is None,
        ),
    )


def passed_names(prepared: Prepared, environ: Mapping[str, str], rehearsed: bool) -> tuple[str, ...]:
    """Names of the variables that travel with the job: a small base and what the cluster file passes on, where they are
    set; secrets; and what the files refer to, which must be set for a real run.
    """
    wished = (*_BASE, *prepared.site.pass_environment)
    there = sorted(name for name in environ if any(fnmatch.fnmatchcase(name, pattern) for pattern in wished))
    named = set(prepared.resolved.references) - set(prepared.secrets)
    needed = sorted(name for name in named if not rehearsed or name in environ)
    setup = prepared.hidden.host_setup
    commands = [*setup.commands, *setup.teardown] if setup is not None else []  # most names in them are the shell's
    used = sorted({name for name in references(commands) if name in environ})
    return tuple(dict.fromkeys((*there, *needed, *used, *sorted(prepared.secrets))))


def _plain(model: Recipe | Cluster) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _text(model: Recipe | Cluster) -> bytes:
    return text_of(_plain(model)).encode()


def _say(lines: list[str]) -> None:
    for line in filter(None, lines):
        sys.stderr.write(line + "\n")
