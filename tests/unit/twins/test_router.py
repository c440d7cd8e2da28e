"""The mock router in front of mock engines."""

from __future__ import annotations

import http.client
import json
import time

import pytest

from inferlane.testing.programs import Program, Programs, fetch, free_port
from inferlane.twins.orders import Orders
from inferlane.values import PortBlock

HOST = "127.0.9.4"
ASK = {"model": "m", "prompt": "a b", "max_tokens": 3}


def mock(programs: Programs, *more: str) -> tuple[Program, str]:
    port = free_port(HOST)
    args = ("--model", "m", "--host", HOST, "--port", str(port))
    return programs.start("inferlane.twins.mock", *args, *more), f"http://{HOST}:{port}"


def router(programs: Programs, *args: str) -> tuple[Program, str]:
    port = free_port(HOST)
    return programs.start("inferlane.twins.router", "--host", HOST, "--port", str(port), *args), f"http://{HOST}:{port}"


def wait_healthy(url: str, count: int) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        answer = fetch(f"{url}/workers")
        if answer.status == 200 and sum(row["is_healthy"] for row in answer.json["workers"]) == count:
            return
        time.sleep(0.05)
    raise AssertionError(fetch(f"{url}/workers").text)


def test_workers_take_turns_and_a_dead_one_is_left_out(programs: Programs) -> None:
    (_, one), (two_program, two) = mock(programs), mock(programs)
    front, url = router(programs, "--worker-urls", one, two)
    wait_healthy(url, 2)
    assert fetch(f"{url}/v1/models").json["data"][0]["id"] == "m"
    for _ in range(4):
        assert fetch(f"{url}/v1/completions", ASK).status == 200
    assert [fetch(f"{worker}/stats").json["finished"] for worker in (one, two)] == [2, 2]
    assert len(fetch(f"{url}/v1/completions", {**ASK, "stream": True}).events) == 3
    two_program.popen.kill()
    wait_healthy(url, 1)
    assert fetch(f"{url}/v1/completions", ASK).status == 200
    assert front.stop() == 0


def test_without_a_healthy_worker_it_is_alive_but_refuses(programs: Programs) -> None:
    front, url = router(programs, "--worker-urls", f"http://{HOST}:1")
    front.until(f"{url}/health")
    answer = fetch(f"{url}/v1/completions", ASK)
    assert answer.status == 503
    assert answer.json["error"]["message"] == "no healthy regular worker of 1"


def test_a_worker_that_dies_in_a_stream_breaks_the_stream(programs: Programs) -> None:
    worker, one = mock(programs, "--tokens-per-second", "20")
    _, url = router(programs, "--worker-urls", one)
    wait_healthy(url, 1)
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/v1/completions", json.dumps({**ASK, "max_tokens": 200, "stream": True}), headers)
    answer = connection.getresponse()
    answer.readline()
    worker.popen.kill()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    connection.close()


def test_prefill_and_decode_are_paired_by_room(programs: Programs) -> None:
    boot = str(free_port(HOST))
    prefill_program, prefill = mock(programs, "--role", "prefill", "--bootstrap-port", boot)
    _, decode = mock(programs, "--role", "decode")
    _, url = router(programs, "--pd-disaggregation", "--prefill", prefill, boot, "--decode", decode)
    wait_healthy(url, 2)
    shown = fetch(f"{url}/workers").json
    assert shown["stats"] == {"prefill_count": 1, "decode_count": 1, "regular_count": 0}
    assert {row["worker_type"]: row.get("bootstrap_port") for row in shown["workers"]} == {
        "prefill": int(boot),
        "decode": None,
    }
    assert fetch(f"{url}/v1/completions", ASK).json["usage"]["completion_tokens"] == 3
    chat = {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 3, "stream": True}
    assert len(fetch(f"{url}/v1/chat/completions", chat).events) == 4
    for worker in (prefill, decode):
        assert fetch(f"{worker}/stats").json["finished"] == 2
    assert fetch(f"{prefill}/stats").json["open_rooms"] == 0
    assert fetch(f"{prefill}/v1/completions", ASK).status == 400
    prefill_program.popen.kill()
    assert fetch(f"{url}/v1/completions", ASK).status in (502, 503)


def test_a_prefill_that_refuses_is_a_bad_gateway(programs: Programs) -> None:
    boot = str(free_port(HOST))
    _, prefill = mock(programs, "--role", "prefill", "--bootstrap-port", boot, "--fault", "error")
    _, decode = mock(programs, "--role", "decode")
    _, url = router(programs, "--pd-disaggregation", "--prefill", prefill, boot, "--decode", decode)
    wait_healthy(url, 2)
    answer = fetch(f"{url}/v1/completions", ASK)
    assert answer.status == 502
    assert f"prefill {prefill}: status 503" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    "args", [(), ("--worker-urls", "u", "--decode", "d"), ("--pd-disaggregation", "--decode", "d"), ("--worker", "u")]
)
def test_a_command_line_without_sense_is_a_usage_error(
    args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    from inferlane.twins.router import workers

    with pytest.raises(SystemExit) as caught:
        workers(args)
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def faulty_router(programs: Programs, fault: str, *args: str) -> tuple[Program, str]:
    port = free_port(HOST)
    orders = Orders(
        process="mock", kind="router", type="mock", host=HOST, ports={"http": PortBlock(first=port)}, fault=fault
    )
    program = programs.start("inferlane.twins.router", "--port", str(port), *args, orders=orders)
    return program, f"http://{HOST}:{port}"


@pytest.mark.parametrize(("fault", "status"), [("crash@0.2", 1), ("exit0@0.2", 0)])
def test_a_router_told_to_end_does(programs: Programs, fault: str, status: int) -> None:
    front, _ = faulty_router(programs, fault, "--worker-urls", f"http://{HOST}:1")
    assert front.wait() == status


def test_a_router_told_to_refuse_or_to_hang_does(programs: Programs) -> None:
    _, one = mock(programs)
    front, url = faulty_router(programs, "error", "--worker-urls", one)
    front.until(f"{url}/health")
    assert "told to refuse" in fetch(f"{url}/v1/completions", ASK).text
    _, url = faulty_router(programs, "hang@0", "--worker-urls", one)
    assert fetch(f"{url}/health", timeout_s=0.5).status == 0


def test_a_router_told_to_crash_on_its_second_completion_does(programs: Programs) -> None:
    _, one = mock(programs)
    front, url = faulty_router(programs, "crash-on@2", "--worker-urls", one)
    front.until(f"{url}/health")
    wait_healthy(url, 1)
    assert [fetch(f"{url}/v1/completions", ASK).status for _ in range(2)] == [200, 0]
    assert front.wait() == 1


def test_a_fault_that_a_router_cannot_have_ends_it_with_one_line(programs: Programs) -> None:
    front, _ = faulty_router(programs, "zero", "--worker-urls", f"http://{HOST}:1")
    assert front.wait() == 2
    assert front.output().startswith("mock router: fault zero is none that this twin can have; it can have crash,")
    assert front.output().count("\n") == 1
