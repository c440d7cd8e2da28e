"""Fixtures for plugin authors; pytest finds them through the entry point ``inferlane`` of ``pytest11``.

Nothing heavy at module level: this is imported at every start of pytest wherever the core is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from inferlane.testing.plugin_site import PluginSite

# editable installs of the core are not rewritten by themselves on every pytest that we support
pytest.register_assert_rewrite("inferlane.testing.conformance", "inferlane.testing.plugin_site")


@pytest.fixture
def make_plugin_site(tmp_path: Path) -> Iterator[Callable[[str], PluginSite]]:
    """Makes folders of distributions, each put in front of ``sys.path``; all are taken away after the test."""
    from inferlane.testing.plugin_site import PluginSite

    sites: list[PluginSite] = []

    def make(name: str) -> PluginSite:
        site = PluginSite(tmp_path / name)
        site.activate()
        sites.append(site)
        return site

    yield make
    for site in reversed(sites):
        site.deactivate()


@pytest.fixture
def plugin_site(make_plugin_site: Callable[[str], PluginSite]) -> PluginSite:
    """One folder of distributions on ``sys.path``, see :class:`inferlane.testing.plugin_site.PluginSite`."""
    return make_plugin_site("plugin-site")
