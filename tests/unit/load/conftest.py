"""A small completions server with faults, and the load client as a real process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inferlane.load.spec import LoadSpec


class FakeServer:
    """Answers one token per chunk; ``mode`` picks a fault. ``arrivals``: how many were open at each arrival."""

    def __init__(self) -> None:
        self.mode = "ok"
        self.hang_at = 0
        self.chunk_s = 0.002
        self.overhead = 3
        self.url = ""
        self.open = 0
        self.arrivals: list[int] = []
        self.paths: list[str] = []
        self.bodies: list[Mapping[str, Any]] = []

    async def answer(self, request: Any) -> Any:
        from aiohttp import web

        self.open += 1
        self.arrivals.append(self.open)
        self.paths.append(request.path)
        number = len(self.arrivals)
        try:
            body = await request.json()
            self.bodies.append(body)
            if self.mode == "503":
                return web.Response(status=503, text="no worker\nis ready")
            if number == self.hang_at:
                await asyncio.sleep(60)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await self._stream(response, body, request)
        finally:
            self.open -= 1
        return response

    async def _stream(self, response: Any, body: Mapping[str, Any], request: Any) -> None:
        wanted = {"zero": 0, "wrong": body["max_tokens"] - 1, "stop": 1}.get(self.mode, body["max_tokens"])
        for index in range(wanted):
            await asyncio.sleep(self.chunk_s)
            if self.mode == "cut" and index == 2:
                request.transport.close()
                return
            await _send(response, self._choice("chat" in request.path, f" t{index}"))
        end = {"choices": [{"text": "", "finish_reason": "stop" if self.mode == "stop" else "length"}]}
        await _send(response, end)
        if self.mode == "error-event":
            await _send(response, {"error": {"message": "transfer failed"}})
        if self.mode != "no-usage":
            text = body.get("prompt") or body["messages"][0]["content"]
            tokens = 2 * len(text.split()) + self.overhead
            await _send(response, {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": wanted}})
        if self.mode != "no-done":
            await response.write(b"data: [DONE]\n\n")

    @staticmethod
    def _choice(chat: bool, text: str) -> Mapping[str, Any]:
        said = {"delta": {"content": text}} if chat else {"text": text}
        return {"choices": [{**said, "finish_reason": None}]}


async def _send(response: Any, chunk: Mapping[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")


def _serve(server: FakeServer, ready: threading.Event, stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    from aiohttp import web

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/completions", server.answer)
        app.router.add_post("/v1/chat/completions", server.answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await stop.wait()
        await runner.cleanup()

    loop.run_until_complete(run())
    loop.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake, ready, stop, loop = FakeServer(), threading.Event(), asyncio.Event(), asyncio.new_event_loop()
    thread = threading.Thread(target=_serve, args=(fake, ready, stop, loop))
    thread.start()
    assert ready.wait(10)
    yield fake
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    assert not thread.is_alive()


class Client:
    """Starts ``python -m inferlane.load`` and reads what it left."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self._endpoint = endpoint

    def start(
        self, environ: Mapping[str, str] | None = None, wrapper: Sequence[str] = (), stdout: Any = None, **settings: Any
    ) -> subprocess.Popen[str]:
        given: dict[str, Any] = {
            "isl": 32,
            "osl": 4,
            "concurrencies": (4,),
            "requests": 8,
            "num_warmup_mult": 0,
        } | settings
        spec = LoadSpec(**({"endpoint": self._endpoint, "model": "tiny", "results": str(self.folder)} | given))
        path = self.folder / "load.json"
        path.write_bytes(msgspec.json.encode(spec))
        argv = [*wrapper, sys.executable, "-m", "inferlane.load", "--spec", str(path)]
        return subprocess.Popen(
            argv,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", **(environ or {})},
        )

    def run(self, environ: Mapping[str, str] | None = None, **settings: Any) -> subprocess.CompletedProcess[str]:
        with self.start(environ, **settings) as process:
            try:
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def points(self) -> list[dict[str, Any]]:
        found = [json.loads(path.read_text()) for path in self.folder.glob("sa-bench_*/results_*.json")]
        return sorted(found, key=lambda point: int(point["max_concurrency"]))

    def point(self) -> dict[str, Any]:
        (point,) = self.points()
        return point


@pytest.fixture
def client(tmp_path: Path, server: FakeServer) -> Client:
    return Client(tmp_path, server.url)


@pytest.fixture
def make_client(tmp_path: Path) -> Callable[[str], Client]:
    return lambda endpoint: Client(tmp_path, endpoint)


class Engine:
    """``inferlane.testing.fake_engine`` as a process of its own."""

    def __init__(self, *options: str) -> None:
        argv = [sys.executable, "-m", "inferlane.testing.fake_engine", *options]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def stats(self) -> dict[str, Any]:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{self.url}/stats", timeout=10) as told:
            return dict(json.load(told))


@pytest.fixture
def engine() -> Iterator[Callable[..., Engine]]:
    started: list[Engine] = []

    def start(*options: str) -> Engine:
        started.append(Engine(*options))
        return started[-1]

    yield start
    for one in started:
        with one.process:
            one.process.kill()
