"""A program that this machine does not have is told before anything starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_engine_module_that_is_not_installed_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    recipe = str(ROOT / "examples/sglang/mi300x-direct.yaml")
    command = [sys.executable, "-m", "inferlane", "run", recipe, "--gpus", "0", "-o", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "agg-0: python3 has no module 'sglang' for 'python3 -m sglang.launch_server'" in done.stderr
    assert json.loads(done.stdout)["verdict"] == "refused"
    (run,) = tmp_path.iterdir()
    assert not list((run / "logs").iterdir())
