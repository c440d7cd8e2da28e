"""Commands on the bare nodes of a real cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slurm

QUICKSTART = str(Path(__file__).parents[2] / "examples/quickstart.yaml")


def _marks(tool: Any) -> dict[str, list[str]]:
    """Commands that write the node's name into a folder that all see."""
    folder = tool.outputs
    return {name: [f'echo "$SLURMD_NODENAME $(id -un)" >> {folder}/{name}.txt'] for name in ("commands", "teardown")}


def _lines(tool: Any, name: str) -> list[str]:
    path = tool.outputs / f"{name}.txt"
    return sorted(path.read_text().splitlines()) if path.exists() else []


def _setting(**block: Any) -> tuple[str, ...]:
    return tuple(word for key, value in block.items() for word in ("--set", f"host_setup.{key}={json.dumps(value)}"))


def _ran(tool: Any, *words: str) -> tuple[int, dict[str, Any]]:
    done = tool.call("run", QUICKSTART, *words)
    runs = [path for path in tool.outputs.iterdir() if path.is_dir()]
    assert runs, done.stderr
    assert (runs[-1] / "run.json").exists(), done.stderr
    return done.returncode, json.loads((runs[-1] / "run.json").read_text())


def test_commands_run_on_every_node_before_and_after_as_the_user(tool: Callable[..., Any]) -> None:
    site = tool("ada")
    code, verdict = _ran(site, *_setting(**_marks(site)))
    assert (code, verdict["verdict"]) == (0, "success")
    for name in ("commands", "teardown"):
        assert _lines(site, name) == ["node-01 ada", "node-02 ada"]


def test_a_failure_stops_the_run_with_node_and_command_and_still_tears_down(tool: Callable[..., Any]) -> None:
    site = tool("ada")
    marks = _marks(site)
    marks["commands"].append("if [ $SLURMD_NODENAME = node-02 ]; then echo no such clock; exit 7; fi")
    code, verdict = _ran(site, *_setting(**marks))
    assert (code, verdict["verdict"]) == (1, "failed")
    assert verdict["cause"]["message"].startswith("host_setup: node-02: command 2 ended with 7: if [")
    assert "no such clock" in verdict["cause"]["message"]
    assert len(_lines(site, "teardown")) == 2


def test_a_recipe_opts_out_of_what_the_site_does(tool: Callable[..., Any]) -> None:
    site = tool("ada", default_host_setup={"commands": ["exit 7"]})
    assert _ran(site)[0] == 1
    assert site.call("run", QUICKSTART, "--set", "host_setup.commands=[]").returncode == 0


def test_teardown_comes_after_a_cancel_too(tool: Callable[..., Any]) -> None:
    site = tool("ada")
    marks = _marks(site)
    marks["teardown"].insert(0, "sleep 17")  # longer than a cancel waits for a supervisor after its verdict
    following = site.start("run", QUICKSTART, "--serve", *_setting(**marks))
    while not _lines(site, "commands"):
        assert following.poll() is None
        time.sleep(0.1)
    runs = [path for path in site.outputs.iterdir() if path.is_dir()]
    done = site.call("cancel", runs[0].name)
    assert done.returncode == 0, done.stderr
    following.communicate(timeout=60)
    assert len(_lines(site, "teardown")) == 2
