"""The mock engine's API, on one process for all tests of this module."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from inferlane.testing.programs import Programs, fetch, free_port

HOST = "127.0.9.2"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port(HOST)
    with Programs(tmp_path_factory.mktemp("mock")) as programs:
        args = ("--model", "/models/tiny", "--host", HOST, "--port", str(port), "--ranks", "2")
        mock = programs.start("inferlane.twins.mock", *args, "--tokens-per-second", "200")
        base = f"http://{HOST}:{port}"
        mock.until(f"{base}/health")
        yield base
        assert mock.stop() == 0
        assert "tiny is ready" in mock.output()


def test_the_model_is_listed_under_the_last_part_of_its_path(url: str) -> None:
    assert [model["id"] for model in fetch(f"{url}/v1/models").json["data"]] == ["tiny"]


def test_a_completion_has_the_asked_length_and_usage(url: str) -> None:
    body = {"model": "tiny", "prompt": "one two three four", "max_tokens": 5}
    answer = fetch(f"{url}/v1/completions", body).json
    assert answer["choices"][0]["text"].split() == ["w1", "w2", "w3", "w4", "w5"]
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"] == {"prompt_tokens": 6, "completion_tokens": 5, "total_tokens": 11}


def test_token_ids_count_one_each_and_a_batch_gets_one_answer_each(url: str) -> None:
    answer = fetch(f"{url}/v1/completions", {"prompt": [[1, 2, 3], [4]], "max_tokens": 2}).json
    assert [choice["index"] for choice in answer["choices"]] == [0, 1]
    assert answer["usage"] == {"prompt_tokens": 4, "completion_tokens": 4, "total_tokens": 8}


def test_a_completion_stream_ends_with_usage_if_asked(url: str) -> None:
    body = {"prompt": "a", "max_tokens": 3, "stream": True, "stream_options": {"include_usage": True}}
    events = fetch(f"{url}/v1/completions", body).events
    assert [event["choices"][0]["text"] for event in events[:-1]] == [" w1", " w2", " w3"]
    assert [event["choices"][0]["finish_reason"] for event in events[:-1]] == [None, None, "length"]
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["completion_tokens"] == 3


def test_continuous_usage_comes_with_each_event(url: str) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = fetch(f"{url}/v1/completions", {"prompt": "a", "max_tokens": 3, "stream": True, "stream_options": options})
    assert [event["usage"]["completion_tokens"] for event in events.events] == [1, 2, 3, 3]


def test_a_chat_stream_opens_with_the_role(url: str) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 2, "stream": True}
    events = fetch(f"{url}/v1/chat/completions", body).events
    assert [event["choices"][0]["delta"] for event in events] == [
        {"role": "assistant", "content": ""},
        {"content": " w1"},
        {"content": " w2"},
    ]
    assert {event["object"] for event in events} == {"chat.completion.chunk"}


def test_without_a_limit_it_stops_by_itself_unless_it_may_not(url: str) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    free = fetch(f"{url}/v1/chat/completions", body).json
    assert free["choices"][0]["finish_reason"] == "stop"
    assert free["usage"]["prompt_tokens"] == 6
    bound = fetch(f"{url}/v1/chat/completions", {**body, "ignore_eos": True}).json
    assert bound["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({}, 400, "prompt must be"),
        ([], 400, "not a JSON object"),
        ({"prompt": "a", "max_tokens": -1}, 400, "max_tokens must be a whole number of at least 0"),
        ({"prompt": "a", "data_parallel_rank": 2}, 400, "data_parallel_rank 2 is not one of 0 to 1"),
        ({"prompt": "a", "model": "other"}, 404, "model other is not served here; tiny is"),
    ],
)
def test_a_bad_request_is_refused(url: str, body: object, status: int, part: str) -> None:
    answer = fetch(f"{url}/v1/completions", body)
    assert answer.status == status
    assert part in answer.json["error"]["message"]


def test_finished_requests_are_counted_by_rank(url: str) -> None:
    before = fetch(f"{url}/stats").json["ranks"]
    for rank in (1, 1, 0):
        fetch(f"{url}/v1/completions", {"prompt": "a", "max_tokens": 1, "data_parallel_rank": rank})
    after = fetch(f"{url}/stats").json["ranks"]
    assert (after["0"] - before["0"], after["1"] - before["1"]) == (1, 2)
    assert f'mock:requests_total{{model_name="tiny",rank="1"}} {after["1"]}' in fetch(f"{url}/metrics").text


def test_requests_without_a_rank_take_turns(url: str) -> None:
    before = fetch(f"{url}/stats").json["ranks"]
    for _ in range(4):
        fetch(f"{url}/v1/completions", {"prompt": "a", "max_tokens": 1})
    after = fetch(f"{url}/stats").json["ranks"]
    assert (after["0"] - before["0"], after["1"] - before["1"]) == (2, 2)


def test_tokens_come_at_the_pace_and_requests_run_side_by_side(url: str) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        body = {"prompt": "a", "max_tokens": 40, "stream": True}
        answers = list(pool.map(lambda _: fetch(f"{url}/v1/completions", body), range(4)))
    assert all(len(answer.events) == 40 for answer in answers)
    assert time.monotonic() - began >= 40 / 200
    stats = fetch(f"{url}/stats").json
    assert stats["peak"] >= 2
    assert stats["in_flight"] == 0
