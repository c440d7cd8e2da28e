"""What is said of plugins that are known and not installed, alone and beside other faults."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.errors import PluginFault
from inferlane.plugins import Plugins
from inferlane.plugins.registry import MissingPlugin
from inferlane.testing.plans import plan_of, problems_of, recipe_block

AGG = {"agg": {"nodes": 1, "gpus": 1}}


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """Where the plugins ``one`` (engine and router) and ``two`` (service) are not installed."""
    found = Plugins()
    owner = found.owner
    install = {"one": "pip install plug-one", "one-router": "pip install plug-one", "two": "pip install plug-two"}

    def missing(kind: Any, type: str) -> Any:
        if type in install:
            raise MissingPlugin(f"{kind} '{type}' needs a plugin that is not installed", install[type])
        return owner(kind, type)

    monkeypatch.setattr(found, "owner", missing)
    return found


def test_each_missing_distribution_is_named_once(plugins: Plugins) -> None:
    recipe = recipe_block("one", "one-router", AGG, services=[{"type": "two"}])
    with pytest.raises(PluginFault) as caught:
        plan_of(recipe, plugins=plugins)
    assert str(caught.value).splitlines() == [
        "engine 'one' needs a plugin that is not installed: pip install plug-one",
        "service 'two' needs a plugin that is not installed: pip install plug-two",
    ]


def test_other_faults_of_the_recipe_are_told_beside_a_missing_plugin(plugins: Plugins) -> None:
    found = problems_of(recipe_block("one", "nope", AGG), plugins=plugins)
    assert [problem.where for problem in found] == ["frontend.type", "engine.type"]
    assert found[0].message.startswith("no installed plugin adds router 'nope'")
    assert found[1].message == "engine 'one' needs a plugin that is not installed: pip install plug-one"
