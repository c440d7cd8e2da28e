"""Whatever a server sends instead of an answer, a probe ends in time with one sentence."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from inferlane.running.readiness import probes
from inferlane.testing.garbage_server import GarbageServer
from inferlane.values import Reply

SAID = {
    "not_http": "not HTTP",
    "endless_headers": "too many headers",
    "one_long_line": "Separator is not found",
    "slowloris": "nothing within",
    "short_body": "5 bytes read on a total of 100",
    "odd_length": "invalid literal",
    "negative_length": "readexactly size",
    "odd_chunks": "invalid literal",
    "nothing": "not HTTP",
    "mute": "nothing within",
}


def _probe(kind: str, ask: Callable[[str], Reply]) -> Reply:
    with GarbageServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            return ask(f"http://127.0.0.1:{server.server_address[1]}/health")
        finally:
            server.shutdown()
            thread.join()


def _get(url: str) -> Reply:
    return asyncio.run(probes.get(url, 0.5))


@pytest.mark.parametrize("kind", SAID)
def test_what_is_no_answer_is_told_as_that(kind: str) -> None:
    reply = _probe(kind, _get)
    assert reply.status == 0
    assert SAID[kind] in reply.body


@pytest.mark.parametrize("kind", ["huge_body", "endless_body", "endless_chunks"])
def test_a_body_that_does_not_end_is_cut_or_given_up(kind: str) -> None:
    began = time.monotonic()
    reply = _probe(kind, _get)
    assert reply.status in (0, 200)
    assert len(reply.body) <= 17 << 20
    assert time.monotonic() - began < 10


def test_a_redirect_is_not_followed_and_a_compressed_body_not_unpacked() -> None:
    assert _probe("redirect", _get).status == 302
    assert _probe("zipped", _get).body.startswith("\x1f")
