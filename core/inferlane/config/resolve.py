"""A recipe on a site: cluster defaults filled in, aliases replaced, every value still with its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from inferlane.config.cluster import Cluster
from inferlane.config.directives import decided
from inferlane.config.faults import FileRefused
from inferlane.config.load import LoadedRecipe, validate
from inferlane.config.nodes import Node, find, moved, put, walk
from inferlane.config.paths import Path, join
from inferlane.config.recipe import Recipe
from inferlane.config.site import LoadedCluster, unset_warnings
from inferlane.config.source import SourceMap
from inferlane.values import Problem

_FILLED: tuple[tuple[str, Path], ...] = (
    ("gpus_per_node", ("resources", "gpus_per_node")),
    ("accelerator", ("resources", "gpu_type")),
    ("default_gpu_type", ("resources", "gpu_type")),
    ("default_account", ("slurm", "account")),
    ("default_partition", ("slurm", "partition")),
    ("default_time_limit", ("slurm", "time_limit")),
    ("default_container", ("model", "container")),
    ("default_health_check", ("health_check",)),
    ("default_host_setup", ("host_setup",)),
)
"""Cluster key to the recipe path that it fills when the recipe has nothing there."""

_IMAGES = frozenset({"container", "container_image", "image", "nginx_container"})
_OPAQUE = frozenset(
    {"identity", "environment", "env", "args", "extra_args", "container_mounts", "sbatch_directives", "srun_options"}
)


class Resolved(msgspec.Struct, frozen=True):
    """``source``: positions in the recipe, or in the cluster file for what it filled in. ``mounts``:
    ``host:container[:options]``, cluster's first; the last one for a container path wins. ``unresolved``: warnings that
    ``run`` refuses. ``unresolved_images``: the same, where the launcher starts containers.
    """

    recipe: Recipe
    cluster: Cluster
    source: SourceMap
    cluster_source: SourceMap
    mounts: tuple[str, ...] = ()
    inert: tuple[str, ...] = ()
    unresolved: tuple[Problem, ...] = ()
    unresolved_images: tuple[Problem, ...] = ()
    references: tuple[str, ...] = ()

    def origin(self, path: str) -> str:
        """Where the value at a recipe path was written: ``file:line:col``, ``--set``, or ``default``."""
        return self.source.origin(path) or "default"


def resolve(recipe: LoadedRecipe, cluster: LoadedCluster) -> Resolved:
    """Fill in and replace; precedence is command line, recipe, cluster, built-in. Raises ``Refused`` if the filled-in
    recipe does not hold.
    """
    root = _filled(recipe.source.root, cluster.source.root)
    root, warnings, aliases = _model_alias(root, cluster)
    root, image_warnings, images = _image_aliases(root, cluster)
    used = {("model_paths", *aliases), *(("containers", name) for name in images)}
    unset = [
        item for item in cluster.unset if item.path[0] not in ("model_paths", "containers") or item.path[:2] in used
    ]
    checked, faults = validate(Recipe, root, "recipe")
    if checked is None:
        raise FileRefused(faults)
    site_idle = decided(cluster.cluster.default_sbatch_directives)
    return Resolved(
        recipe=checked,
        cluster=cluster.cluster,
        source=SourceMap(root, "recipe", recipe.source.spellings),
        cluster_source=cluster.source,
        mounts=_mounts(cluster.cluster, checked),
        inert=(
            *recipe.inert,
            *(f"sbatch_directives.{name}" for name in decided(recipe.recipe.sbatch_directives)),
            *(f"cluster:{path}" for path in cluster.inert),
            *(f"cluster:default_sbatch_directives.{name}" for name in site_idle),
        ),
        unresolved=(*unset_warnings(unset), *warnings),
        unresolved_images=image_warnings,
        references=tuple(sorted({*recipe.references, *cluster.references})),
    )


def _filled(root: Node, cluster: Node) -> Node:
    for key, path in _FILLED:
        default = find(cluster, (key,))
        if default is not None and default.value not in (None, "") and _absent(root, path):
            root = put(root, path, default)
    for name, node in _children(find(cluster, ("default_sbatch_directives",))):
        if find(root, ("sbatch_directives", name)) is None:
            root = put(root, ("sbatch_directives", name), node)
    return root


def _absent(root: Node, path: Path) -> bool:
    node = find(root, path)
    return node is None or node.value in (None, "")


def _children(node: Node | None) -> Iterator[tuple[str, Node]]:
    if node is not None and isinstance(node.value, dict):
        yield from node.value.items()


def _model_alias(root: Node, cluster: LoadedCluster) -> tuple[Node, list[Problem], tuple[str, ...]]:
    """The tree, warnings, and the alias that was used, if one was."""
    path: Path = ("model", "path")
    node = find(root, path)
    if node is None or not isinstance(node.value, str):
        return root, [], ()
    target = find(cluster.source.root, ("model_paths", node.value))
    if target is not None:
        return put(root, path, moved(target, node.key)), [], (node.value,)
    if "/" in node.value or node.value.startswith(("hf:", ".", "~")):
        return root, [], ()
    warning = _unknown_alias(path, node.value, "model_paths", cluster, "write a path or hf:ORGANISATION/NAME")
    return root, [warning], ()


def _image_aliases(root: Node, cluster: LoadedCluster) -> tuple[Node, tuple[Problem, ...], set[str]]:
    used: set[str] = set()
    warnings: list[Problem] = []
    for path, node in list(walk(root)):
        name = node.value
        if not path or path[-1] not in _IMAGES or _OPAQUE & set(path) or not isinstance(name, str) or not name:
            continue
        target = find(cluster.source.root, ("containers", name))
        if target is not None:
            used.add(name)
            root = put(root, path, moved(target, node.key))
        elif not any(sign in name for sign in "/:") and not name.endswith((".sqsh", ".sif")):
            warnings.append(_unknown_alias(path, name, "containers", cluster, "write the image itself"))
    return root, tuple(warnings), used


def _unknown_alias(path: Path, name: str, table: str, cluster: LoadedCluster, instead: str) -> Problem:
    where = f"{table} of {cluster.file}" if cluster.file else f"{table}, as there is no cluster file"
    message = f"'{name}' looks like an alias and is not in {where}; add it there, or {instead}"
    return Problem(where=join(path), message=message, severity="warning")


def _mounts(cluster: Cluster, recipe: Recipe) -> tuple[str, ...]:
    mounts: dict[str, str] = {}
    for table in (cluster.default_mounts, recipe.container_mounts):
        _add(mounts, table)
    for item in recipe.extra_mount:
        target = item.split(":")[1]
        mounts.pop(target, None)
        mounts[target] = item
    return tuple(mounts.values())


def _add(mounts: dict[str, str], table: Mapping[str, str]) -> None:
    for host, target in table.items():
        key = target.split(":")[0]
        mounts.pop(key, None)
        mounts[key] = f"{host}:{target}"
