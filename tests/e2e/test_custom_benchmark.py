"""A command of one's own decides a run by its status and by what it leaves, never by the last word of a pipe."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RECIPE = """
schema: 2
name: own-command
model: {path: /models/none, precision: fp8}
resources: {gpus_per_node: 8}
engine: {type: mock}
roles:
  agg: {workers: 1, nodes: 1, gpus: 1}
frontend: {type: mock}
benchmark:
  type: custom
  command: %s
  outputs: ["bench/*.json"]
"""


def ended(folder: Path, verb: str, command: str) -> tuple[int, dict[str, Any]]:
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE % json.dumps(command))
    argv = [sys.executable, "-m", "inferlane", verb, str(recipe), "--json", "-o", str(folder / "runs")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def leaving(counts: str, rest: str = "") -> str:
    return f"mkdir -p $SRT_RESULT_DIR/bench && echo '{counts}' > $SRT_RESULT_DIR/bench/a.json{rest}"


ASKING = """python3 - <<'END'
import json, os, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
body = {"model": os.environ["SRT_MODEL_NAME"], "prompt": "one two", "max_tokens": 8}
for _ in range(5):
    url, head = os.environ["SRT_ENDPOINT"] + "/v1/completions", {"Content-Type": "application/json"}
    opener.open(urllib.request.Request(url, json.dumps(body).encode(), head), timeout=30).read()
END
"""

FIVE = '{"completed": 5, "num_prompts": 5, "total_output_tokens": 40}'


def test_a_client_that_leaves_its_results_is_a_success_with_its_counts(tmp_path: Path) -> None:
    code, verdict = ended(tmp_path, "run", ASKING + leaving(FIVE))
    assert (code, verdict["summary"]["ok"], verdict["summary"]["requests"]) == (0, True, 5)
    assert verdict["served"] == {"agg-0": 5}


def test_a_client_that_claims_what_no_worker_served_is_none(tmp_path: Path) -> None:
    code, verdict = ended(tmp_path, "run", leaving(FIVE))
    assert code == 1
    assert "the benchmark counts 5 completions, and the agg workers' own counters 0" in verdict["cause"]["message"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (leaving("{}", "; exit 7 | cat"), "exit code 7"),
        ("true", "nothing matches bench/*.json in the results folder"),
        (leaving('{"completed": 4, "num_prompts": 5}'), "bench/a.json: 1 of 5 requests failed"),
        (leaving('{"completed": 5, "num_prompts": 5, "total_output_tokens": 0}'), "bench/a.json: no token came back"),
    ],
)
def test_partial_success_fails_the_run(tmp_path: Path, command: str, said: str) -> None:
    code, verdict = ended(tmp_path, "run", command)
    assert (code, verdict["verdict"], verdict["cause"]["kind"]) == (1, "failed", "benchmark")
    assert said in verdict["cause"]["message"]
    assert verdict["clean"]


def test_a_rehearsal_is_judged_by_its_synthetic_load(tmp_path: Path) -> None:
    code, verdict = ended(tmp_path, "rehearse", "exit 9")
    assert (code, verdict["summary"]["ok"], verdict["summary"]["requests"]) == (0, True, 16)
