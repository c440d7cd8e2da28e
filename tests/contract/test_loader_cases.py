"""The plugin-loading cases of the log of known defects, against the command itself in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inferlane.testing.plugin_site import PluginSite, engine_source

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart.yaml"


def inferlane(site: PluginSite, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**site.environ(), **variables}
    command = [sys.executable, "-m", "inferlane", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


def marking(marker: Path) -> str:
    """A plugin that would slow every command down and leave a trace."""
    text = f"import pathlib, time\npathlib.Path({str(marker)!r}).write_text('imported')\ntime.sleep(3)\n"
    return text + engine_source("slow")


def test_one_broken_plugin_does_not_take_down_other_commands(plugin_site: PluginSite) -> None:
    """Help and other engines work in silence; the broken one says which module is missing, and whose fault."""
    plugin_site.add_engine("plug_c", "broken", "import absent_library")

    helped = inferlane(plugin_site, "--help")
    other = inferlane(plugin_site, "plugins", "show", "engine", "mock")
    broken = inferlane(plugin_site, "plugins", "show", "engine", "broken")

    assert (helped.returncode, helped.stderr) == (0, "")
    assert (other.returncode, other.stderr) == (0, "")
    assert broken.returncode == 3
    assert len(broken.stderr.splitlines()) == 1
    assert "plug_c 1.0" in broken.stderr
    assert "absent_library" in broken.stderr


def test_checking_a_recipe_minds_only_the_plugins_it_names(plugin_site: PluginSite, tmp_path: Path) -> None:
    """A recipe of another engine passes; one that names the broken engine gets that reason, and status 3."""
    plugin_site.add_engine("plug_c", "broken", "import absent_library")
    recipe = tmp_path / "recipe.yaml"
    text = QUICKSTART.read_text(encoding="utf-8")
    assert "type: mock" in text
    recipe.write_text(text.replace("type: mock", "type: broken", 1), encoding="utf-8")

    other = inferlane(plugin_site, "check", str(QUICKSTART))
    broken = inferlane(plugin_site, "check", str(recipe))

    assert other.returncode == 0, other.stderr
    assert "plug_c" not in other.stdout + other.stderr
    assert broken.returncode == 3
    assert "plugin broken (plug_c 1.0) cannot be imported" in broken.stderr
    assert "No module named 'absent_library'" in broken.stderr


def test_a_strict_doctor_turns_a_broken_plugin_into_a_failure(plugin_site: PluginSite) -> None:
    """The strict switch for continuous integration."""
    plugin_site.add_engine("plug_c", "broken", "import absent_library")

    lenient = inferlane(plugin_site, "doctor", "--json")
    strict = inferlane(plugin_site, "doctor", "--strict", "--json")

    found = [f for f in json.loads(lenient.stdout)["findings"] if f["subject"] == "engine broken (plug_c 1.0)"]
    assert [finding["level"] for finding in found] == ["warning"]
    assert strict.returncode == 1
    assert json.loads(strict.stdout)["ok"] is False


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (("--no-plugins",), {}),
        (("--disable", "bad"), {}),
        (("--disable", "plug-bad"), {}),
        ((), {"INFERLANE_DISABLE_PLUGINS": "*"}),
        ((), {"INFERLANE_DISABLE_PLUGINS": "other,plug_bad"}),
    ],
)
def test_there_is_a_way_in_when_a_plugin_misbehaves(
    plugin_site: PluginSite, tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str]
) -> None:
    """The list prints, the offender is shown as disabled, its module is not imported."""
    marker = tmp_path / "marker"
    plugin_site.add_engine("plug-bad", "bad", marking(marker))

    listed = inferlane(plugin_site, *arguments, "plugins", "list", "--json", **variables)

    assert listed.returncode == 0
    row = next(row for row in json.loads(listed.stdout) if row["type"] == "bad")
    assert row["state"] == "disabled"
    assert row["reason"].startswith("by ")
    assert not marker.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("plugins", "--help"),
        ("plugins", "list"),
        ("plugins", "hooks"),
        ("plugins", "show", "engine", "mock"),
        ("check", str(QUICKSTART)),
    ],
    ids=" ".join,
)
def test_no_unneeded_plugin_is_imported(plugin_site: PluginSite, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A plugin that sleeps three seconds at import slows nothing that does not need it."""
    marker = tmp_path / "marker"
    plugin_site.add_engine("plug-slow", "slow", marking(marker))

    done = inferlane(plugin_site, *arguments)

    assert done.returncode == 0, done.stderr
    assert not marker.exists()


def test_completion_imports_no_plugin_and_no_command(plugin_site: PluginSite, tmp_path: Path) -> None:
    """Completion answers from a table."""
    marker = tmp_path / "marker"
    plugin_site.add_engine("plug-slow", "slow", marking(marker))
    code = (
        "import sys; from inferlane.cli.main import cli\n"
        "from click.shell_completion import ShellComplete\n"
        "items = ShellComplete(cli, {}, 'inferlane', '_X').get_completions([], 'p')\n"
        "print([item.value for item in items], 'inferlane.cli.plugins' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=plugin_site.environ(), capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "['plan', 'plugins'] False"
    assert not marker.exists()


def test_metadata_is_scanned_once_per_command(plugin_site: PluginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several loads, one scan."""
    from inferlane.plugins import Plugins, discovery

    plugin_site.add_engine("plug-x", "x", engine_source("x"))
    scans: list[int] = []

    def counting() -> discovery.Scan:
        scans.append(1)
        return discovery.discover()

    monkeypatch.setattr("inferlane.plugins.registry.discover", counting)
    plugins = Plugins()

    plugins.engine("x")
    plugins.engine("mock")
    plugins.installed("router")

    assert scans == [1]
