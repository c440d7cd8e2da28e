"""What a shell happens to say changes nothing: proxies, netrc, and no other address is ever asked."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WATCH = """
import json, os, sys

def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        told = args[1:] if event in ("socket.connect", "socket.sendto") else args[:2]
        line = json.dumps([event, repr(told)]) + "\\n"
        fd = os.open(os.environ["WATCHED"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, line.encode())
        os.close(fd)

sys.addaudithook(hook)
"""


@pytest.fixture
def proxy() -> Iterator[socket.socket]:
    """Something that listens where the proxy variables point to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def test_proxies_and_netrc_of_the_environment_are_not_used(
    engine: Any, make_client: Any, proxy: socket.socket, tmp_path: Path
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login someone password hidden-word\ndefault login x password hidden-word\n")
    netrc.chmod(0o600)
    url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    server = engine("gen=ok")
    environ = {**dict.fromkeys(names, url), "NETRC": str(netrc), "HOME": str(tmp_path), "NO_PROXY": ""}
    done = make_client(server.url).run(environ, request_timeout_s=10, stall_timeout_s=10)
    assert done.returncode == 0, done.stderr
    assert "authorization" not in server.stats()["headers"]
    with pytest.raises(BlockingIOError):
        proxy.accept()


def test_the_client_connects_to_the_endpoint_and_looks_up_nothing(
    engine: Any, make_client: Any, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WATCH)
    watched = tmp_path / "watched.jsonl"
    server = engine("gen=ok")
    environ = {"PYTHONPATH": str(tmp_path / "site"), "WATCHED": str(watched)}
    done = make_client(server.url).run(environ, model="some-owner/some-model")
    assert done.returncode == 0, done.stderr
    seen = {tuple(json.loads(line)) for line in watched.read_text().splitlines()}
    port = server.url.rpartition(":")[2]
    assert seen == {("socket.connect", f"(('127.0.0.1', {port}),)")}
