"""A small engine that streams, for tests of load clients; arguments: [option=value ...].

It listens on 127.0.0.1, prints its port, and answers any POST as a completion of exactly ``max_tokens`` tokens, one
event each. ``GET /stats`` tells ``arrivals`` (for each request, in order, how many were then open), ``peak`` (the most)
and ``headers`` (names of all headers that came). Options:

* ``gen``: ``ok``; ``503``; ``zero`` (a whole answer without a token); ``cut`` (the connection ends after the headers);
  ``hang-one`` (request number ``hang_at`` never ends); ``short`` (half the tokens, then a stop of its own);
* ``hang_at`` (3), ``delay`` seconds before the first token (0.05), ``port`` (0 = any).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", int(options.get("port", "0"))), _Handler)
        self.gen = options.get("gen", "ok")
        self.hang_at = int(options.get("hang_at", "3"))
        self.delay = float(options.get("delay", "0.05"))
        self.lock = threading.Lock()
        self.open = 0
        self.arrivals: list[int] = []
        self.headers: set[str] = set()

    def arrived(self) -> int:
        with self.lock:
            self.open += 1
            self.arrivals.append(self.open)
            return len(self.arrivals)

    def left(self) -> None:
        with self.lock:
            self.open -= 1

    def stats(self) -> Mapping[str, Any]:
        with self.lock:
            peak = max(self.arrivals, default=0)
            return {"arrivals": list(self.arrivals), "peak": peak, "headers": sorted(self.headers)}


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._answer(200, self.server.stats() if self.path == "/stats" else {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.server.headers.update(name.lower() for name in self.headers)
        number = self.server.arrived()
        try:
            self._complete(number, json.loads(body))
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self.server.left()

    def _complete(self, number: int, asked: Mapping[str, Any]) -> None:
        server = self.server
        if server.gen == "hang-one" and number == server.hang_at:
            time.sleep(3600)
        time.sleep(server.delay)
        if server.gen == "503":
            self._answer(503, {"error": "no worker"})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()  # HTTP/1.0: the end of the connection is the end of the answer
        if server.gen == "cut":
            return
        wanted = int(asked["max_tokens"])
        made = {"zero": 0, "short": wanted // 2}.get(server.gen, wanted)
        for index in range(made):
            self._event({"choices": [{"text": f" t{index}", "finish_reason": None}]})
        self._event({"choices": [{"text": "", "finish_reason": "length" if made == wanted else "stop"}]})
        words = len(str(asked.get("prompt") or asked.get("messages")).split())
        self._event({"choices": [], "usage": {"prompt_tokens": words, "completion_tokens": made}})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, chunk: Mapping[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def _answer(self, status: int, told: Mapping[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(argv: list[str]) -> None:
    """Serve until told to end."""
    server = _Server(dict(word.split("=", 1) for word in argv))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
