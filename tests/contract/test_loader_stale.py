"""Metadata that was left behind: named with its version, never a silent winner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inferlane.cli.main import main
from inferlane.errors import EXIT_OK, EXIT_PLUGIN
from inferlane.plugins import Plugins
from inferlane.testing.plugin_site import PluginSite, engine_source


def stale(site: PluginSite, version: str, target: str) -> None:
    site.add("plug-x", version, entry_points={"inferlane.engines": {"x": target}})


def test_a_stale_record_that_points_elsewhere_is_refused_with_both_versions(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-x", "x", engine_source("x"), version="2.0")
    stale(plugin_site, "1.0", "plug_x_before")

    assert main(["plugins", "show", "engine", "x"]) == EXIT_PLUGIN

    assert capsys.readouterr().err == (
        "error: engine 'x' is claimed by plug-x 1.0 (plug_x_before) and plug-x 2.0 (plug_x); "
        "its metadata is installed twice: pip install --force-reinstall plug-x\n"
    )


def test_a_stale_record_that_points_at_the_same_module_is_harmless_and_listed(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-x", "x", engine_source("x"), version="1.10")
    stale(plugin_site, "1.9", "plug_x")

    assert Plugins().engine("x").version == "1.10"
    assert main(["plugins", "list"]) == EXIT_OK
    line = next(line for line in capsys.readouterr().out.splitlines() if " 1.9 " in line)
    assert "stale (plug-x 1.10 in" in line


def test_an_entry_whose_code_is_gone_is_one_line_with_version_and_repair(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    stale(plugin_site, "1.0", "plug_x.engine")

    assert main(["plugins", "show", "engine", "x"]) == EXIT_PLUGIN

    error = capsys.readouterr().err
    assert error.startswith("error: plugin x (plug-x 1.0) cannot be imported [inferlane.engines: x = plug_x.engine]")
    assert "is stale or its code is gone: pip install --force-reinstall plug-x" in error


def test_a_folder_in_front_hides_the_copy_behind_it_as_it_does_for_the_code(
    make_plugin_site: Callable[[str], PluginSite],
) -> None:
    make_plugin_site("behind").add_engine("plug-x", "x", engine_source("x"), version="3.0")
    make_plugin_site("front").add_engine("plug-x", "x", engine_source("x"), version="1.0")
    plugins = Plugins()

    assert plugins.engine("x").version == "1.0"
    states = {entry.candidate.version: entry.state for entry in plugins.entries() if entry.candidate.type == "x"}
    assert states == {"1.0": "ok", "3.0": "stale"}


def test_unreadable_metadata_of_one_distribution_hides_nothing_else(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-x", "x", engine_source("x"))
    plugin_site.add("plug-bad", entry_points={"inferlane.engines": {"bad": "bad"}})
    broken = plugin_site.folder / "plug_bad-1.0.dist-info" / "entry_points.txt"
    broken.write_bytes(b"[inferlane.engines]\n\xff\xfe = x\n")

    assert main(["plugins", "list"]) == EXIT_OK

    output = capsys.readouterr()
    assert " x " in output.out
    assert "unreadable metadata: UnicodeDecodeError" in output.err


@pytest.mark.parametrize("target", ["", "not a module!", ":thing", "plug_x:absent.thing"])
def test_a_target_that_is_no_module_is_one_line(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    plugin_site.add("plug-x", modules={"plug_x": ""}, entry_points={"inferlane.engines": {"x": target}})

    assert main(["plugins", "list"]) == EXIT_OK
    assert main(["plugins", "show", "engine", "x"]) == EXIT_PLUGIN

    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert "plug-x 1.0" in error[0]
