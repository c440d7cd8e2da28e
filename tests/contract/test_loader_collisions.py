"""Two claims on one type: never decided by the order of folders."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from inferlane.cli.main import main
from inferlane.errors import EXIT_FAILED, EXIT_OK, EXIT_PLUGIN
from inferlane.plugins import Plugins
from inferlane.testing.plugin_site import PluginSite, engine_source

MakeSite = Callable[[str], PluginSite]


def two_claims(make: MakeSite, order: tuple[str, str], type: str = "vendorx") -> None:
    for name in order:
        make(name).add_engine(name, type, engine_source(type), version="1.0" if name == "plug-a" else "2.0")


@pytest.mark.parametrize("order", [("plug-a", "plug-b"), ("plug-b", "plug-a")])
def test_a_type_of_two_distributions_is_refused_with_both_named(
    make_plugin_site: MakeSite, capsys: pytest.CaptureFixture[str], order: tuple[str, str]
) -> None:
    """The message is the same in both path orders."""
    two_claims(make_plugin_site, order)

    assert main(["plugins", "show", "engine", "vendorx"]) == EXIT_PLUGIN

    assert capsys.readouterr().err == (
        "error: engine 'vendorx' is claimed by plug-a 1.0 (plug_a) and plug-b 2.0 (plug_b); "
        "switch one off by its distribution: --disable plug-a or --disable plug-b\n"
    )


@pytest.mark.parametrize("order", [("plug-a", "plug-b"), ("plug-b", "plug-a")])
def test_a_built_in_type_cannot_be_taken_over(
    make_plugin_site: MakeSite, capsys: pytest.CaptureFixture[str], order: tuple[str, str]
) -> None:
    """The built-in name still means ours."""
    two_claims(make_plugin_site, order, type="mock")

    assert main(["plugins", "show", "engine", "mock"]) == EXIT_OK

    output = capsys.readouterr()
    assert "from inferlane 0.1.0, inferlane.builtin.mock" in output.out
    assert output.err == ""


def test_a_first_party_name_is_refused_when_somebody_else_claims_it_too(
    make_plugin_site: MakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two distributions that both claim one engine of this project's plugins."""
    two_claims(make_plugin_site, ("inferlane-vllm-mori", "plug-b"), type="vllm")

    assert main(["plugins", "show", "engine", "vllm"]) == EXIT_PLUGIN

    error = capsys.readouterr().err
    assert "inferlane-vllm-mori 2.0" in error
    assert "plug-b 2.0" in error


def test_a_built_in_type_that_was_switched_off_is_not_handed_to_a_claimant(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-a", "mock", engine_source("mock"))

    assert main(["--disable", "inferlane", "plugins", "show", "engine", "mock"]) == EXIT_PLUGIN

    assert "engine 'mock' (inferlane 0.1.0) is switched off by --disable inferlane" in capsys.readouterr().err
    assert plugin_site.imported() == ()


def test_switching_one_claimant_off_by_distribution_frees_the_type(make_plugin_site: MakeSite) -> None:
    two_claims(make_plugin_site, ("plug-a", "plug-b"))

    assert Plugins(disable=["Plug_A"]).engine("vendorx").distribution == "plug-b"


def test_list_shows_conflicts_and_overridden_claims(
    make_plugin_site: MakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    two_claims(make_plugin_site, ("plug-a", "plug-b"))
    make_plugin_site("c").add_engine("plug-c", "mock", engine_source("mock"))

    assert main(["plugins", "list", "--json"]) == EXIT_OK

    rows = {(row["type"], row["distribution"]): row for row in json.loads(capsys.readouterr().out)}
    assert rows["vendorx", "plug-a"]["state"] == "conflict"
    assert rows["vendorx", "plug-a"]["reason"] == "also claimed by plug-b 2.0"
    assert rows["vendorx", "plug-b"]["state"] == "conflict"
    assert rows["mock", "plug-c"]["state"] == "overridden"
    assert rows["mock", "inferlane"]["state"] == "ok"


def test_doctor_reports_a_conflict_once_and_fails_on_it_only_when_strict(
    make_plugin_site: MakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    two_claims(make_plugin_site, ("plug-a", "plug-b"))

    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()

    assert sum("engine 'vendorx' is claimed by plug-a 1.0" in line for line in lines) == 1
    assert main(["doctor", "--strict"]) == EXIT_FAILED


def test_one_module_may_stand_in_two_groups(plugin_site: PluginSite) -> None:
    body = """
    @hookimpl
    def inferlane_routers():
        return [RouterSpec(type="x", summary="", config=RouterConfig, accepts=(Accept(protocol="openai"),))]
    """
    plugin_site.add(
        "plug-x",
        modules={"plug_x": engine_source("x", body)},
        entry_points={"inferlane.engines": {"x": "plug_x"}, "inferlane.routers": {"x": "plug_x"}},
    )
    plugins = Plugins()

    router, engine = plugins.router("x"), plugins.engine("x")

    assert plugins.loaded() == (engine, router)
    assert [owner.kind for owner in plugins.loaded()] == ["engine", "router"]
    assert plugins.engine("x") is engine
