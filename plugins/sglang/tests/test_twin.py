"""SGLang's twin: its command line, its endpoints, and the pair behind the real router."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from inferlane.flags import load_flag_table
from inferlane.testing.programs import Program, Programs, fetch, free_port
from inferlane.twins.orders import Orders
from inferlane.values import PortBlock

TWIN = "inferlane_sglang.twin"
FLAGS = "inferlane_sglang:flags/launch_server.json"
READY = "The server is fired up and ready to roll!"
HOST = "127.0.9.6"
ASK = {"model": "tiny", "prompt": "a b c", "max_tokens": 3}


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    with Programs(tmp_path) as started:
        yield started


def orders(ports: Mapping[str, PortBlock] | None = None, host: str = HOST, **more: object) -> Orders:
    settings = {"kind": "engine", "type": "sglang", "flags": FLAGS, "strict_flags": True, **more}
    return Orders(process="w-0", host=host, ports=ports or {}, **settings)  # type: ignore[arg-type]


def line(port: int, *more: str, host: str = HOST) -> tuple[str, ...]:
    served = ("--model-path", "/models/tiny", "--served-model-name", "tiny")
    return (*served, "--host", host, "--port", str(port), "--enable-metrics", *more)


def test_the_endpoints_of_a_server(programs: Programs) -> None:
    port = free_port(HOST)
    twin = programs.start(
        TWIN, *line(port, "--tp", "8", "--dp-size", "2"), orders=orders({"http": PortBlock(first=port)})
    )
    url = f"http://{HOST}:{port}"
    twin.until(f"{url}/health_generate")
    assert fetch(f"{url}/health").status == 200
    for path in ("server_info", "get_server_info"):
        info = fetch(f"{url}/{path}").json
        assert (info["tp_size"], info["dp_size"], info["disaggregation_mode"]) == (8, 2, "null")
    for path in ("model_info", "get_model_info"):
        assert fetch(f"{url}/{path}").json["model_path"] == "/models/tiny"
    assert fetch(f"{url}/v1/models").json["data"][0]["id"] == "tiny"
    assert fetch(f"{url}/v1/completions", {**ASK, "data_parallel_rank": 1}).status == 200
    assert 'sglang:num_requests_total{model_name="tiny",dp_rank="1"} 1' in fetch(f"{url}/metrics").text
    _native(url)
    assert twin.stop() == 0
    assert READY in twin.output()


def _native(url: str) -> None:
    body = {"text": "a b c", "sampling_params": {"max_new_tokens": 2}}
    answer = fetch(f"{url}/generate", body).json
    assert answer["text"] == " w1 w2"
    assert answer["meta_info"]["finish_reason"] == {"type": "length", "length": 2}
    assert len(fetch(f"{url}/generate", {**body, "text": ["a", "b"]}).json) == 2
    assert [event["text"] for event in fetch(f"{url}/generate", {**body, "stream": True}).events] == [" w1", " w1 w2"]
    assert fetch(f"{url}/generate", {"sampling_params": {}}).status == 400


def test_without_enable_metrics_there_are_none(programs: Programs) -> None:
    port = free_port(HOST)
    twin = programs.start(TWIN, "--model-path", "m", "--host", HOST, "--port", str(port))
    twin.until(f"http://{HOST}:{port}/health")
    assert fetch(f"http://{HOST}:{port}/metrics").status == 404


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--cuda-graph-bs", "1"), "--cuda-graph-bs is ambiguous: it could be --cuda-graph-bs-decode, "),
        (("--trust-remot-code=1",), "--trust-remot-code is not a flag of python -m sglang.launch_server"),
        (("--tp-size", "eight"), "--tp-size: 'eight' is not a whole number"),
        (("--nnodes", "2"), "--nnodes 2 needs --dist-init-addr"),
    ],
)
def test_a_bad_command_line_ends_with_status_2(programs: Programs, more: tuple[str, ...], message: str) -> None:
    twin = programs.start(TWIN, *line(6100, *more), orders=orders())
    assert twin.wait() == 2
    assert twin.output().startswith(f"sglang twin: {message}")
    assert twin.output().count("\n") == 1


def test_a_flag_of_another_version_is_only_a_warning_when_not_strict(programs: Programs) -> None:
    port = free_port(HOST)
    args = line(port, "--prefill-round-robin-balance")
    twin = programs.start(TWIN, *args, orders=orders({"http": PortBlock(first=port)}, strict_flags=False))
    twin.until(f"http://{HOST}:{port}/health")
    assert "warning: --prefill-round-robin-balance is not a flag of" in twin.output()


def test_a_worker_of_two_nodes_is_healthy_when_its_follower_has_come(programs: Programs) -> None:
    second = "127.0.9.7"
    port, meet, nccl = free_port(HOST), free_port(HOST), free_port(second)
    nodes = ("--nnodes", "2", "--dist-init-addr", f"{HOST}:{meet}", "--node-rank")
    held = {"http": PortBlock(first=port), "dist_init": PortBlock(first=meet, width=2)}
    leader = programs.start(TWIN, *line(port, *nodes, "0"), orders=orders(held, count=2))
    leader.until(f"http://{HOST}:{port}/health", status=503)
    told = {name: PortBlock(first=block.first, width=block.width, held=False) for name, block in held.items()}
    own = orders({**told, "nccl": PortBlock(first=nccl)}, host=second, index=1, count=2)
    follower = programs.start(TWIN, *line(port, *nodes, "1", host=second), orders=own)
    leader.until(f"http://{HOST}:{port}/health")
    assert fetch(f"http://{second}:{port}/health").status == 0
    assert f"rank 1 joined the leader at {HOST}:{meet}" in follower.output()
    assert (follower.stop(), leader.stop()) == (0, 0)


def _pair(programs: Programs) -> tuple[str, str, int]:
    """URLs of a prefill and a decode that waits half a second for a room, and the prefill's bootstrap port."""
    ports = free_port(HOST), free_port(HOST)
    boot = free_port(HOST)
    held = {"http": PortBlock(first=ports[0]), "bootstrap": PortBlock(first=boot)}
    mode = ("--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", str(boot))
    prefill = programs.start(TWIN, *line(ports[0], *mode), orders=orders(held))
    waits = orders({"http": PortBlock(first=ports[1])}, options={"room_wait_s": "0.5"})
    decode = programs.start(TWIN, *line(ports[1], "--disaggregation-mode", "decode"), orders=waits)
    urls = [f"http://{HOST}:{port}" for port in ports]
    prefill.until(f"{urls[0]}/health")
    decode.until(f"{urls[1]}/health")
    return urls[0], urls[1], boot


