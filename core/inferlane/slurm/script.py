"""The job script: what the scheduler is asked for, and one fixed line that starts the supervisor."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from inferlane.config import Cluster, Recipe
from inferlane.config.directives import DECIDED
from inferlane.slurm.gpus import gpu_request
from inferlane.slurm.record import LOG
from inferlane.values import Plan

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+=,\[\]-]*\Z")
_WARN_S = 120
_SHARE = 10
_END = "-- end of the frozen files --"


def directives(plan: Plan, recipe: Recipe, site: Cluster, run: Path) -> tuple[tuple[str, str | None], ...]:
    """Name and value of each option of the job, each once; of two sources the recipe's value holds."""
    limit = recipe.slurm.time_limit or site.default_time_limit
    asked: dict[str, str | None] = {
        "job-name": recipe.name,
        "output": early_log(run) if embedded(site) else str(run / LOG),
        "nodes": str(len(plan.nodes)),
        "ntasks-per-node": "1",
    }
    request = gpu_request(recipe, site, plan.gpus_per_node, plan.uses_devices)
    if request is not None:
        asked[request[0]] = request[1]
    if site.use_segment_sbatch_directive:
        asked["segment"] = str(len(plan.nodes))
    if site.use_exclusive_sbatch_directive:
        asked["exclusive"] = None
    asked |= {
        name: value
        for name, value in (
            ("account", recipe.slurm.account or site.default_account),
            ("partition", recipe.slurm.partition or site.default_partition),
            ("time", limit),
        )
        if value
    }
    asked["signal"] = f"B:TERM@{warned_s(limit)}"
    for given in (site.default_sbatch_directives, recipe.sbatch_directives):
        for name, value in given.items():
            if name not in DECIDED:
                asked[name] = value or None
    asked["no-requeue"] = None
    return tuple(asked.items())


def warned_s(limit: str | None) -> int:
    """Seconds before the time limit at which the supervisor is told to end: a tenth of it, at most two minutes."""
    return _WARN_S if limit is None else max(1, min(_WARN_S, seconds_of(limit) // _SHARE))


def seconds_of(limit: str) -> int:
    """``H:MM:SS``, ``M:SS`` or ``D-HH:MM:SS``."""
    days, dash, rest = limit.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash and len(parts) < 3:
        parts += [0] * (3 - len(parts))
    total = 0
    for part in parts:
        total = total * 60 + part
    return total + int(days or 0) * 86400


def render(
    plan: Plan, recipe: Recipe, site: Cluster, run: Path, python: str, packed: Sequence[str] | None = None
) -> str:
    """The whole script. No value of a file is in its body but the run folder and the interpreter, quoted.

    ``packed``: the frozen files, for a site where they travel inside of the script; ``None`` shows where they go.
    """
    lines = ["#!/bin/bash", *(_line(name, value) for name, value in directives(plan, recipe, site, run)), ""]
    body = [*_unpacking(run, python, packed)] if embedded(site) else []
    return "\n".join([*lines, "umask 077", *body, *_body(run, python), ""])


def embedded(site: Cluster) -> bool:
    """Whether the frozen files travel inside of the script."""
    return site.runtime_config_transport == "embedded"


def early_log(run: Path) -> str:
    """Where the scheduler writes what a job says before its node has the run folder, with the scheduler's own signs."""
    return f"/tmp/{run.name}-%j.log"  # noqa: S108 - nothing else is there on every node; the name ends in random digits


def _unpacking(run: Path, python: str, packed: Sequence[str] | None) -> Iterable[str]:
    """The early log stays where this fails; it is what tells why."""
    yield f"{shlex.quote(python)} -P -m inferlane.slurm.embedded {shlex.quote(str(run))} <<'{_END}' || exit 1"
    yield from ("(the frozen files of the run)",) if packed is None else packed
    yield _END
    yield f"exec >>{shlex.quote(str(run / LOG))} 2>&1"
    early, _, rest = early_log(run).partition("%j")
    yield f'rm -f -- {shlex.quote(early)}"$SLURM_JOB_ID"{shlex.quote(rest)}'


def _body(run: Path, python: str) -> Iterable[str]:
    yield f"cd {shlex.quote(str(run))} || exit 1"
    yield f"exec {shlex.quote(python)} -P -m inferlane.slurm.job {shlex.quote(str(run))}"


def _line(name: str, value: str | None) -> str:
    if value is None:
        return f"#SBATCH --{name}"
    plain = value if _PLAIN.match(value) else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"#SBATCH --{name}={plain}"
