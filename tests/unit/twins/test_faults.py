"""Each fault, in a real process."""

from __future__ import annotations

import http.client
import json
import signal
import time

import pytest

from inferlane.testing.programs import Program, Programs, fetch, free_port
from inferlane.twins.orders import Orders
from inferlane.values import PortBlock

HOST = "127.0.9.3"
ASK = {"prompt": "a", "max_tokens": 2}


@pytest.fixture
def port() -> int:
    return free_port(HOST)


@pytest.fixture
def url(port: int) -> str:
    return f"http://{HOST}:{port}"


def start(programs: Programs, port: int, fault: str, **more: object) -> Program:
    orders = Orders(
        process="mock-0",
        kind="engine",
        type="mock",
        host=HOST,
        ports={"http": PortBlock(first=port)},
        fault=fault,
        **more,  # type: ignore[arg-type]
    )
    return programs.start("inferlane.twins.mock", "--model", "m", "--port", str(port), orders=orders)


def test_slow_is_healthy_only_after_its_seconds(programs: Programs, port: int, url: str) -> None:
    mock = start(programs, port, "slow@1")
    began = time.monotonic()
    mock.until(f"{url}/health", status=503)
    assert fetch(f"{url}/v1/completions", ASK).status == 503
    mock.until(f"{url}/health")
    assert time.monotonic() - began >= 0.9


def test_never_healthy_stays_so(programs: Programs, port: int, url: str) -> None:
    mock = start(programs, port, "never-healthy")
    mock.until(f"{url}/health", status=503)
    time.sleep(0.4)
    assert fetch(f"{url}/health").status == 503
    assert mock.stop() == 0


@pytest.mark.parametrize(("fault", "status"), [("crash@0.2", 1), ("exit0@0.2", 0)])
def test_it_ends_by_itself(programs: Programs, port: int, fault: str, status: int) -> None:
    mock = start(programs, port, fault)
    assert mock.wait() == status
    assert f"fault {fault}: ending with status {status}" in mock.output()


def test_hang_answers_nothing_from_then_on(programs: Programs, port: int, url: str) -> None:
    mock = start(programs, port, "hang@0")
    deadline = time.monotonic() + 10
    while "is ready" not in mock.output() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert fetch(f"{url}/health", timeout_s=0.5).status == 0
    assert mock.popen.poll() is None
    assert mock.stop() == 0


def test_error_refuses_each_completion(programs: Programs, port: int, url: str) -> None:
    start(programs, port, "error").until(f"{url}/health")
    assert [fetch(f"{url}/v1/completions", ASK).status for _ in range(2)] == [503, 503]
    assert fetch(f"{url}/stats").json["finished"] == 0


def test_zero_answers_with_no_tokens(programs: Programs, port: int, url: str) -> None:
    start(programs, port, "zero").until(f"{url}/health")
    answer = fetch(f"{url}/v1/completions", ASK).json
    assert answer["choices"][0]["text"] == ""
    assert answer["usage"]["completion_tokens"] == 0
    assert [
        event["choices"][0]["text"] for event in fetch(f"{url}/v1/completions", {**ASK, "stream": True}).events
    ] == [""]


def test_crash_on_dies_at_its_completion(programs: Programs, port: int, url: str) -> None:
    mock = start(programs, port, "crash-on@2")
    mock.until(f"{url}/health")
    assert fetch(f"{url}/v1/completions", ASK).status == 200
    assert fetch(f"{url}/v1/completions", ASK).status == 0
    assert mock.wait() == 1


def test_hang_one_never_answers_its_completion_but_others(programs: Programs, port: int, url: str) -> None:
    mock = start(programs, port, "hang-one@1")
    mock.until(f"{url}/health")
    assert fetch(f"{url}/v1/completions", ASK, timeout_s=0.4).status == 0
    assert fetch(f"{url}/v1/completions", ASK).status == 200
    assert mock.stop() == 0


def test_ignore_term_needs_a_kill(programs: Programs, port: int, url: str) -> None:
    mock = start(programs, port, "ignore-term")
    mock.until(f"{url}/health")
    mock.popen.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert fetch(f"{url}/health").status == 200
    mock.popen.kill()
    assert mock.wait() == -signal.SIGKILL


def test_a_client_that_leaves_is_not_counted_as_finished(programs: Programs, port: int, url: str) -> None:
    start(programs, port, "", tokens_per_s=5.0).until(f"{url}/health")
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "a", "max_tokens": 50, "stream": True}))
    assert connection.getresponse().readline().startswith(b"data: ")
    connection.close()
    deadline = time.monotonic() + 5
    while fetch(f"{url}/stats").json["in_flight"] and time.monotonic() < deadline:
        time.sleep(0.05)
    stats = fetch(f"{url}/stats").json
    assert (stats["requests"], stats["finished"], stats["in_flight"]) == (1, 0, 0)


def test_an_unknown_fault_is_told_in_one_line(programs: Programs, port: int) -> None:
    mock = start(programs, port, "explode")
    assert mock.wait() == 1
    assert mock.output().count("\n") == 1
    assert "fault 'explode' is none of" in mock.output()


def test_a_bad_flag_of_the_mock_is_told_in_one_line(programs: Programs) -> None:
    mock = programs.start("inferlane.twins.mock", "--model", "m", "--por", "1")
    assert mock.wait() == 2
    assert mock.output() == "python -m inferlane.twins.mock: unrecognized arguments: --por 1\n"


def test_a_taken_port_ends_the_mock_with_status_1(programs: Programs, port: int, url: str) -> None:
    args = ("--model", "m", "--host", HOST, "--port", str(port))
    programs.start("inferlane.twins.mock", *args).until(f"{url}/health")
    second = programs.start("inferlane.twins.mock", *args)
    assert second.wait() == 1
    assert second.output() == f"mock engine: port {port} (http) on {HOST}: Address already in use\n"
