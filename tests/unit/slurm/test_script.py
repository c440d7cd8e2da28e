"""What the scheduler is asked for, each thing once, and a body that no value can change."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from inferlane.config import Cluster, Recipe
from inferlane.slurm.gpus import step_options
from inferlane.slurm.script import directives, render, seconds_of, warned_s
from inferlane.testing.plans import plan_of, recipe_block

AGG = {"agg": {"nodes": 2, "workers": 2, "gpus": 8}}


def _asked(site: dict[str, Any], engine: str = "sglang", **more: Any) -> dict[str, str | None]:
    block = recipe_block(engine, "sglang-router" if engine == "sglang" else "mock", AGG, **more)
    made = directives(
        plan_of(block, site), Recipe.model_validate(block), Cluster.model_validate(site), Path("/runs/a b")
    )
    names = [name for name, _ in made]
    assert len(names) == len(set(names))
    return dict(made)


def test_gpus_are_asked_for_once_in_the_form_of_the_site() -> None:
    assert _asked({})["gpus-per-node"] == "8"
    only = _asked({"use_gpus_per_node_directive": False, "default_sbatch_directives": {"gres": "gpu:8"}})
    assert only["gres"] == "gpu:8"
    assert "gpus-per-node" not in only
    assert _asked({"gpu_sbatch_directive": "gres"})["gres"] == "gpu:8"
    assert not {"gres", "gpus-per-node"} & _asked({"gpu_sbatch_directive": "none"}).keys()
    assert not {"gres", "gpus-per-node"} & _asked({}, engine="mock").keys()


def test_other_resources_of_a_site_are_no_request_for_gpus() -> None:
    made = _asked({"default_sbatch_directives": {"gres": "disk:1"}})
    assert (made["gres"], made["gpus-per-node"]) == ("disk:1", "8")
    typed = _asked({"default_sbatch_directives": {"gres": "disk:1,gpu:h100:8"}})
    assert "gpus-per-node" not in typed


def test_a_step_asks_for_the_devices_of_its_node_only() -> None:
    assert step_options(("gpus", "16"), 8) == ("--gpus-per-node=8",)
    assert step_options(("gres", "gpu:h100:8"), 8) == ("--gres=gpu:h100:8",)
    assert step_options(None, 8) == ()


def test_the_recipes_value_holds_against_the_sites() -> None:
    site = {"default_account": "a", "default_partition": "p", "default_sbatch_directives": {"qos": "low", "mem": "0"}}
    made = _asked(site, slurm={"account": "mine"}, sbatch_directives={"qos": "high"})
    assert (made["account"], made["partition"], made["qos"], made["mem"]) == ("mine", "p", "high", "0")


def test_switches_of_the_site_are_obeyed() -> None:
    off = _asked({"use_segment_sbatch_directive": False})
    on = _asked({"use_exclusive_sbatch_directive": True})
    assert "segment" not in off
    assert on["segment"] == "2"
    assert on["exclusive"] is None
    assert "exclusive" in on


def test_what_the_run_depends_on_stays() -> None:
    made = _asked({}, sbatch_directives={"output": "x", "nodes": "9", "ntasks": "4", "job-name": "other"})
    assert (made["output"], made["nodes"], made["job-name"]) == ("/runs/a b/job.log", "2", "other")
    assert "ntasks" not in made
    assert "no-requeue" in made


@pytest.mark.parametrize(
    ("limit", "seconds", "warned"),
    [("1:30:00", 5400, 120), ("5:00", 300, 30), ("0:05", 5, 1), ("1-00:00:00", 86400, 120), ("2-00", 172800, 120)],
)
def test_the_job_is_warned_before_its_end(limit: str, seconds: int, warned: int) -> None:
    assert seconds_of(limit) == seconds
    assert warned_s(limit) == warned


def test_no_value_acts_in_the_body(tmp_path: Path) -> None:
    folder = tmp_path / "it's $(touch pwned) `touch pwned` \"; touch pwned"
    folder.mkdir()
    block = recipe_block("mock", "mock", AGG, sbatch_directives={"comment2": 'x"; touch pwned #', "mail-user": "$(id)"})
    text = render(plan_of(block), Recipe.model_validate(block), Cluster(), folder, "/bin/echo")
    script = tmp_path / "job.sh"
    script.write_text(text)
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    done = subprocess.run(["bash", str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"-P -m inferlane.slurm.job {folder}\n"
    assert not list(tmp_path.rglob("pwned"))
