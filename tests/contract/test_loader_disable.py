"""Switches act before import, by type or by distribution; built-ins stay unless they are named."""

from __future__ import annotations

import pytest

from inferlane.cli.main import main
from inferlane.errors import EXIT_OK, EXIT_PLUGIN, EXIT_USAGE, PluginFault, UsageFault
from inferlane.plugins import MissingPlugin, Plugins
from inferlane.testing.plugin_site import PluginSite

EXITS = "raise SystemExit('imported')"


@pytest.mark.parametrize("name", ["bad", "plug-bad", "Plug_Bad", "PLUG.BAD"])
def test_a_plugin_can_be_left_out_by_type_or_any_spelling_of_its_distribution(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    plugin_site.add_engine("plug-bad", "bad", EXITS)

    assert main(["--disable", name, "plugins", "show", "engine", "bad"]) == EXIT_PLUGIN

    error = capsys.readouterr().err
    assert error == f"error: engine 'bad' (plug-bad 1.0) is switched off by --disable {name}; remove that to use it\n"
    assert plugin_site.imported() == ()


@pytest.mark.parametrize("arguments", [["--no-plugins"], ["--disable", "*"]])
def test_leaving_out_all_plugins_spares_the_built_ins(plugin_site: PluginSite, arguments: list[str]) -> None:
    plugin_site.add_engine("plug-bad", "bad", EXITS)

    assert main([*arguments, "plugins", "show", "engine", "mock"]) == EXIT_OK
    assert main([*arguments, "plugins", "show", "engine", "bad"]) == EXIT_PLUGIN
    assert plugin_site.imported() == ()


def test_the_environment_lists_several_names(plugin_site: PluginSite) -> None:
    plugin_site.add_engine("plug-a", "a", EXITS)
    plugin_site.add_engine("plug-b", "b", EXITS)
    plugins = Plugins.from_environment({"INFERLANE_DISABLE_PLUGINS": "a, plug_b,"})

    for word in ("a", "b"):
        with pytest.raises(PluginFault, match="is switched off by INFERLANE_DISABLE_PLUGINS="):
            plugins.engine(word)


def test_a_star_in_the_environment_leaves_only_built_ins(plugin_site: PluginSite) -> None:
    plugin_site.add_engine("plug-a", "a", EXITS)
    plugins = Plugins.from_environment({"INFERLANE_DISABLE_PLUGINS": "*"})

    assert plugins.installed("engine") == ("mock",)


def test_a_built_in_can_be_left_out_by_name() -> None:
    with pytest.raises(PluginFault, match=r"engine 'mock' .* switched off by --disable mock"):
        Plugins(disable=["mock"]).engine("mock")


def test_an_unknown_type_is_a_usage_error_with_a_suggestion_and_the_installed_list(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-a", "vendorx", EXITS)

    assert main(["--disable", "inferlane-sglang", "plugins", "show", "engine", "vendorxx"]) == EXIT_USAGE

    error = capsys.readouterr().err
    assert error.startswith("error: no installed plugin adds engine 'vendorxx'; did you mean 'vendorx'? installed: ")
    assert "mock" in error


def test_a_missing_first_party_plugin_gets_its_exact_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from inferlane.plugins import registry
    from inferlane.plugins.discovery import Scan

    monkeypatch.setattr(registry, "discover", lambda: Scan(()))

    with pytest.raises(MissingPlugin) as caught:
        Plugins().engine("sglang")
    assert caught.value.install == "pip install inferlane-sglang"
    assert str(caught.value) == "engine 'sglang' needs a plugin that is not installed: pip install inferlane-sglang"
    with pytest.raises(UsageFault, match=r"did you mean 'sglang'\? \(pip install inferlane-sglang\) installed: none"):
        Plugins().engine("sglng")


def test_a_first_party_plugin_that_is_too_old_for_a_type_gets_the_upgrade_command(plugin_site: PluginSite) -> None:
    plugin_site.add_engine("inferlane-atom", "other", EXITS, version="0.0.1")

    with pytest.raises(PluginFault, match=r"is not in the installed inferlane-atom 0.0.1: pip install -U inferlane-a"):
        Plugins().router("atomesh")


def test_doctor_names_a_switch_that_matches_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--disable", "no-such-plugin", "doctor"])

    assert "--disable no-such-plugin: matches no installed type or distribution" in capsys.readouterr().out
