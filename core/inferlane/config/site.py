"""``load_cluster``: find the cluster file, expand its variables, check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from inferlane.config.checks import site_disagreements
from inferlane.config.cluster import Cluster
from inferlane.config.expand import Unset, expand
from inferlane.config.faults import FileRefused, refuse
from inferlane.config.files import read
from inferlane.config.keys import sort_keys
from inferlane.config.load import faults_of, validate
from inferlane.config.nodes import Mark, Node, mapping, without
from inferlane.config.paths import join
from inferlane.config.source import CLUSTER, SourceMap
from inferlane.values import Problem

VARIABLES = ("INFERLANE_CLUSTER", "SRTSLURM_CONFIG")
FILES = ("inferlane.yaml", "srtslurm.yaml")
_PARENTS = 2


class LoadedCluster(msgspec.Struct, frozen=True):
    """``file``: how the file is named in messages, ``None`` without one. ``inert``: paths without effect here.
    ``unset``: variables that are not set, and where; ``run`` refuses them. ``references``: variables that stay so,
    because they hold secrets. ``secrets``: secret variables that stand inside other values, with theirs.
    """

    cluster: Cluster
    source: SourceMap
    file: str | None = None
    inert: tuple[str, ...] = ()
    unset: tuple[Unset, ...] = ()
    references: tuple[str, ...] = ()
    secrets: Mapping[str, str] = {}

    @property
    def unresolved(self) -> tuple[Problem, ...]:
        """One warning per variable that is not set."""
        return unset_warnings(self.unset)


def load_cluster(path: Path | str | None, environ: Mapping[str, str], cwd: Path) -> LoadedCluster:
    """The cluster file: ``path``, else ``INFERLANE_CLUSTER``, else ``SRTSLURM_CONFIG``, else ``inferlane.yaml`` or
    ``srtslurm.yaml`` in ``cwd`` or its two parents, else an empty one. Raises :class:`~inferlane.errors.Refused`.
    """
    found = find_cluster(path, environ, cwd)
    if found is None:
        empty = Mark("no cluster file")
        return LoadedCluster(Cluster.model_construct(), SourceMap(mapping({}, empty, empty), "cluster"))
    file, shown = found
    return cluster_from(read(file, shown), shown, environ)


def find_cluster(path: Path | str | None, environ: Mapping[str, str], cwd: Path) -> tuple[Path, str] | None:
    """The cluster file and its name for messages. A variable that names a missing file is refused."""
    if path is not None:
        return cwd / path, str(path)
    for name in VARIABLES:
        value = environ.get(name)
        if value:
            file = cwd / value
            if not file.exists():
                refuse(value, f"no such file, but {name} names it; correct the variable or unset it")
            return file, value
    for folder in (cwd, *list(cwd.parents)[:_PARENTS]):
        for name in FILES:
            if (folder / name).is_file():
                return folder / name, name if folder == cwd else str(folder / name)
    return None


def cluster_from(root: Node, file: str, environ: Mapping[str, str]) -> LoadedCluster:
    """The checked cluster of a tree."""
    sorted_keys = sort_keys(root, "cluster")
    expanded = expand(sorted_keys.root, environ)
    tree = expanded.root
    cluster, faults = validate(Cluster, tree, "cluster")
    # A value whose variable is not set cannot be judged; it counts as absent until it is.
    unset = {item.path for item in expanded.unset}
    hidden = [fault for fault in faults if fault.path in unset]
    if hidden:
        for fault in hidden:
            tree = without(tree, fault.path)
        cluster, faults = validate(Cluster, tree, "cluster")
    faults += sorted_keys.faults
    if cluster is not None:
        faults += faults_of(site_disagreements(cluster), tree)
    if faults or cluster is None:
        raise FileRefused(map(expanded.masked, faults), CLUSTER)
    source = SourceMap(tree, "cluster", sorted_keys.spellings)
    left = expanded.unset, expanded.references, expanded.secrets
    return LoadedCluster(cluster, source, file, sorted_keys.inert, *left)


def unset_warnings(unset: Iterable[Unset]) -> tuple[Problem, ...]:
    """One warning per variable, at the first place that refers to it."""
    places: dict[str, list[Unset]] = {}
    for item in unset:
        places.setdefault(item.name, []).append(item)
    return tuple(_warning(name, items) for name, items in places.items())


def _warning(name: str, items: list[Unset]) -> Problem:
    more = f" (nor for {len(items) - 1} more places)" if len(items) > 1 else ""
    message = f"the variable {name} is not set{more}; export it, or write the value here"
    return Problem(where=CLUSTER + join(items[0].path), message=message, severity="warning")
