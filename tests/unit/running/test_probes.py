"""One bounded request or connection, whatever the other side does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from inferlane.running.readiness import probes
from inferlane.values import Reply


def _against(answer: bytes, ask: Callable[[str], Awaitable[Reply]]) -> tuple[Reply, bytes]:
    seen = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.extend(await reader.read(65536))
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def exchange() -> Reply:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            return await ask(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")

    return asyncio.run(exchange()), bytes(seen)


def _get(answer: bytes) -> Reply:
    return _against(answer, lambda address: probes.get(f"http://{address}/health?x=1", 2))[0]


def test_a_body_with_a_length_with_chunks_or_up_to_the_end_is_read() -> None:
    assert _get(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore") == Reply(status=200, body="ok")
    chunks = b"HTTP/1.1 503 no\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"
    assert _get(chunks) == Reply(status=503, body="abcd")
    assert _get(b"HTTP/1.0 200 OK\r\n\r\nall of it") == Reply(status=200, body="all of it")


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"]
)
def test_what_is_not_http_is_no_answer(answer: bytes) -> None:
    assert _get(answer).status == 0


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert _get(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").status == 200


def test_a_document_is_posted_as_json() -> None:
    reply, seen = _against(
        b"HTTP/1.1 200 OK\r\n\r\n{}", lambda address: probes.post_json(f"http://{address}/v1/x", {"a": 1}, 2)
    )
    assert reply.status == 200
    assert seen.startswith(b"POST /v1/x HTTP/1.1\r\n")
    assert seen.endswith(b'\r\n\r\n{"a": 1}')


def test_a_closed_port_and_an_address_that_is_none_are_told() -> None:
    assert asyncio.run(probes.connect("127.0.0.1:1", 2)) == Reply(body="connection refused")
    assert asyncio.run(probes.connect("nonsense", 2)).status == 0
    assert asyncio.run(probes.get("nonsense", 2)).status == 0


def test_silence_is_bounded() -> None:
    async def ask() -> Reply:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            return await probes.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", 0.2)

    assert asyncio.run(ask()) == Reply(body="nothing within 0.2 s")
