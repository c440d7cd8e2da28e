"""Every way in which a plugin can be broken: harmless when nobody needs it, one useful line when somebody does."""

from __future__ import annotations

import pytest

from inferlane.cli.main import main
from inferlane.errors import EXIT_OK, EXIT_PLUGIN
from inferlane.testing.plugin_site import PluginSite, engine_source

CATALOGUE = """\
from inferlane.api import *

PLUGIN_API = 1


@hookimpl
def inferlane_engines():
    return {answer}
"""

BROKEN = {
    "import error": ("import absent_library", "ModuleNotFoundError: No module named 'absent_library'"),
    "syntax error": ("def broken(:", "SyntaxError"),
    "exit at import": ("raise SystemExit(4)", "SystemExit: 4"),
    "exception of several lines": ("raise ValueError('one\\ntwo')", "ValueError: one two"),
    "no API number": ("x = 1", "add PLUGIN_API = 1"),
    "API number is text": ("PLUGIN_API = '1'", "PLUGIN_API must be an integer, not '1'"),
    "too new API": ("PLUGIN_API = 2", "needs plugin API 2, this inferlane"),
    "too old API": ("PLUGIN_API = 0", "was written for plugin API 0"),
    "no hook at all": ("PLUGIN_API = 1", "it implements no hook"),
    "unknown hook": (
        engine_source("broken", "@hookimpl\ndef inferlane_engine_comand(engine): ..."),
        "unknown hook inferlane_engine_comand; did you mean 'inferlane_engine_command'?",
    ),
    "unknown parameter": (
        engine_source("broken", "@hookimpl\ndef inferlane_engine_command(engine, proces): ..."),
        "inferlane_engine_command: unknown parameter proces; did you mean 'process'? (it offers: engine, process, run)",
    ),
    "default value": (
        engine_source("broken", "@hookimpl\ndef inferlane_engine_command(engine, run=None): ..."),
        "parameter run must not have a default",
    ),
    "keyword only": (
        engine_source("broken", "@hookimpl\ndef inferlane_engine_command(engine, *, run): ..."),
        "parameter run must be a plain positional one",
    ),
    "star arguments": (
        engine_source("broken", "@hookimpl\ndef inferlane_engine_command(*everything): ..."),
        "parameter *everything must be a plain positional one",
    ),
    "wrapper": (
        engine_source("broken", "@hookimpl(wrapper=True)\ndef inferlane_engine_command(): return (yield)"),
        "inferlane_engine_command is a wrapper",
    ),
    "look-alike": (
        engine_source("broken", "def inferlane_engine_command(engine): ..."),
        "inferlane_engine_command is not marked with @inferlane.api.hookimpl",
    ),
    "marker of another project": (
        engine_source(
            "broken", "import pluggy\n@pluggy.HookimplMarker('other')\ndef inferlane_engine_layout(engine): ..."
        ),
        "inferlane_engine_layout is not marked",
    ),
    "no catalogue": (
        "from inferlane.api import hookimpl\nPLUGIN_API = 1\n@hookimpl\ndef inferlane_doctor(): return []",
        "it does not implement inferlane_engines",
    ),
    "another type": (engine_source("other"), "inferlane_engines lists other, but not 'broken'"),
    "catalogue raises": (
        CATALOGUE.format(answer="{}['absent']"),
        "hook inferlane_engines raised KeyError: 'absent'",
    ),
    "catalogue exits": (CATALOGUE.format(answer="exit(0)"), "hook inferlane_engines raised SystemExit: 0"),
    "Spec of another kind": (
        CATALOGUE.format(answer="[BenchmarkSpec(type='broken', summary='', config=BenchmarkConfig)]"),
        "answered badly: Expected `EngineSpec`, got `BenchmarkSpec` - at `$[0]`",
    ),
    "configuration of another kind": (
        CATALOGUE.format(answer="[EngineSpec(type='broken', summary='', config=RouterConfig, speaks=())]"),
        "answered badly: Expected a subclass of `EngineConfig` - at `$[0].config`",
    ),
    "Spec with a wrong field": (
        CATALOGUE.format(answer="[EngineSpec(type='broken', summary='', config=EngineConfig, speaks=(1,))]"),
        "answered badly: Expected `str`, got `int` - at `$[0].speaks[0]`",
    ),
    "catalogue is a generator": (
        CATALOGUE.format(answer="(spec for spec in ())"),
        "answered badly: Expected `array`, got `generator`",
    ),
}
CASES = pytest.mark.parametrize(("source", "cause"), BROKEN.values(), ids=BROKEN.keys())


