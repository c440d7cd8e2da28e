"""Cases (j) and (k): a rehearsal changes programs only; a benchmark is a process through one hook."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inferlane.errors import PluginFault, Refused
from inferlane.plugins import Plugins
from inferlane.rehearsal import RehearsalOptions, rehearse
from inferlane.testing.plans import plan_of

NAMES = ["moriio", "nixl", "hybrid", "headless", "atom", "umbp", "trtllm"]
NAMES += ["stranger", "sidecar", "rank_servers", "mixed"]
SA_BENCH = {"type": "sa-bench", "isl": 8, "osl": 8, "concurrencies": "4x8"}


def nothing_installed(program: tuple[str, ...]) -> None:
    """Finds no program."""


@pytest.mark.parametrize("name", NAMES)
def test_a_rehearsal_keeps_arguments_ports_masks_and_gates(name: Any, plan: Any, cases: Any) -> None:
    made = plan(cases.ALL[name]())
    twin = rehearse(made, RehearsalOptions(), lambda program: program).plan
    for field in ("args", "ports", "slot_env", "unset", "files", "phase", "tier"):
        assert [getattr(p, field) for p in twin.processes] == [getattr(p, field) for p in made.processes]
    assert twin.gates == made.gates


@pytest.mark.parametrize("name", NAMES)
def test_every_engine_of_the_cases_is_replaced_by_its_twin(name: Any, plan: Any, cases: Any) -> None:
    twin = rehearse(plan(cases.ALL[name]()), RehearsalOptions(), lambda program: program)
    workers = [process for process in twin.plan.processes if process.kind == "worker"]
    assert all(process.program[:2] == ("{run.python}", "-m") for process in workers)
    assert {process.name for process in workers} <= set(twin.twins)


def test_wrappers_around_a_program_are_replaced_with_it(plan: Any, cases: Any) -> None:
    made = plan(cases.trtllm())
    assert made.process("prefill-0").program == ("trtllm-llmapi-launch", "trtllm-serve")
    twin = rehearse(made, RehearsalOptions(), nothing_installed).plan
    assert twin.process("prefill-0").program == ("{run.python}", "-m", "inferlane.twins.openai")


def test_what_a_node_must_have_is_not_asked_of_the_machine_of_a_rehearsal(plan: Any, cases: Any) -> None:
    twin = rehearse(plan(cases.umbp()), RehearsalOptions(), nothing_installed).plan
    assert not [process.name for process in twin.processes if process.needs]


def test_a_program_with_neither_a_twin_nor_an_installation_is_one_line_that_says_how(plan: Any, cases: Any) -> None:
    with pytest.raises(PluginFault) as fault:
        rehearse(plan(cases.dynamo()), RehearsalOptions(), nothing_installed)
    assert str(fault.value) == "etcd: 'etcd' is not installed here; install it: the Debian package etcd-server"


def test_a_benchmark_in_python_is_a_process_with_a_file(plan: Any, cases: Any) -> None:
    client = plan(cases.stranger(benchmark=SA_BENCH)).process("benchmark")
    assert client.phase == "traffic"
    assert client.program[:2] == ("{run.python}", "-m")
    assert client.on_host
    assert json.loads(client.files[0].text)["endpoint"] == "http://{n0.host}:8000"


def test_a_benchmark_of_the_users_own_is_a_command_through_the_same_hook(plan: Any, cases: Any) -> None:
    block = {"type": "custom", "command": "curl $SRT_ENDPOINT"}
    client = plan(cases.stranger(benchmark=block)).process("benchmark")
    assert client.env["SRT_ENDPOINT"] == "http://{n0.host}:8000"


def test_a_manual_benchmark_starts_no_process(plan: Any, cases: Any) -> None:
    made = plan(cases.stranger(benchmark={"type": "manual"}))
    assert not [process for process in made.processes if process.kind == "benchmark"]


def test_a_summary_without_results_is_not_a_success(cases: Any) -> None:
    owner = Plugins().benchmark("sa-bench")
    summary = owner.summary(owner.parse(SA_BENCH), {})
    assert summary is not None
    assert not summary.ok


def test_a_client_of_a_plan_without_an_endpoint_is_refused(cases: Any) -> None:
    with pytest.raises(Refused, match="needs an endpoint"):
        plan_of(cases.rank_servers() | {"benchmark": SA_BENCH})
