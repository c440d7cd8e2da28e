"""The command line of a step: what is in it, and what never is."""

from __future__ import annotations

from typing import Any

import pytest

from inferlane.errors import RunFault
from inferlane.slurm.frozen import StepSettings
from inferlane.slurm.steps import Job, cpus_on_nodes, job_number, own_environment
from inferlane.testing.handmade import process
from inferlane.values import Mpi, Node, PlannedProcess, Slot

NODES = {"n0": "node-a", "n1": "node-b"}


def _worker(**fields: Any) -> PlannedProcess:
    defaults: dict[str, Any] = {
        "slots": (Slot(node=Node(name="n1"), gpus=(0, 1)),),
        "slot_env": ({"ROCR_VISIBLE_DEVICES": "0,1"},),
        "unset": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
        "role": "decode",
    }
    made = process("decode-0", "engine", "--model", "a b")
    from msgspec.structs import replace

    return replace(made, **{**defaults, **fields})


def _argv(made: PlannedProcess, env: dict[str, str] | None = None, **settings: Any) -> tuple[str, ...]:
    return Job("42", NODES, 64, StepSettings(**settings)).argv(made, env or {"PATH": "/bin"})


def test_a_step_is_named_shares_its_node_and_ends_as_a_whole() -> None:
    words = _argv(_worker())
    assert words[0] == "srun"
    assert {"--jobid=42", "--job-name=decode-0", "--overlap", "--kill-on-bad-exit=1"} <= set(words)
    assert {"--nodelist=node-b", "--nodes=1", "--ntasks=1", "--cpus-per-task=64"} <= set(words)


def test_the_mask_of_the_plan_is_the_last_word_before_the_program() -> None:
    words = _argv(_worker(), gpus=("--gpus-per-node=8",))
    at = words.index("/usr/bin/env")
    assert words[at:] == (
        *("/usr/bin/env", "-u", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES=0,1"),
        *("engine", "--model", "a b"),
    )
    assert "--gpus-per-node=8" in words[:at]


def test_no_value_of_a_variable_is_in_the_command_line() -> None:
    words = _argv(_worker(), {"HF_TOKEN": "tok-123", "LIST": "a,b\nc", "PATH": "/bin"})
    assert "--export=HF_TOKEN,LIST,PATH" in words
    assert not any("tok-123" in word or "a,b" in word for word in words)


@pytest.mark.parametrize(("gpus", "said"), [(("--gres=gpu:8",), True), ((), False)])
def test_a_step_without_devices_asks_for_none_where_the_site_knows_the_word(gpus: tuple[str, ...], said: bool) -> None:
    words = _argv(_worker(slots=(Slot(node=Node(name="n0")),), slot_env=()), gpus=gpus)
    assert ("--gres=none" in words) is said
    assert "--gres=gpu:8" not in words


def test_containers_are_for_what_has_an_image_and_is_not_on_the_host() -> None:
    settings = {"mounts": ("/m:/model", "/d:/data:ro"), "preamble": "module load x"}
    words = _argv(_worker(image="reg/img:1"), **settings)
    assert {"--container-image=reg/img:1", "--container-mounts=/m:/model,/d:/data:ro"} <= set(words)
    assert {"--no-container-entrypoint", "--no-container-mount-home"} <= set(words)
    assert words[-6:-3] == ("bash", "-c", 'module load x\nexec "$@"') or "module load x" in words[-5]
    for plain in (_worker(), _worker(image="reg/img:1", on_host=True)):
        assert not any(word.startswith("--container") or "module" in word for word in _argv(plain, **settings))


def test_options_reach_workers_and_routers_and_a_roles_own_hold() -> None:
    settings = {"options": {"mpi": "pmix", "label": ""}, "role_options": {"decode": {"mpi": "none"}}}
    assert {"--mpi=none", "--label"} <= set(_argv(_worker(), **settings))
    assert "--mpi=pmix" in _argv(_worker(kind="router", role=None), **settings)
    assert not {"--mpi=pmix", "--label"} & set(_argv(_worker(kind="benchmark", role=None), **settings))


def test_one_step_over_several_nodes() -> None:
    slots = (Slot(node=Node(name="n0")), Slot(node=Node(name="n1")))
    words = _argv(_worker(slots=slots, slot_env=(), mpi=Mpi()))
    assert {"--nodes=2", "--ntasks=2", "--nodelist=node-a,node-b", "--mpi=pmix", "--oversubscribe"} <= set(words)


def test_nothing_of_an_outer_job_reaches_the_schedulers_commands() -> None:
    outer = {
        "SLURM_CPU_BIND": "x",
        "SLURM_GPUS_PER_NODE": "8",
        "SLURM_CONF": "/s",
        "PATH": "/bin",
        "SRUN_DEBUG": "1",
    }
    assert own_environment(outer) == {"PATH": "/bin", "SLURM_CONF": "/s"}


@pytest.mark.parametrize(("text", "count"), [("128(x4)", 128), ("128(x4),72", 72), ("", None)])
def test_the_smallest_node_counts(text: str, count: int | None) -> None:
    assert cpus_on_nodes({"SLURM_JOB_CPUS_PER_NODE": text}) == count


def test_outside_of_a_job_it_is_refused() -> None:
    with pytest.raises(RunFault, match="not inside of a job"):
        job_number({})
