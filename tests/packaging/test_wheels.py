"""What the distributions contain, and that they work from their wheels alone."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

FOREIGN = {"core", "plugins", "tests", "tools", "benchmarks", "docs", "sglang", "vllm", "atom", "smg", "sglang_router"}
"""Import packages that are somebody else's, or folders of this repository."""


def test_each_wheel_holds_its_own_package_and_nothing_else(distributions: list[Any]) -> None:
    for built in distributions:
        package = built.name.replace("-", "_")
        assert {name.partition("/")[0] for name in built.files} == {package}


def test_no_import_package_has_the_name_of_an_engine_or_of_a_folder_here(distributions: list[Any]) -> None:
    tops = {name.partition("/")[0] for built in distributions for name in built.files}
    assert tops & FOREIGN == set()


def test_data_files_and_the_typing_marker_are_in_the_wheels(distributions: list[Any]) -> None:
    for built in distributions:
        source = next(path for path in (built.folder / "core", built.folder / "src") if path.is_dir())
        data = {
            str(path.relative_to(source))
            for path in source.rglob("*")
            if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts
        }
        assert data <= set(built.files)
        assert f"{built.name.replace('-', '_')}/py.typed" in built.files


def test_the_core_wheel_holds_tables_and_license(distributions: list[Any]) -> None:
    core = distributions[0]
    assert {"inferlane/config/known_keys.json", "inferlane/plugins/first_party.json"} <= set(core.files)
    assert "Apache License" in core.metadata("licenses/LICENSE")


def test_versions_are_in_lockstep_and_plugins_require_the_core_of_theirs(distributions: list[Any]) -> None:
    core, *plugins = distributions
    major, minor = core.project["version"].split(".")[:2]
    assert plugins
    for plugin in plugins:
        assert plugin.project["version"] == core.project["version"]
        assert f"inferlane>={major}.{minor},<{major}.{int(minor) + 1}" in plugin.project["dependencies"]


def test_the_version_in_the_code_is_that_of_the_distribution(distributions: list[Any], root: Path) -> None:
    text = (root / "core/inferlane/__init__.py").read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE) == [distributions[0].project["version"]]


def test_every_entry_point_names_a_module_of_its_own_wheel(distributions: list[Any]) -> None:
    for built in distributions:
        points = configparser.ConfigParser(delimiters=("=",))
        points.read_string(built.metadata("entry_points.txt"))
        modules = {value.partition(":")[0] for section in points.sections() for value in points[section].values()}
        absent = [
            module
            for module in modules
            if not {f"{module.replace('.', '/')}.py", f"{module.replace('.', '/')}/__init__.py"} & set(built.files)
        ]
        assert absent == []


def test_a_recipe_is_checked_with_nothing_but_the_wheels(unpacked: Path, root: Path) -> None:
    code = "import sys, inferlane.cli.main as m; print(m.__file__); sys.exit(m.main(sys.argv[1:]))"
    recipe = root / "examples/sglang/h100-1p1d.yaml"
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "--strict", str(recipe)],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(unpacked))
