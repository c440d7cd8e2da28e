"""Hooks that fail when they are called: named in one line; good answers are copies of the annotated type."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from inferlane.api import Command
from inferlane.errors import PluginFault
from inferlane.plugins import Engine, Plugins
from inferlane.testing.plugin_site import PluginSite, engine_source

PROCESS: Any = SimpleNamespace(name="prefill0")
ANY: Any = None


def engine_that_answers(site: PluginSite, answer: str) -> Engine:
    body = f"@hookimpl\ndef inferlane_engine_command(engine):\n    return {answer}"
    site.add_engine("plug-x", "x", engine_source("x", body), version="2.0")
    return Plugins().engine("x")


BAD = {
    "wrong item": ("Command(program=('a',), args=(8000,))", "Expected `str`, got `int` - at `$.args[0]`"),
    "another value": ("Export()", "Expected `Command`, got `Export`"),
    "a mapping": ("{'program': ('a',)}", "Expected `Command`, got `dict`"),
    "a set": ("Command(program=('a',), args={'b', 'c'})", "Expected plain data, got `set` - at `$.args`"),
    "bytes": ("Command(program=('a',), args=(b'x',))", "Expected plain data, got `bytes` - at `$.args[0]`"),
    "text for a tuple": ("Command(program='serve')", "Expected `array`, got `str` - at `$.program`"),
    "number as a name": ("Command(program=('a',), env={1: 'x'})", "Expected `str` keys, got `int` - at `$.env`"),
    "not a number": ("Command(program=('a',), needs=(Need(kind='gpu', value='1'),))", "Invalid enum value 'gpu'"),
    "false": ("False", "Expected `Command`, got `bool`"),
}


@pytest.mark.parametrize(("answer", "cause"), BAD.values(), ids=BAD.keys())
def test_a_bad_answer_names_plugin_version_hook_and_place(plugin_site: PluginSite, answer: str, cause: str) -> None:
    engine = engine_that_answers(plugin_site, answer)

    with pytest.raises(PluginFault) as caught:
        engine.command(ANY, PROCESS, ANY)

    text = str(caught.value)
    assert text.startswith("plugin x (plug-x 2.0): hook inferlane_engine_command answered badly: ")
    assert cause in text
    assert "\n" not in text


def test_a_hook_that_raises_is_named_with_the_exception(plugin_site: PluginSite) -> None:
    engine = engine_that_answers(plugin_site, "1 / 0")

    with pytest.raises(PluginFault) as caught:
        engine.command(ANY, PROCESS, ANY)

    assert str(caught.value) == (
        "plugin x (plug-x 2.0): hook inferlane_engine_command raised ZeroDivisionError: division by zero; "
        "upgrade plug-x or report it to its author"
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_no_command_for_a_process_is_a_fault_that_names_the_process(plugin_site: PluginSite) -> None:
    engine = engine_that_answers(plugin_site, "None")

    with pytest.raises(PluginFault, match="hook inferlane_engine_command answered nothing for prefill0"):
        engine.command(ANY, PROCESS, ANY)


def test_a_hook_that_is_not_implemented_gives_the_default(plugin_site: PluginSite) -> None:
    engine = engine_that_answers(plugin_site, "None")

    assert engine.layout(ANY, ANY, ANY) is None
    assert engine.gates(ANY, PROCESS, ANY) == ()
    assert engine.doctor() == ()


def test_an_answer_is_a_copy_that_the_plugin_cannot_change_later(plugin_site: PluginSite) -> None:
    body = """
    import types
    ENV = {"A": "1", "B": None}
    @hookimpl
    def inferlane_engine_command(engine):
        return Command(program=["serve"], env=ENV, env_defaults=types.MappingProxyType({"C": "2"}))
    """
    module = plugin_site.add_engine("plug-x", "x", engine_source("x", body))
    answer = Plugins().engine("x").command(ANY, PROCESS, ANY)

    import sys

    sys.modules[module].ENV["A"] = "changed"

    assert answer == Command(program=("serve",), env={"A": "1", "B": None}, env_defaults={"C": "2"})


def test_a_block_is_parsed_by_the_model_that_the_plugin_declares(plugin_site: PluginSite) -> None:
    plugin_site.add_engine("plug-x", "x", engine_source("x"))
    engine = Plugins().engine("x")

    assert engine.parse({}).type == "x"
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        engine.parse({"absent": 1})


def test_a_model_whose_validator_breaks_is_a_fault_of_the_plugin(plugin_site: PluginSite) -> None:
    source = """
    from inferlane.api import *
    from pydantic import model_validator
    PLUGIN_API = 1
    class Broken(EngineConfig):
        @model_validator(mode="after")
        def look(self):
            raise LookupError("no such thing")
    @hookimpl
    def inferlane_engines():
        return [EngineSpec(type="x", summary="", config=Broken, speaks=("openai",))]
    """
    plugin_site.add_engine("plug-x", "x", source)

    with pytest.raises(PluginFault, match=r"plugin x \(plug-x 1.0\): its model Broken raised LookupError"):
        Plugins().engine("x").parse({})


def test_validate_asks_each_module_once_and_isolates_one_that_fails(plugin_site: PluginSite) -> None:
    two = """
    from inferlane.api import *
    PLUGIN_API = 1
    @hookimpl
    def inferlane_engines():
        return [EngineSpec(type=t, summary="", config=EngineConfig, speaks=("openai",)) for t in ("a", "b")]
    @hookimpl
    def inferlane_validate(plan):
        return [Problem(message="said once")]
    """
    plugin_site.add(
        "plug-two", modules={"plug_two": two}, entry_points={"inferlane.engines": {"a": "plug_two", "b": "plug_two"}}
    )
    body = "@hookimpl\ndef inferlane_validate(plan):\n    raise OSError('no')"
    plugin_site.add_engine("plug-x", "x", engine_source("x", body))
    plugins = Plugins()
    for word in ("x", "b", "a"):
        plugins.engine(word)

    messages = [problem.message for problem in plugins.validate(ANY, plugins.loaded())]

    assert messages[0] == "said once"
    assert len(messages) == 2
    assert "hook inferlane_validate raised OSError: no" in messages[1]
