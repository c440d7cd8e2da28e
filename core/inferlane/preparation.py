"""From what a user typed to a plan: recipe, cluster file, plugins, and faults with their places."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from inferlane.config import (
    Cluster,
    FileRefused,
    LoadedCluster,
    LoadedRecipe,
    Recipe,
    Resolved,
    SourceMap,
    here,
    is_secret,
    load_cluster,
    load_recipe,
    report,
    resolve,
)
from inferlane.config.nodes import plain
from inferlane.errors import Refused, UsageFault
from inferlane.planning import Shape, build_plan
from inferlane.planning.environment import Trace
from inferlane.planning.secrets import hide_secrets, masked, references
from inferlane.planning.wants import block_problems, blocks_of
from inferlane.plugins import Plugins
from inferlane.values import Plan, Problem


class Request(msgspec.Struct, frozen=True):
    """What the command line says: the recipe (``file.yaml`` or ``file.yaml:selector``), the cluster file, edits."""

    recipe: str
    cluster: str | None = None
    sets: tuple[str, ...] = ()
    unsets: tuple[str, ...] = ()


class Prepared(msgspec.Struct, frozen=True):
    """Everything that is known before an allocation is.

    ``hidden`` and ``site``: recipe and cluster settings as planned, without literal secrets. ``secrets``: reference to
    value, for whoever starts processes.
    """

    recipe: LoadedRecipe
    cluster: LoadedCluster
    resolved: Resolved
    plugins: Plugins
    hidden: Recipe
    site: Cluster
    secrets: Mapping[str, str]

    def plan(self, shape: Shape, trace: Trace | None = None) -> Plan:
        """The plan for ``shape``; faults raise :class:`UsageFault` with file, line and column of each."""
        try:
            return build_plan(self.hidden, self.site, shape, self.plugins, trace)
        except Refused as refused:
            errors = [problem for problem in refused.problems if problem.severity == "error"]
            raise UsageFault("\n".join(self.lines(errors))) from refused

    def place(self, path: str) -> str:
        """``file:line:col`` of a recipe path, or of a cluster path with the prefix ``cluster:``."""
        source = self.resolved.cluster_source if path.startswith("cluster:") else self.resolved.source
        return source.where(path)

    def notes(self, plan: Plan) -> list[str]:
        """Everything a person should know of a plan that holds: warnings by place, and one line on inert keys."""
        lines = self.lines([*self.resolved.unresolved, *plan.warnings])
        if self.resolved.inert:
            lines.append(f"note: no effect here: {', '.join(self.resolved.inert)}")
        idle = [switch.origin for switch in self.plugins.idle_switches()]
        return [*lines, *(f"warning: {origin}: nothing installed is called so" for origin in idle)]

    def lines(self, problems: Sequence[Problem]) -> list[str]:
        """Problems as lines for a person, sorted by place."""
        return report(problems, self.resolved.source, self.resolved.cluster_source)


def prepare(request: Request, plugins: Plugins) -> Prepared:
    """Read and resolve the one recipe that is meant; raises :class:`UsageFault` (or its subclasses) for whatever is
    wrong with the files.
    """
    recipe = checked(lambda: load_recipe(request.recipe, request.sets, request.unsets), plugins)
    return on_site(recipe, load_cluster(request.cluster, os.environ, here()), plugins)


def checked(load: Callable[[], LoadedRecipe], plugins: Plugins) -> LoadedRecipe:
    """What ``load`` gives; its faults come with those that plugins find in their blocks."""
    try:
        return load()
    except FileRefused as refused:
        text = "\n".join(_with_blocks(refused, plugins))
        raise UsageFault(masked(text, plain(refused.root)) if refused.root is not None else text) from refused


def on_site(recipe: LoadedRecipe, cluster: LoadedCluster, plugins: Plugins) -> Prepared:
    """A recipe on a cluster, resolved."""
    resolved = resolve(recipe, cluster)
    named = {*references(plain(recipe.source.root)), *cluster.references}
    called = {name: os.environ[name] for name in sorted(named) if is_secret(name) and name in os.environ}
    hidden, site, secrets = hide_secrets(resolved.recipe, resolved.cluster, {**called, **cluster.secrets})
    return Prepared(recipe, cluster, resolved, plugins, hidden, site, secrets)


def _with_blocks(refused: FileRefused, plugins: Plugins) -> list[str]:
    """The lines of a document's faults with those that plugins find in their blocks, so that all come at once."""
    if refused.root is None:
        return list(refused.lines)
    source = SourceMap(refused.root)
    problems = block_problems(blocks_of(plain(refused.root)), plugins)
    told = {(problem.where, problem.message) for problem in refused.problems}
    lines = [(fault.mark, str(fault)) for fault in refused.faults]
    lines += [
        (source.mark(problem.where), report([problem], source)[0])
        for problem in problems
        if (problem.where, problem.message) not in told
    ]
    return [line for _, line in sorted(lines)]
