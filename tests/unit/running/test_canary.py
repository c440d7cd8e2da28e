"""Completions through the endpoint until everyone has served, and when that is hopeless."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.outcome import RunEnded
from inferlane.running.processes.spawn import Children
from inferlane.running.readiness.canary import Canary
from inferlane.running.readiness.vitals import Vitals
from inferlane.running.terminal.board import Board
from inferlane.testing.handmade import plan, process, upstream
from inferlane.values import Counter, PlannedUpstream

GOOD = b'{"choices": [{"text": "x"}], "usage": {"completion_tokens": 1}}'
Answer = Callable[[int, str], tuple[int, bytes]]


def _sing(
    answer: Answer, upstreams: Sequence[PlannedUpstream], patience: float, seconds: float = 20
) -> tuple[int, list[str]]:
    """Completions needed, and what was said; ``answer(number of the request, its path)`` is status and body."""
    said: list[str] = []
    asked = [0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked[0] += head.startswith("POST")
        status, body = answer(asked[0], head.split()[1])
        writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async def run() -> int:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            told = tuple(msgspec.structs.replace(item, url=url) for item in upstreams)
            made = plan(process("router", "x", kind="router"), endpoint=url, upstreams=told)
            board = Board(made, RunDirectory(Path("/runs/r")), Children(), {}, Vitals(lambda *_, **__: None))
            return await Canary(made, board, lambda cause: cause, said.append, patience).sing(
                time.monotonic() + seconds
            )

    return asyncio.run(run()), said


def _ranked(ranks: int) -> PlannedUpstream:
    return PlannedUpstream(
        process="decode-0", role="decode", worker=0, ranks=ranks, served=Counter(series="n", rank_label="rank")
    )


def test_every_rank_must_have_served_one() -> None:
    def answer(number: int, path: str) -> tuple[int, bytes]:
        rows = "".join(f'n{{rank="{rank}"}} {number // 3 + (number % 3 > rank)}\n' for rank in range(3))
        return 200, rows.encode() if path == "/metrics" else GOOD

    tries, _ = _sing(answer, [_ranked(3)], 5)
    assert tries == 3


def test_a_rank_that_never_serves_is_told_with_the_worker() -> None:
    def answer(number: int, path: str) -> tuple[int, bytes]:
        return (200, f'n{{rank="0"}} {number}\n'.encode()) if path == "/metrics" else (200, GOOD)

    with pytest.raises(RunEnded, match=r"generation through router failed .* not served by decode-0 \(1 of 2 ranks\)"):
        _sing(answer, [_ranked(2)], 0)


def test_a_router_that_alternates_between_200_and_400_is_not_ready() -> None:
    def answer(number: int, path: str) -> tuple[int, bytes]:
        return (200, GOOD) if number % 2 else (400, b"rank refuses")

    with pytest.raises(RunEnded, match="HTTP 400 rank refuses") as caught:
        _sing(answer, [upstream("w0", told=False), upstream("w1", told=False)], -1)
    assert caught.value.verdict == "not_ready"


def test_what_does_not_get_better_is_given_up_long_before_the_deadline_and_said_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(RunEnded, match="HTTP 503 no workers") as caught:
        _sing(lambda number, path: (503, b"no workers"), [upstream("w0")], 0.2, seconds=600)
    assert time.monotonic() - began < 5
    assert caught.value.cause.kind == "generation"


def test_an_endpoint_that_only_chats_is_asked_to_chat() -> None:
    def answer(number: int, path: str) -> tuple[int, bytes]:
        return (404, b"") if path == "/v1/completions" else (200, b'{"choices": [{"message": {"content": "hi"}}]}')

    tries, said = _sing(answer, [upstream("w0", told=False)], 5)
    assert (tries, said) == (1, [])


def test_a_model_that_is_not_there_is_not_waited_for() -> None:
    with pytest.raises(RunEnded, match="failed after 3 tries") as caught:
        _sing(lambda number, path: (404, b"model_not_found"), [upstream("w0", told=False)], 60)
    assert caught.value.verdict == "failed"
