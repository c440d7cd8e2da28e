"""A small engine for tests of the supervisor; arguments: HOST PORT [option=value ...].

It answers ``/health``, ``/v1/completions`` and ``/metrics`` (``served_total``). From SIGUSR2 on it is mute. Options:
``status`` of completions, ``health`` status, ``tokens`` per completion, ``forward`` (base URLs whose completions it
relays in turn), ``on_term`` (``ignore``, or a path that is written before it ends), ``orphan=1`` (leaves a detached
``sleep`` behind; ``hidden``: one without any of our variables), ``die_after`` completions, ``load`` seconds before it
listens, ``mute=1`` (accepts, and never answers), ``babble=1`` (writes what is no text), ``memory`` (a path that it maps
and leaves), ``on_usr1`` (exit code of its end on SIGUSR1, with last words).
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    options: dict[str, str]
    served = 0
    relayed = 0
    mute = False


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def parse_request(self) -> bool:
        while self.server.mute:
            time.sleep(0.1)
        return super().parse_request()

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._answer(200, f"# TYPE served counter\nserved_total {self.server.served}\n".encode())
        else:
            self._answer(int(self.server.options.get("health", "200")), b"ok")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        options = self.server.options
        if "forward" in options:
            targets = options["forward"].split(",")
            self.server.relayed += 1
            self._relay(targets[self.server.relayed % len(targets)] + self.path, body)
            return
        status, tokens = int(options.get("status", "200")), int(options.get("tokens", "1"))
        if status == 200:
            self.server.served += 1
        choices = [{"index": 0, "text": "x" * tokens}]
        self._answer(status, json.dumps({"choices": choices, "usage": {"completion_tokens": tokens}}).encode())
        if self.server.served == int(options.get("die_after", "-1")):
            os._exit(7)

    def _relay(self, url: str, body: bytes) -> None:
        request = urllib.request.Request(url, body, {"content-type": "application/json"})  # noqa: S310 - loopback
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=5) as reply:
                self._answer(reply.status, reply.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.read())
        except OSError as error:
            self._answer(502, str(error).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(argv: list[str]) -> None:
    """Serve until told to end."""
    options = dict(word.split("=", 1) for word in argv[2:])
    held: list[mmap.mmap] = []
    if options.get("on_term") == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif "on_term" in options:
        signal.signal(signal.SIGTERM, lambda *_: (Path(options["on_term"]).write_text("flushed"), os._exit(0)))
    if "orphan" in options:
        bare = "env -i " if options["orphan"] == "hidden" else ""
        subprocess.Popen(["sh", "-c", f"{bare}setsid sh -c 'sleep 300 & exec sleep 300' &"], start_new_session=True)
    if "memory" in options:
        handle = os.open(options["memory"], os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, 1 << 20)
        held.append(mmap.mmap(handle, 1 << 20))
    if "babble" in options:
        os.write(1, b"\xe2\x28\xa1\x1b[2J\x00\x07" + os.urandom(4096) + b"\n\xe2\x82")
    if "on_usr1" in options:
        signal.signal(
            signal.SIGUSR1, lambda *_: (print("last words: giving up", flush=True), os._exit(int(options["on_usr1"])))
        )
    if "load" in options:
        print("loading", flush=True)
        time.sleep(float(options["load"]))
    server = _Server((argv[0], int(argv[1])), _Handler)
    server.options = options
    server.mute = "mute" in options
    signal.signal(signal.SIGUSR2, lambda *_: setattr(server, "mute", True))
    print(f"serving on {argv[0]}:{argv[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
