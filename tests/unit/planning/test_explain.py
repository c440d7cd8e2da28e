"""Where each part of a plan comes from, told once where processes agree."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.errors import UsageFault
from inferlane.planning import Shape, encode
from inferlane.planning.explain import Origins
from inferlane.testing.plans import plan_of, recipe_block

PAIR = {"prefill": {"nodes": 1, "workers": 2, "gpus": 4}, "decode": {"nodes": 1, "workers": 1, "gpus": 8}}


def explained(
    recipe: dict[str, Any], only: str = "", cluster: dict[str, Any] | None = None, shape: Shape | None = None
) -> list[str]:
    origins = Origins(lambda path: "here")
    return origins.text(plan_of(recipe, cluster, shape=shape, trace=origins), only).splitlines()


def sglang(**more: Any) -> dict[str, Any]:
    return recipe_block("sglang", "sglang-router", PAIR, **more)


def wide(nodes: int) -> dict[str, Any]:
    some = {"nodes": nodes // 2, "workers": nodes * 2, "gpus": 2}
    return recipe_block("sglang", "sglang-router", {"prefill": some, "decode": some})


def test_a_trace_changes_no_byte_of_the_plan() -> None:
    recipe = sglang(environment={"A": "1"}, ports={"sglang.http": 7000})
    assert encode(plan_of(recipe, trace=Origins(str))) == encode(plan_of(recipe))


def test_a_port_is_a_base_an_override_or_moved_because_it_was_taken() -> None:
    lines = explained(sglang(ports={"sglang.nccl": 18000}), "ports", {"ports": {"sglang.http": 7000}})
    assert "    bootstrap 7200  <- plugin inferlane-sglang, sglang  [prefill-0]" in lines
    http = 'http 7000  <- cluster:ports."sglang.http" (here)  (over 6100, plugin inferlane-sglang, sglang)'
    assert f"    {http}  [prefill-0]" in lines
    assert "    http 7001  <- moved: 7000 is taken by prefill-0.http  (over 7000," in "\n".join(lines)
    assert any(line.startswith('    nccl 18000  <- ports."sglang.nccl" (here)') for line in lines)


def test_a_port_that_another_program_holds_is_said_to() -> None:
    lines = explained(sglang(), "decode-0", shape=Shape(in_use={"n1": (6100,)}))
    assert any(line.startswith("    http 6101  <- moved: 6100 is taken by another program") for line in lines)


def test_gates_name_the_plugin_or_the_core() -> None:
    lines = explained(sglang(), "gates")
    ends = {line.split(":")[0].strip(): line.rpartition("<- ")[2] for line in lines if "<-" in line}
    assert ends["router knows every worker"] == "plugin inferlane-sglang, sglang-router"
    assert ends["completions"] == "built in"
    assert ends["decode-0 is healthy"] == "built in"


def test_deadline_model_place_and_image_have_origins() -> None:
    recipe = sglang(health_check={"max_attempts": 6, "interval_seconds": 10})
    recipe["model"]["container"] = "image:1"
    recipe["roles"]["decode"] = {**PAIR["decode"], "container": "image:2"}
    lines = explained(recipe)
    limit = "health_check.max_attempts (here) x health_check.interval_seconds (here)"
    assert f"  start deadline 60 s  <- {limit}" in lines
    assert "  model hf:Qwen/Qwen3-0.6B  <- model.path (here)" in lines
    assert "  image image:2  <- roles.decode.container (here)  (over image:1, model.container (here))" in lines
    assert "  node n1  <- roles.decode.nodes (here)" in lines


def test_each_mask_is_the_accelerators_and_says_what_it_replaced() -> None:
    mask = "CUDA_VISIBLE_DEVICES"
    lines = explained(sglang(environment={mask: "7"}), mask)
    told = f"{mask}={{n*.gpu0}},{{n*.gpu1}},{{n*.gpu2}},{{n*.gpu3}}"
    shown = [line for line in lines if line.startswith(f"    {mask}=")]
    assert (
        shown[0].replace("n0", "n*").startswith(f"    {told}  <- accelerator h100  (over 7, environment.{mask} (here))")
    )


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ("roles.decode.args.mem-fraction-static", ["decode-0", "--mem-fraction-static 0.8"]),
        ("mem_fraction_static", ["decode-0", "--mem-fraction-static 0.8"]),
        ("A", ["prefill-0, prefill-1", "A=1"]),
        ("roles.prefill.env", ["prefill-0, prefill-1", "A=1"]),
        ("health_check", ["run test", "start deadline 1800 s"]),
    ],
)
def test_a_path_flag_or_variable_narrows_the_output(only: str, expected: list[str]) -> None:
    recipe = sglang()
    recipe["roles"]["decode"]["args"] = {"mem-fraction-static": 0.8}
    recipe["roles"]["prefill"]["env"] = {"A": "1"}
    lines = [line for line in explained(recipe, only)[2:] if line.strip() not in ("args", "env")]
    assert [line.partition("  <-")[0].strip() for line in lines] == expected


def test_a_process_or_a_role_shows_all_of_its_own() -> None:
    lines = explained(sglang(), "decode")
    assert [line for line in lines if line and not line.startswith(" ")] == ["where it comes from", "decode-0"]
    assert len(lines) == len(explained(sglang(), "decode-0"))


def test_a_name_that_nothing_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageFault, match="nothing in this plan is called '--nccl-prot'; did you mean '--nccl-port'"):
        explained(sglang(), "--nccl-prot")


def test_the_output_does_not_grow_with_workers_that_agree() -> None:
    few, many = explained(wide(4)), explained(wide(64))
    assert len(few) == len(many)
    assert "    --host {n*.bind}  <- plugin inferlane-sglang, sglang" in many


def test_ranks_of_one_worker_over_many_nodes_are_one_line() -> None:
    recipe = recipe_block("sglang", "sglang", {"agg": {"nodes": 64, "workers": 1, "gpus": 512}})
    assert "    --node-rank 0 … 63, by index  <- plugin inferlane-sglang, sglang" in explained(recipe)
