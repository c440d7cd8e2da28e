"""The plugins of ``cases/``, visible to a test as if they were installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inferlane.planning import Shape
from inferlane.plugins import Plugins, registry
from inferlane.plugins.discovery import Scan, discover
from inferlane.testing.plans import plan_of, problems_of
from inferlane.testing.plugin_site import PluginSite, engine_source
from inferlane.values import Plan, Problem


@pytest.fixture
def case_site() -> Iterator[PluginSite]:
    """The folder of the case plugins, on ``sys.path`` until the test ends."""
    site = PluginSite(Path(__file__).parent / "cases")
    site.activate()
    yield site
    site.deactivate()


@pytest.fixture
def cases(case_site: PluginSite) -> ModuleType:
    """The recipes of the cases."""
    return importlib.import_module("case_plugins.recipes")


@pytest.fixture
def plan(case_site: PluginSite) -> Callable[..., Plan]:
    """Plans a recipe; keywords are those of :class:`Shape`."""

    def build(recipe: Mapping[str, Any], cluster: Mapping[str, Any] | None = None, **shape: Any) -> Plan:
        return plan_of(recipe, cluster, shape=Shape(**shape), plugins=Plugins())

    return build


@pytest.fixture
def refusal(case_site: PluginSite) -> Callable[..., tuple[Problem, ...]]:
    """Plans a recipe that must be refused, and gives the problems; keywords are those of :class:`Shape`."""

    def build(recipe: Mapping[str, Any], cluster: Mapping[str, Any] | None = None, **shape: Any) -> tuple[Problem, ...]:
        return problems_of(recipe, cluster, shape=Shape(**shape), plugins=Plugins())

    return build


@pytest.fixture
def case_plugin(plugin_site: PluginSite) -> Callable[..., None]:
    """Installs a distribution of one module for this test: an engine from its hooks, or a whole module's text."""

    def install(distribution: str, group: str, type: str, text: str, speaks: str = "openai") -> None:
        if "PLUGIN_API" not in text:
            text = engine_source(type, text).replace("'openai'", repr(speaks)).replace('"openai"', repr(speaks))
        module = distribution.replace("-", "_")
        plugin_site.add(distribution, modules={module: text}, entry_points={group: {type: module}})

    return install


@pytest.fixture
def without_distribution(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hides a distribution from the scan, as if it were not installed."""

    def hide(name: str) -> None:
        def scan() -> Scan:
            found = discover()
            return Scan(tuple(c for c in found.candidates if c.distribution != name), found.unreadable)

        monkeypatch.setattr(registry, "discover", scan)

    return hide
