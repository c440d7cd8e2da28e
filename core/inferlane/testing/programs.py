"""Starting Python modules as real processes in tests; each is owned by its handle and ended by it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from inferlane.twins.orders import VARIABLE, Orders

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. ``status`` 0 = there was none."""

    status: int
    text: str = ""

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def events(self) -> list[Any]:
        """The events of a stream, without its end mark."""
        lines = [line[6:] for line in self.text.splitlines() if line.startswith("data: ")]
        assert lines[-1:] == ["[DONE]"], self.text[-200:]
        return [json.loads(line) for line in lines[:-1]]


def fetch(url: str, body: object = None, timeout_s: float = 10.0) -> Answer:
    """GET, or POST ``body`` as JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})  # noqa: S310 - tests
    try:
        with _OPENER.open(request, timeout=timeout_s) as reply:
            return Answer(reply.status, reply.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read().decode())
    except OSError:
        return Answer(0)


def free_port(host: str) -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


class Program:
    """One process and its output."""

    def __init__(self, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.popen = popen
        self.log = log

    def output(self) -> str:
        """What it wrote so far, stdout and stderr together."""
        return self.log.read_text(errors="replace")

    def wait(self, timeout_s: float = 15.0) -> int:
        """Its exit status, once it ended by itself."""
        return self.popen.wait(timeout_s)

    def stop(self, timeout_s: float = 15.0) -> int:
        """SIGTERM, and the exit status."""
        self.popen.terminate()
        return self.popen.wait(timeout_s)

    def until(self, url: str, status: int = 200, timeout_s: float = 20.0) -> None:
        """Return when ``url`` answers with ``status``; fails with the output if the process ends before."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if fetch(url, timeout_s=1.0).status == status:
                return
            if self.popen.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{url} did not answer {status}; the process wrote:\n{self.output()}")


class Programs:
    """Starts programs below a folder; leaving the context kills what still runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Program] = []

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in self._started:
            if program.popen.poll() is None:
                program.popen.kill()
            program.popen.wait()

    def start(
        self, module: str, *args: str, orders: Orders | None = None, env: Mapping[str, str] | None = None
    ) -> Program:
        """Start ``python -m module args``, with these orders if it is to be a twin."""
        number = len(self._started)
        environ = {**os.environ, **(env or {})}
        environ.pop(VARIABLE, None)
        if orders is not None:
            path = self._folder / f"orders-{number}.json"
            path.write_bytes(msgspec.json.encode(orders))
            environ[VARIABLE] = str(path)
        log = self._folder / f"program-{number}.log"
        with log.open("wb") as out:
            popen = subprocess.Popen(
                [sys.executable, "-m", module, *args], stdout=out, stderr=subprocess.STDOUT, env=environ
            )
        program = Program(popen, log)
        self._started.append(program)
        return program