@CASES
def test_a_needed_broken_plugin_is_one_line_with_cause_version_and_next_step(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str], source: str, cause: str
) -> None:
    plugin_site.add_engine("plug-c", "broken", source, version="1.7")

    status = main(["plugins", "show", "engine", "broken"])

    error = capsys.readouterr().err.splitlines()
    assert status == EXIT_PLUGIN
    assert len(error) == 1, error
    assert error[0].startswith("error: plugin broken (plug-c 1.7)")
    assert cause in error[0]
    assert "--disable plug-c" in error[0] or "upgrade plug-c or report it" in error[0]


@CASES
def test_a_broken_plugin_that_nobody_needs_is_harmless_and_silent(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str], source: str, cause: str
) -> None:
    plugin_site.add_engine("plug-c", "broken", source)
    plugin_site.add_engine("plug-good", "good", engine_source("good"))

    assert main(["--help"]) == EXIT_OK
    assert main(["plugins", "list"]) == EXIT_OK
    assert main(["plugins", "show", "engine", "good"]) == EXIT_OK

    assert capsys.readouterr().err == ""
    assert plugin_site.imported() == ("plug_good",)


@CASES
def test_doctor_reports_a_broken_plugin_and_goes_on(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str], source: str, cause: str
) -> None:
    plugin_site.add_engine("plug-c", "broken", source)
    plugin_site.add_engine("plug-good", "good", engine_source("good"))

    main(["doctor"])

    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("warning") and "plug-c 1.0" in line and cause in line for line in lines)
    assert any(line.startswith("ok") and "engine good (plug-good 1.0)" in line for line in lines)


def test_several_faults_of_one_module_are_listed_together(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "@hookimpl\ndef inferlane_enginees(): ...\n@hookimpl\ndef inferlane_engine_gates(engin): ..."
    plugin_site.add_engine("plug-c", "broken", engine_source("broken", body))

    main(["plugins", "show", "engine", "broken"])

    error = capsys.readouterr().err
    assert "unknown hook inferlane_enginees" in error
    assert "unknown parameter engin" in error


def test_an_entry_point_that_names_a_class_is_refused(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add(
        "plug-c",
        modules={"plug_c": "class Engine: ..."},
        entry_points={"inferlane.engines": {"broken": "plug_c:Engine"}},
    )

    assert main(["plugins", "show", "engine", "broken"]) == EXIT_PLUGIN
    assert "names a class; it must name a module" in capsys.readouterr().err


def test_a_hook_of_a_later_core_is_accepted_when_it_is_marked_optional(plugin_site: PluginSite) -> None:
    body = "@hookimpl(optionalhook=True)\ndef inferlane_engine_of_tomorrow(engine): ..."
    plugin_site.add_engine("plug-new", "newer", engine_source("newer", body))

    assert main(["plugins", "show", "engine", "newer"]) == EXIT_OK


def test_an_import_error_explains_the_declared_requirement_on_the_core(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "from inferlane.api import ValueOfTomorrow"
    plugin_site.add_engine("plug-c", "broken", source, requires="inferlane<9,>=8.1; python_version > '3'")

    main(["plugins", "show", "engine", "broken"])

    assert "; it requires inferlane<9,>=8.1, installed is inferlane 0.1.0; upgrade it" in capsys.readouterr().err


def test_an_interrupt_during_an_import_is_an_interrupt(plugin_site: PluginSite) -> None:
    plugin_site.add_engine("plug-c", "slow", "raise KeyboardInterrupt")

    assert main(["plugins", "show", "engine", "slow"]) == 130


def test_what_a_module_prints_at_import_stays_out_of_json(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    plugin_site.add_engine("plug-loud", "loud", "print('hello')\n" + engine_source("loud"))

    main(["doctor", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert any(finding["subject"] == "engine loud (plug-loud 1.0)" for finding in report["findings"])
