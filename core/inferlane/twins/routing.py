"""What the small router knows of its workers, and how a request gets to one of them, or to a prefill and a decode."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, web  # noqa: TID253 - own process

from inferlane.twins.server import failed

PROBE_EVERY_S = 1.0
PROBE_TIMEOUT = ClientTimeout(total=2.0)
KINDS = ("prefill", "decode", "regular")
_OWN_HEADERS = ("host", "content-length", "transfer-encoding", "connection")


@dataclass
class Worker:
    """One worker, as ``/workers`` shows it."""

    url: str
    kind: str = "regular"
    bootstrap_port: int | None = None
    healthy: bool = False

    def shown(self) -> dict[str, Any]:
        """Its row."""
        row = {"url": self.url, "worker_type": self.kind, "is_healthy": self.healthy, "connection_mode": "HTTP"}
        return row | ({"bootstrap_port": self.bootstrap_port} if self.kind == "prefill" else {})


class NoWorkerError(Exception):
    """Nothing healthy of the wanted kind."""


class Pool:
    """All workers; healthy ones take turns."""

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.workers = tuple(workers)
        self.paired = any(worker.kind != "regular" for worker in self.workers)
        self._turns = dict.fromkeys(KINDS, 0)

    def next(self, kind: str) -> Worker:
        """The next healthy worker of a kind. Raises ``NoWorkerError``."""
        able = [worker for worker in self.workers if worker.kind == kind and worker.healthy]
        if not able:
            raise NoWorkerError(f"no healthy {kind} worker of {sum(w.kind == kind for w in self.workers)}")
        self._turns[kind] += 1
        return able[(self._turns[kind] - 1) % len(able)]

    def shown(self) -> dict[str, Any]:
        """For ``/workers``."""
        stats = {f"{kind}_count": sum(worker.kind == kind for worker in self.workers) for kind in KINDS}
        return {"workers": [worker.shown() for worker in self.workers], "total": len(self.workers), "stats": stats}

    async def watch(self, session: ClientSession) -> None:
        """Probe every worker each second, for ever."""
        while True:
            await asyncio.gather(*(self._probe(session, worker) for worker in self.workers))
            await asyncio.sleep(PROBE_EVERY_S)

    async def _probe(self, session: ClientSession, worker: Worker) -> None:
        try:
            async with session.get(f"{worker.url}/health", timeout=PROBE_TIMEOUT) as reply:
                worker.healthy = reply.status == 200
        except (ClientError, TimeoutError, OSError):
            worker.healthy = False


def pairing(worker: Worker) -> dict[str, Any]:
    """The fields by which prefill and decode find each other."""
    return {
        "bootstrap_host": urlsplit(worker.url).hostname,
        "bootstrap_port": worker.bootstrap_port,
        "bootstrap_room": secrets.randbits(63),
    }


async def forward(session: ClientSession, request: web.Request, worker: Worker) -> web.StreamResponse:
    """The request as it is to one worker, and its answer as it comes."""
    body = await request.read()
    headers = _passed(request.headers)
    try:
        reply = await session.request(request.method, worker.url + request.path_qs, data=body, headers=headers)
    except (ClientError, OSError) as error:
        return failed(f"worker {worker.url} did not answer: {error}", 502)
    return await _relay(request, reply)


async def forward_pair(
    session: ClientSession, request: web.Request, body: Mapping[str, Any], prefill: Worker, decode: Worker
) -> web.StreamResponse:
    """The same body to both at once; the client gets the decode's answer. A prefill that fails is a 502."""
    content = {**body, **pairing(prefill)}
    headers = {name: value for name, value in _passed(request.headers).items() if name.lower() != "content-type"}
    first = asyncio.create_task(_prefilled(session, prefill.url + request.path_qs, content, headers))
    second = asyncio.create_task(session.post(decode.url + request.path_qs, json=content, headers=headers))
    try:
        await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
        if first.done() and (fault := first.result()):
            return failed(f"prefill {prefill.url}: {fault}", 502)
        try:
            reply = await second
        except (ClientError, OSError) as error:
            return failed(f"decode {decode.url} did not answer: {error}", 502)
        return await _relay(request, reply)
    finally:
        await _ended(first)
        await _ended(second)


async def _ended(task: asyncio.Task[Any]) -> None:
    if not task.done():
        task.cancel()
    with suppress(asyncio.CancelledError, ClientError, OSError):
        result = await task
        if isinstance(result, ClientResponse):
            result.close()


async def _prefilled(session: ClientSession, url: str, content: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Why the prefill failed; empty if it did not."""
    try:
        async with session.post(url, json=content, headers=headers) as reply:
            text = await reply.text()
            return "" if reply.status < 400 else f"status {reply.status}: {text[:200]}"
    except (ClientError, OSError) as error:
        return f"did not answer: {error}"


async def _relay(request: web.Request, reply: ClientResponse) -> web.StreamResponse:
    async with reply:
        response = web.StreamResponse(status=reply.status, headers=_passed(reply.headers))
        await response.prepare(request)
        try:
            async for chunk in reply.content.iter_any():
                await response.write(chunk)
        except ClientError:
            if request.transport is not None:
                request.transport.abort()  # the client must not take half an answer for a whole one
        return response


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS}
