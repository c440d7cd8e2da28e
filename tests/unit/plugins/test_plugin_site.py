"""The fixture leaves nothing behind."""

from __future__ import annotations

import sys
from pathlib import Path

from inferlane.plugins import Plugins
from inferlane.testing.plugin_site import PluginSite, engine_source


def test_a_site_is_seen_while_it_is_active_and_gone_after(tmp_path: Path) -> None:
    before = list(sys.path)
    site = PluginSite(tmp_path / 'it\'s a "site"')
    site.add_engine("plug-x", "x", engine_source("x"))
    site.activate()
    try:
        assert Plugins().engine("x").distribution == "plug-x"
        assert site.imported() == ("plug_x",)
    finally:
        site.deactivate()

    assert sys.path == before
    assert "plug_x" not in sys.modules
    assert "x" not in Plugins().installed("engine")


def test_a_subprocess_gets_the_site_in_front_of_its_own_path(tmp_path: Path) -> None:
    environ = PluginSite(tmp_path).environ({"PYTHONPATH": "elsewhere", "HOME": "/home/user"})

    assert environ == {"PYTHONPATH": f"{tmp_path}:elsewhere", "HOME": "/home/user"}
