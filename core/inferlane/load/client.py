"""One request: sent, streamed back, and judged. Never retried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp  # noqa: TID253 - only ever imported in the load client's own process
import msgspec

from inferlane.load.prompts import Ask

CONNECT_S = 30.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one request. ``kind``: empty, or the kind of failure. Times in microseconds.

    ``output_tokens``: the server's own count, or, with ``estimated``, the number of chunks, as the server gave none.
    """

    kind: str = ""
    message: str = ""
    input_tokens: int | None = None
    output_tokens: int = 0
    estimated: bool = False
    finish_reason: str | None = None
    ttft_us: int | None = None
    e2e_us: int | None = None
    gaps_us: tuple[int, ...] = ()

    @property
    def tpot_us(self) -> int | None:
        """Mean time per token after the first."""
        if self.ttft_us is None or self.e2e_us is None or self.output_tokens < 2:
            return None
        return round((self.e2e_us - self.ttft_us) / (self.output_tokens - 1))


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    role: str | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: str | None = None
    message: str | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


def _is_token(choice: _Choice) -> bool:
    """A text may be empty though a token was made (half a character); a role or a bare finish reason is none."""
    delta = choice.delta
    if delta is not None:
        text = delta.content or delta.reasoning_content or delta.reasoning
        return bool(text) or (delta.role is None and choice.finish_reason is None)
    return bool(choice.text) or choice.finish_reason is None


@dataclass(slots=True)
class _Stream:
    """What the answer has said so far."""

    started: float
    any_at: float | None = None
    first: float | None = None
    last: float | None = None
    gaps_us: list[int] = field(default_factory=list)
    chunks: int = 0
    done: bool = False
    usage: _Usage = field(default_factory=_Usage)
    finish_reason: str | None = None
    fault: tuple[str, str] | None = None

    def line(self, line: bytes, now: float) -> None:
        line = line.strip()
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.done = True
            return
        try:
            chunk = _decode(data)
        except msgspec.MsgspecError as error:
            self.fault = ("protocol", f"unreadable chunk: {error}")
            return
        if chunk.error or chunk.object == "error":
            self.fault = ("server_error", str(chunk.error or chunk.message)[:200])
        if chunk.usage is not None and chunk.usage.completion_tokens is not None:
            self.usage = chunk.usage
        for choice in chunk.choices or ():
            self._choice(choice, now)

    def _choice(self, choice: _Choice, now: float) -> None:
        self.finish_reason = choice.finish_reason or self.finish_reason
        self.any_at = self.any_at or now
        if not _is_token(choice):
            return
        self.chunks += 1
        if self.first is None:
            self.first = now
        elif self.last is not None:
            self.gaps_us.append(_us(now - self.last))
        self.last = now

    def outcome(self, ask: Ask) -> Outcome:
        counted = self.usage.completion_tokens
        tokens = self.chunks if counted is None else counted
        kind, message = self.fault or self._fault(ask, tokens, counted is None)
        first = self.first or (self.any_at if tokens else None)
        last = self.last or first
        return Outcome(
            kind=kind,
            message=message,
            input_tokens=self.usage.prompt_tokens,
            output_tokens=tokens,
            estimated=counted is None and not kind,
            finish_reason=self.finish_reason,
            ttft_us=None if first is None else _us(first - self.started),
            e2e_us=None if last is None else _us(last - self.started),
            gaps_us=tuple(self.gaps_us),
        )

    def _fault(self, ask: Ask, tokens: int, estimated: bool) -> tuple[str, str]:
        if not self.done:
            return "cut", f"the stream ended before [DONE], after {self.chunks} chunks"
        if self.finish_reason in ("abort", "error"):
            return "server_error", f"the server ended the request with finish_reason {self.finish_reason!r}"
        if tokens == 0:
            return "zero_tokens", f"no token came back, {ask.osl} were asked for"
        # Chunks may hold several tokens, so their number proves nothing; a server that stopped by itself said why, and
        # no reason explains more tokens than the most that were asked for.
        if not estimated and tokens != ask.osl and (tokens > ask.osl or self.finish_reason in (None, "length")):
            return "wrong_count", f"{tokens} tokens came back, {ask.osl} were asked for"
        return "", ""


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how requests are sent."""

    url: str
    model: str
    chat: bool

    def body(self, ask: Ask) -> Mapping[str, Any]:
        """The JSON of a request that runs to exactly ``ask.osl`` tokens."""
        prompt: Mapping[str, Any] = (
            {"messages": [{"role": "user", "content": ask.prompt}]} if self.chat else {"prompt": ask.prompt}
        )
        options = {"stream": True, "stream_options": {"include_usage": True}, "ignore_eos": True, "temperature": 0.0}
        return {"model": self.model, **prompt, "max_tokens": ask.osl, **options}


def target(endpoint: str, model: str, chat: bool) -> Target:
    """The target for an endpoint's base URL."""
    return Target(url=f"{endpoint.rstrip('/')}/v1/{'chat/' if chat else ''}completions", model=model, chat=chat)


def session(concurrency: int, reuse: bool) -> aiohttp.ClientSession:
    """A session that takes nothing from the environment and opens at most ``concurrency`` connections.

    Idle connections are dropped before common servers drop them (5 s), which would otherwise fail the next request.
    """
    reused: dict[str, Any] = {"keepalive_timeout": 4.0} if reuse else {"force_close": True}
    connector = aiohttp.TCPConnector(limit=concurrency, **reused)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
    return aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False)


async def complete(http: aiohttp.ClientSession, target: Target, ask: Ask, limit_s: float) -> Outcome:
    """Send one request and wait for its end, at most ``limit_s`` seconds. Raises nothing but cancellation."""
    stream = _Stream(started=time.perf_counter())
    try:
        async with asyncio.timeout(limit_s):
            return await _exchange(http, target, ask, stream)
    except (aiohttp.ServerTimeoutError, aiohttp.ClientConnectorError) as error:
        kind, message = "connect", _text(error)
    except TimeoutError:
        kind, message = "timeout", f"no complete answer within {limit_s:g} s, after {stream.chunks} chunks"
    except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
        kind, message = "cut", f"the connection broke after {stream.chunks} chunks: {_text(error)}"
    except aiohttp.ClientError as error:
        kind, message = "protocol", _text(error)
    return Outcome(kind=kind, message=message, output_tokens=stream.chunks)


def _text(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


async def _exchange(http: aiohttp.ClientSession, target: Target, ask: Ask, stream: _Stream) -> Outcome:
    body = msgspec.json.encode(target.body(ask))
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    async with http.post(target.url, data=body, headers=headers, allow_redirects=False) as response:
        if response.status != 200:
            text = (await response.content.read(400)).decode(errors="replace")
            return Outcome(kind=f"http_{response.status}", message=" ".join(text.split())[:200])
        rest = b""
        async for data in response.content.iter_any():
            now = time.perf_counter()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                stream.line(line, now)
        stream.line(rest, time.perf_counter())
    return stream.outcome(ask)
