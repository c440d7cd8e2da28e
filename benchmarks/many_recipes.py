"""How long one recipe takes when a process plans many: read, resolved and planned, plugins loaded once.

    python benchmarks/many_recipes.py [RECIPES]

The recipes (default 1,000; no two alike) are written to a temporary folder first. Prints the stages per recipe in
milliseconds and in starts of a bare interpreter. Exit status 1 if the mean is above 8 ms.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from inferlane.config import load_cluster, load_recipe, resolve
from inferlane.planning import Shape, build_plan
from inferlane.planning.secrets import hide_secrets
from inferlane.plugins import Plugins

BAR_MS = 8.0
BASE = """\
schema: 2
name: {name}
model: {{path: "hf:example/model-{index}", container: "example/engine:1", precision: fp8}}
resources: {{gpu_type: h100, gpus_per_node: 8}}
slurm: {{time_limit: 4:00:00}}
health_check: {{max_attempts: 360, interval_seconds: 10}}
environment: {{HF_HOME: /cache, OMP_NUM_THREADS: "8"}}
engine: {engine}
roles:
{roles}
frontend: {{type: {router}}}
benchmark: {{type: sa-bench, isl: 1024, osl: 1024, concurrencies: "4x16x64", requests: 256}}
"""
ROLE = """\
  {role}:
    nodes: {nodes}
    workers: {workers}
    gpus: {gpus}
    env:
{env}
    args:
      tp-size: {gpus}
{args}"""
ARGS = """\
      mem-fraction-static: 0.{digits}
      max-running-requests: {digits}
      chunked-prefill-size: 8192
      context-length: 16384
      trust-remote-code: true
      cuda-graph-bs: [1, 2, 4, 8, 16, 32, 64, 128]
      kv-cache-dtype: fp8_e4m3
      served-model-name: model-{index}
"""


def recipe(index: int, rng: random.Random) -> str:
    """A recipe as long as usual ones: two roles in two of three, a dozen variables, eight arguments each."""
    engine, router = ("sglang", "sglang-router") if index % 4 else ("mock", "mock")
    names = ("prefill", "decode") if index % 3 else ("agg",)
    roles = ""
    for role in names:
        gpus = rng.choice((1, 2, 4, 8))
        nodes = rng.randint(1, 4)
        env = "\n".join(f'      NCCL_SETTING_{number}: "{rng.randint(0, 99)}"' for number in range(12))
        args = ARGS.format(digits=rng.randint(10, 99), index=index) if engine == "sglang" else ""
        text = ROLE.format(role=role, nodes=nodes, workers=nodes * 8 // gpus, gpus=gpus, env=env, args=args)
        roles += text if engine == "sglang" else text.replace(f"    args:\n      tp-size: {gpus}\n", "")
    return BASE.format(name=f"recipe-{index}", index=index, engine=engine, router=router, roles=roles.rstrip())


def bare() -> float:
    """Seconds of one start of an interpreter that does nothing."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(files: list[Path]) -> dict[str, float]:
    """Seconds of each stage, all recipes together."""
    plugins, seconds = Plugins(), {"load": 0.0, "resolve": 0.0, "plan": 0.0}
    cluster = load_cluster(None, {}, files[0].parent)
    for file in files:
        start = time.perf_counter()
        loaded = load_recipe(str(file))
        read = time.perf_counter()
        resolved = resolve(loaded, cluster)
        hidden, site, _ = hide_secrets(resolved.recipe, resolved.cluster)
        done = time.perf_counter()
        build_plan(hidden, site, Shape(), plugins)
        seconds["load"] += read - start
        seconds["resolve"] += done - read
        seconds["plan"] += time.perf_counter() - done
    return seconds


def main(count: int) -> int:
    """Measure and print; 1 if the bar is missed."""
    rng, unit = random.Random(1), bare()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"recipe-{index}.yaml" for index in range(count)]
        for index, file in enumerate(files):
            file.write_text(recipe(index, rng), encoding="utf-8")
        measure(files[:10])  # imports are not counted
        seconds = measure(files)
    libyaml = "with" if hasattr(yaml, "CSafeLoader") else "without"
    print(f"{count} recipes, {libyaml} libyaml; bare start {unit * 1000:.1f} ms")
    for stage, total in {**seconds, "all": sum(seconds.values())}.items():
        print(f"{stage:8} {total * 1000 / count:6.2f} ms each   {total / count / unit:5.2f}x a bare start")
    mean = sum(seconds.values()) * 1000 / count
    print(f"bar: {BAR_MS:.0f} ms each")
    return 1 if mean > BAR_MS else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