def test_decode_answers_only_for_a_room_whose_prefill_came(programs: Programs) -> None:
    prefill, decode, boot = _pair(programs)
    body = {**ASK, "bootstrap_host": HOST, "bootstrap_port": boot, "bootstrap_room": 2**62}
    refused = fetch(f"{decode}/v1/completions", body)
    assert refused.status == 500
    expected = f"room {2**62} at bootstrap {HOST}:{boot}: no prefill came within 0.5 s"
    assert refused.json["error"]["message"] == expected
    assert fetch(f"{prefill}/v1/completions", body).json["usage"]["completion_tokens"] == 1
    assert fetch(f"{decode}/v1/completions", body).json["usage"]["completion_tokens"] == 3
    assert fetch(f"{decode}/v1/completions", body).status == 500, "a room is good for one decode"


def test_a_pair_refuses_what_names_no_room_or_a_dead_prefill(programs: Programs) -> None:
    prefill, decode, _ = _pair(programs)
    message = fetch(f"{prefill}/v1/completions", ASK).json["error"]["message"]
    assert message.startswith("the request has no bootstrap_host, bootstrap_port, bootstrap_room")
    body = {**ASK, "bootstrap_host": HOST, "bootstrap_port": 1, "bootstrap_room": 5}
    dead = fetch(f"{decode}/v1/completions", body)
    assert dead.status == 500
    assert f"room 5 at bootstrap {HOST}:1: no answer" in dead.json["error"]["message"]


@pytest.mark.real_router
@pytest.mark.skipif(importlib.util.find_spec("sglang_router") is None, reason="sglang-router is not installed")
def test_the_real_router_pairs_prefill_and_decode(programs: Programs) -> None:
    prefill, decode, boot = _pair(programs)
    url, router = _real_router(programs, prefill, decode, boot)
    assert fetch(f"{url}/v1/completions", ASK).json["usage"]["completion_tokens"] == 3
    chat = {"model": "tiny", "messages": [{"role": "user", "content": "a"}], "max_tokens": 4, "stream": True}
    events = fetch(f"{url}/v1/chat/completions", {**chat, "stream_options": {"include_usage": True}}).events
    assert events[-1]["usage"]["completion_tokens"] == 4
    for worker in (prefill, decode):
        stats = fetch(f"{worker}/stats").json
        assert (stats["finished"], stats["open_rooms"]) == (2, 0)
    alone = {**ASK, "bootstrap_host": HOST, "bootstrap_port": boot, "bootstrap_room": 1}
    assert fetch(f"{decode}/v1/completions", alone).status == 500
    assert router.stop() == 0


def _real_router(programs: Programs, prefill: str, decode: str, boot: int) -> tuple[str, Program]:
    port, metrics = free_port(HOST), free_port(HOST)
    args = ["--pd-disaggregation", "--prefill", prefill, str(boot), "--decode", decode]
    args += ["--host", HOST, "--port", str(port), "--prometheus-host", HOST, "--prometheus-port", str(metrics)]
    router = programs.start("sglang_router.launch_router", *args, "--worker-startup-check-interval", "1")
    url = f"http://{HOST}:{port}"
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        shown = fetch(f"{url}/workers", timeout_s=1.0)
        if shown.status == 200 and sum(row["is_healthy"] for row in shown.json["workers"]) == 2:
            return url, router
        time.sleep(0.1)
    raise AssertionError(router.output())


def test_the_flag_tables_are_of_the_versions_this_plugin_knows() -> None:
    server, router = load_flag_table(FLAGS), load_flag_table("inferlane_sglang:flags/router.json")
    assert (server.version, router.version) == ("0.5.23", "0.3.2")
    assert (len(server.file.flags), len(router.file.flags)) == (532, 99)
    paired = ["--pd-disaggregation", "--prefill", "http://a", "7200", "--prefill", "http://b", "--decode", "http://c"]
    assert router.check([*paired, "--decode", "http://d"]) == ()
