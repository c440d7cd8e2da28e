"""What a recipe, its site and the blocks of its plugins must agree on, where none of them is wrong by itself."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from inferlane.config import Cluster, Recipe
from inferlane.config.mounts import container_path
from inferlane.config.paths import join
from inferlane.config.source import CLUSTER
from inferlane.planning.ports import HIGHEST
from inferlane.plugins import Plugins
from inferlane.values import EngineLayout, Problem

LAUNCHERS = ("local", "slurm")
"""Names that a cluster file may hold whatever is installed: it is written for all who use the site."""


def site_problems(recipe: Recipe, cluster: Cluster, plugins: Plugins) -> list[Problem]:
    """Where recipe and cluster file contradict each other, and what the cluster file names that nobody has."""
    return [*_launcher(cluster, plugins), *_node_size(recipe, cluster), *_hidden_mounts(recipe, cluster)]


def _launcher(cluster: Cluster, plugins: Plugins) -> list[Problem]:
    name = cluster.launcher
    if name is None or name in LAUNCHERS:
        return []
    known = sorted({*plugins.installed("launcher"), *LAUNCHERS})
    if name in known:
        return []
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
    return [Problem(where=f"{CLUSTER}launcher", message=f"no launcher is called '{name}'; {hint}")]


def _node_size(recipe: Recipe, cluster: Cluster) -> list[Problem]:
    ours, theirs = recipe.resources.gpus_per_node, cluster.gpus_per_node
    if ours is None or theirs is None or ours == theirs:
        return []
    message = f"{ours} GPUs on a node, and {theirs} in the cluster file; the recipe wins, so its nodes must have {ours}"
    return [Problem(where="resources.gpus_per_node", severity="warning", message=message)]


def _hidden_mounts(recipe: Recipe, cluster: Cluster) -> list[Problem]:
    site = {container_path(target): host for host, target in cluster.default_mounts.items()}
    mounts = [(("container_mounts", host), host, target) for host, target in recipe.container_mounts.items()]
    found = [(join(path), host, container_path(target)) for path, host, target in mounts]
    for index, item in enumerate(recipe.extra_mount):
        host, _, target = item.partition(":")
        found.append((join(("extra_mount", index)), host, container_path(target)))
    return [
        Problem(
            where=where,
            severity="warning",
            message=f"{inside} in the container is '{site[inside]}' in the cluster file; '{host}' takes its place",
        )
        for where, host, inside in found
        if site.get(inside, host) != host
    ]


def served_names(layouts: Mapping[str, EngineLayout]) -> list[Problem]:
    """One endpoint serves one name; roles that give two would lose one of them in silence."""
    named = [(role, layout.served_model_name) for role, layout in layouts.items() if layout.served_model_name]
    problems = []
    for role, name in named[1:]:
        first, other = named[0]
        if name != other:
            message = f"serves the name '{name}', and roles.{first}.args '{other}'; one endpoint has one name"
            problems.append(Problem(where=f"roles.{role}.args", message=message))
    return problems


def public_port(port: int) -> list[Problem]:
    """A number that the recipe asks for is taken as it is; it may be one that is lent to others."""
    if port <= HIGHEST:
        return []
    message = f"{port} is among those that the system hands out by itself; use one up to {HIGHEST}, or it may be taken"
    return [Problem(where="frontend.port", severity="warning", message=message)]
