"""The custom benchmark plugin, through its hooks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from inferlane.api import Node, Peer


@pytest.fixture
def bench(load_bench: Any) -> Any:
    return load_bench("inferlane.builtin.custom_benchmark")


def test_the_command_is_handed_to_bash_exactly_as_written(bench: Any, make_run: Any) -> None:
    text = 'set -e\nfor x in a "b c"; do echo ${x}; done\n'
    command = bench.command(make_run(), command=text, container_image="tools:1", env={"CONC": "2"})
    assert (command.program, command.args) == (("bash", "-c"), (text,))
    assert command.image == "tools:1"
    assert not command.on_host


def test_the_command_is_told_the_real_endpoint_and_workers(bench: Any, make_run: Any) -> None:
    env = bench.command(make_run(), command="x").env_defaults
    assert env["SRT_ENDPOINT"] == "http://{n0.host}:8000"
    assert (env["SRT_FRONTEND_HOST"], env["SRT_FRONTEND_PORT"]) == ("{n0.host}", "8000")
    assert env["SRTCTL_FRONTEND_TYPE"] == "pairing"
    assert env["SRT_PREFILL_IPS"] == "{n0.ip}"
    assert env["SRT_DECODE_IPS"] == "{n1.ip},{n1.ip}"
    assert env["SRT_DECODE_ENDPOINTS"] == "{n1.host}:6100,{n1.host}:6101"
    assert "SRT_AGG_IPS" not in env
    assert (env["SRT_GPUS_PER_NODE"], env["SRT_WORKER_NODES"]) == ("8", "{n0.name},{n1.name}")
    assert (env["SRT_JOB_ID"], env["SRT_LOG_DIR"], env["SRT_MODEL_NAME"]) == ("{run.id}", "{run.logs}", "tiny")


def test_services_are_told_by_name(bench: Any, make_run: Any) -> None:
    peers = [
        Peer(type="generic", name="kv-store", process=f"s{i}", part="main", node=Node(name=node))
        for i, node in enumerate(("n0", "n1", "n1"))
    ]
    env = bench.command(make_run(services=tuple(peers)), command="x").env_defaults
    assert env["SRT_SERVICE_KV_STORE_NODES"] == "{n0.name},{n1.name}"
    assert env["SRT_SERVICE_KV_STORE_IPS"] == "{n0.ip},{n1.ip}"
    assert env["SRT_SERVICE_KV_STORE_NODE_COUNT"] == "2"


def test_only_the_first_upstream_of_a_worker_is_its_endpoint(bench: Any, make_run: Any) -> None:
    run = make_run()
    doubled = (*run.upstreams, type(run.upstreams[0])(process="p1", role="prefill", worker=0, node=Node(name="n9")))
    env = bench.command(make_run(upstreams=doubled), command="x").env_defaults
    assert env["SRT_PREFILL_IPS"] == "{n0.ip}"


def test_workers_without_an_address_have_no_endpoint_list(bench: Any, make_run: Any) -> None:
    found = make_run().upstreams[0]
    hidden = type(found)(process="p", role="agg", worker=0, node=found.node)
    env = bench.command(make_run(upstreams=(hidden,)), command="x").env_defaults
    assert env["SRT_AGG_IPS"] == "{n0.ip}"
    assert "SRT_AGG_ENDPOINTS" not in env


def test_a_job_without_endpoint_is_told_none(bench: Any, make_run: Any) -> None:
    command = bench.command(make_run(endpoint=None, router=None), command="x")
    assert not {"SRT_ENDPOINT", "SRT_FRONTEND_HOST"} & set(command.env_defaults)
    assert "endpoint" not in command.twin.options


def test_a_rehearsal_gets_a_synthetic_load(bench: Any, make_run: Any) -> None:
    twin = bench.command(make_run(), command="x").twin
    assert (twin.module, twin.prefer_real) == ("inferlane.load.synthetic", False)
    assert twin.options == {"endpoint": "http://{n0.host}:8000", "model": "tiny"}


def test_keys_that_only_matter_elsewhere_are_warned_about(bench: Any, make_run: Any) -> None:
    problems = bench.command(make_run(), command="x", use_chat_template=True).problems
    assert [(p.where, p.severity) for p in problems] == [("benchmark.use_chat_template", "warning")]


def test_an_empty_command_is_refused(bench: Any) -> None:
    with pytest.raises(ValidationError, match="use type 'manual'"):
        bench.parse(command="  \n")


def test_the_exit_status_decides(bench: Any) -> None:
    assert bench.summary({"x": "y"}, command="x") is None
