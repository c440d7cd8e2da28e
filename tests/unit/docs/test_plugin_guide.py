"""The plugin guide's example is real: its blocks are its files, and its files work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferlane.errors import PluginFault
from inferlane.plugins import Plugins
from inferlane.testing.plugin_site import PluginSite


def test_a_recipe_that_names_a_broken_plugin_fails_with_its_name(plugin_site: PluginSite) -> None:
    plugin_site.add_engine("inferlane-llamacpp", "llamacpp", "import absent_library")

    with pytest.raises(PluginFault, match=r"inferlane-llamacpp 1\.0"):
        Plugins().engine("llamacpp")


def test_every_block_of_the_guide_is_part_of_a_tested_file(fences: Callable[[str], list[Any]], example: Path) -> None:
    files = [Path(__file__), *(path for path in example.rglob("*") if path.suffix in (".py", ".toml", ".yaml"))]
    texts = [path.read_text(encoding="utf-8") for path in files]
    blocks = [f for kind in ("python", "toml", "yaml") for f in fences(kind) if f.page.name == "plugin-guide.md"]
    assert len(blocks) >= 5
    assert [str(block) for block in blocks if not any(block.text in text for text in texts)] == []


def test_the_example_passes_its_own_tests(llamacpp: PluginSite, example: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=example, env=llamacpp.environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


@pytest.mark.e2e
def test_the_example_is_rehearsed_with_the_generic_twin(llamacpp: PluginSite, example: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inferlane", "rehearse", str(example / "recipe.yaml"), "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=llamacpp.environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert {"agg-0", "agg-1"} <= set(verdict["rehearsal"]["twins"])
    assert verdict["clean"]
    assert verdict["versions"]["inferlane-llamacpp"] == "0.1.0"
