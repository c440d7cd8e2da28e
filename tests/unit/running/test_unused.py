"""What a file holds that has no effect without a scheduler is said once."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.running.unused import unused_line

RECIPE = """
schema: 2
name: demo
model: {path: hf:a/b, container: image:1}
resources: {gpus_per_node: 8}
engine: mock
roles:
  agg: {nodes: 1, workers: 1, gpus: 1, srun_options: {mem: "0"}}
frontend: {type: mock}
slurm: {time_limit: "1:00:00"}
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.chdir(tmp_path)
    Path("recipe.yaml").write_text(RECIPE)
    Path("inferlane.yaml").write_text("default_partition: gpu\nnetwork_interface: eth1\n")
    return prepare(Request("recipe.yaml"), Plugins())


def test_the_note_names_keys_of_both_files(load: Prepared) -> None:
    expected = "slurm, model.container, roles.agg.srun_options, cluster:default_partition, cluster:network_interface"
    assert unused_line(load) == f"note: no effect on this machine, without scheduler and containers: {expected}"


def test_a_recipe_without_such_keys_gets_no_note() -> None:
    root = Path(__file__).parents[3]
    assert unused_line(prepare(Request(str(root / "examples/quickstart.yaml")), Plugins())) == ""
