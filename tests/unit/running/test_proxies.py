"""Probes and the load client speak to the address they are given, whatever proxies and netrc say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from inferlane.load.client import session
from inferlane.running.readiness import probes

DEAD = "http://127.0.0.1:9"
NAMES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


@pytest.fixture(autouse=True)
def hostile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1\n  login someone\n  password hidden-word\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text(netrc.read_text())
    for name in NAMES:
        monkeypatch.setenv(name, DEAD)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def _get(url: str) -> int:
    return (await probes.get(url, 2)).status


async def _post(url: str) -> int:
    return (await probes.post_json(url, {}, 2)).status


async def _connect(url: str) -> int:
    return (await probes.connect(url.removeprefix("http://").rstrip("/"), 2)).status


async def _load(url: str) -> int:
    async with session(1, reuse=True) as http, http.post(url, data=b"{}") as answer:
        return answer.status


@pytest.mark.parametrize("ask", [_get, _post, _connect, _load])
def test_the_request_goes_to_its_address_and_carries_no_login(ask: Callable[[str], Awaitable[int]]) -> None:
    seen = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.extend(await reader.read(65536))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def exchange() -> int:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            return await ask(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")

    assert asyncio.run(exchange()) == 200
    assert b"uthorization" not in seen
    assert b"GET http:" not in seen
