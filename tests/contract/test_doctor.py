"""``inferlane doctor``: what counts as bad, and that one bad plugin hides no other."""

from __future__ import annotations

import json

import pytest

from inferlane.cli.main import main
from inferlane.testing.plugin_site import PluginSite, engine_source


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    report = json.loads(capsys.readouterr().out)
    return {finding["subject"]: (finding["level"], finding["detail"]) for finding in report["findings"]}


def test_a_broken_plugin_of_this_project_is_bad_without_the_strict_switch(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("inferlane-vllm-mori", "elsewhere", "import absent_library")

    assert main(["doctor", "--json"]) == 1

    level, detail = findings(capsys)["engine elsewhere (inferlane-vllm-mori 1.0)"]
    assert level == "bad"
    assert "absent_library" in detail


def test_every_type_that_this_checkout_installs_can_be_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])

    assert {subject: found for subject, found in findings(capsys).items() if found[0] == "bad"} == {}


def test_what_plugins_find_on_the_machine_is_reported_each_isolated(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    raises = "@hookimpl\ndef inferlane_doctor():\n    raise OSError('no driver')"
    finds = "@hookimpl\ndef inferlane_doctor():\n    return [Finding(check='driver', ok=False, detail='one\\n two')]"
    plugin_site.add_engine("plug-a", "a", engine_source("a", raises))
    plugin_site.add_engine("plug-b", "b", engine_source("b", finds))

    main(["doctor", "--json"])

    found = findings(capsys)
    assert found["a (plug-a 1.0)"][0] == "warning"
    assert "hook inferlane_doctor raised OSError: no driver" in found["a (plug-a 1.0)"][1]
    assert found["b (plug-b 1.0): driver"] == ("warning", "one two")


def test_the_report_names_interpreter_and_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    main(["--no-plugins", "doctor"])

    first = capsys.readouterr().out.splitlines()[0]
    assert sys.executable in first
    assert sys.prefix in first


def test_a_plugin_that_is_switched_off_is_shown_and_not_loaded(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-a", "a", "raise SystemExit('imported')")

    main(["--disable", "a", "doctor", "--json"])

    assert findings(capsys)["engine a (plug-a 1.0)"] == ("off", "switched off by --disable a")
    assert plugin_site.imported() == ()
