"""A server that answers what nobody should send; arguments: HOST PORT KIND [GOOD_PATH].

Whatever the kind, GOOD_PATH (if given) is answered with 200, so that garbage may come later only. With KIND ``mute``
connections are accepted and never answered.
"""

from __future__ import annotations

import gzip
import socketserver
import sys
import time
from collections.abc import Iterator

_OK = b"HTTP/1.1 200 OK\r\n"
_MIB = b"x" * (1 << 20)
_PAUSE_S = 0.3


def not_http() -> Iterator[bytes]:
    """Another protocol."""
    yield b"\x16\x03\x01\x02\x00 SSH-2.0-nothing\r\n\r\n"


def html() -> Iterator[bytes]:
    """A page, as a captive portal shows for every address."""
    yield _OK + b"Content-Type: text/html\r\nContent-Length: 33\r\n\r\n<html><body>welcome</body></html>"


def endless_body() -> Iterator[bytes]:
    """A body without an end and without a length."""
    yield _OK + b"\r\n"
    while True:
        yield _MIB


def endless_chunks() -> Iterator[bytes]:
    """A chunked body without an end."""
    yield _OK + b"Transfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"100000\r\n" + _MIB + b"\r\n"


def endless_headers() -> Iterator[bytes]:
    """Headers without an end."""
    yield _OK
    while True:
        yield b"X-More: 1\r\n" * 1000


def one_long_line() -> Iterator[bytes]:
    """A status line without an end."""
    while True:
        yield _MIB


def slowloris() -> Iterator[bytes]:
    """One byte after the other, never done."""
    yield _OK
    while True:
        time.sleep(_PAUSE_S)
        yield b"X"


def redirect() -> Iterator[bytes]:
    """Look elsewhere."""
    yield b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/health\r\nContent-Length: 0\r\n\r\n"


def zipped() -> Iterator[bytes]:
    """A compressed body that nobody asked for."""
    body = gzip.compress(b'{"choices": [{"text": "x"}]}')
    yield _OK + f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def huge_body() -> Iterator[bytes]:
    """A body of 1 GB, honestly announced."""
    yield _OK + b"Content-Length: 1073741824\r\n\r\n"
    for _ in range(1024):
        yield _MIB


def short_body() -> Iterator[bytes]:
    """Less than was announced."""
    yield _OK + b"Content-Length: 100\r\n\r\nshort"


def odd_length() -> Iterator[bytes]:
    """A length that is no number."""
    yield _OK + b"Content-Length: many\r\n\r\n{}"


def negative_length() -> Iterator[bytes]:
    """A length below zero."""
    yield _OK + b"Content-Length: -5\r\n\r\n{}"


def odd_chunks() -> Iterator[bytes]:
    """Chunk sizes that are no numbers."""
    yield _OK + b"Transfer-Encoding: chunked\r\n\r\nmany\r\nxx\r\n"


def nothing() -> Iterator[bytes]:
    """A connection that is closed at once."""
    yield b""


def mute() -> Iterator[bytes]:
    """A connection that stays open."""
    while True:
        time.sleep(_PAUSE_S)
        yield b""


KINDS = {
    kind.__name__: kind
    for kind in (
        not_http,
        html,
        endless_body,
        endless_chunks,
        endless_headers,
        one_long_line,
        slowloris,
        redirect,
        zipped,
        huge_body,
        short_body,
        odd_length,
        negative_length,
        odd_chunks,
        nothing,
        mute,
    )
}


class GarbageServer(socketserver.ThreadingTCPServer):
    """Answers with ``kind``, except at the path ``good``."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], kind: str, good: str | None = None) -> None:
        super().__init__(address, _Handler)
        self.kind = kind
        self.good = good


class _Handler(socketserver.StreamRequestHandler):
    server: GarbageServer

    def handle(self) -> None:
        path = self.rfile.readline().decode().split()[1:2]
        while self.rfile.readline().strip():
            pass
        try:
            if path == [self.server.good]:
                self.wfile.write(_OK + b"Content-Length: 2\r\n\r\nok")
                return
            for piece in KINDS[self.server.kind]():
                self.wfile.write(piece)
        except OSError:
            return


if __name__ == "__main__":
    print(f"garbage on {sys.argv[1]}:{sys.argv[2]}", flush=True)
    GarbageServer((sys.argv[1], int(sys.argv[2])), *sys.argv[3:5]).serve_forever()
