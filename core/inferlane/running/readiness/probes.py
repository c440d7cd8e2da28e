"""Probing: one bounded HTTP request or connection at a time, on plain sockets.

Nothing here reads proxy variables, ``.netrc`` or cookies, follows redirects, or starts a thread (a plan's
addresses are numbers).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from inferlane.running.processes.limits import refuse_shortage
from inferlane.values import Reply

_LONGEST_BODY = 16 << 20
_MOST_HEADERS = 200


async def get(url: str, timeout_s: float) -> Reply:
    """GET; status 0 and a reason in the body when there is no answer in time. Raises ``RunFault`` where this process is
    out of file descriptors or memory: that says nothing of the server.
    """
    return await _bounded(_exchange("GET", url, b"", timeout_s), timeout_s)


async def post_json(url: str, document: Mapping[str, Any], timeout_s: float) -> Reply:
    """POST a JSON document; answers like :func:`get`."""
    return await _bounded(_exchange("POST", url, json.dumps(document).encode(), timeout_s), timeout_s)


async def connect(address: str, timeout_s: float) -> Reply:
    """Whether ``host:port`` accepts a connection: status 200, or 0 with the reason."""
    return await _bounded(_connect(address), timeout_s)


async def _connect(address: str) -> Reply:
    host, _, port = address.rpartition(":")
    _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    await _close(writer)
    return Reply(status=200)


async def _bounded(exchange: Any, timeout_s: float) -> Reply:
    try:
        async with asyncio.timeout(timeout_s):
            reply: Reply = await exchange
            return reply
    except TimeoutError:
        return Reply(body=f"nothing within {timeout_s:.3g} s")
    except ConnectionRefusedError:
        return Reply(body="connection refused")
    except (OSError, EOFError, ValueError) as error:
        refuse_shortage(error)
        return Reply(body=str(error) or type(error).__name__)


async def _exchange(method: str, url: str, body: bytes, timeout_s: float) -> Reply:
    parts = urlsplit(url)
    if parts.hostname is None:
        raise ValueError(f"{url} is not a URL")
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None, limit=1 << 20)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        head = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", "Accept: */*"]
        if body:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await writer.drain()
        return await _read_reply(reader)
    finally:
        await _close(writer)


async def _read_reply(reader: asyncio.StreamReader) -> Reply:
    status, headers = await _read_head(reader)
    while 100 <= status < 200:
        status, headers = await _read_head(reader)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        raw = await _read_chunks(reader)
    elif "content-length" in headers:
        raw = await reader.readexactly(min(int(headers["content-length"]), _LONGEST_BODY))
    else:
        raw = await _read_rest(reader)
    return Reply(status=status, body=raw.decode(errors="replace"))


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first = (await reader.readline()).decode("latin-1").split(None, 2)
    if len(first) < 2 or not first[0].startswith("HTTP/") or not first[1].isdigit():
        raise ValueError("the answer is not HTTP")
    headers: dict[str, str] = {}
    for _number in range(_MOST_HEADERS):
        line = (await reader.readline()).decode("latin-1").strip()
        if not line:
            return int(first[1]), headers
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    raise ValueError("the answer has too many headers")


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    total = 0
    while size := int((await reader.readline()).split(b";")[0].strip() or b"0", 16):
        total += size
        if total > _LONGEST_BODY:
            break
        pieces.append(await reader.readexactly(size))
        await reader.readline()
    return b"".join(pieces)


async def _read_rest(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    total = 0
    while (piece := await reader.read(65536)) and total < _LONGEST_BODY:
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
