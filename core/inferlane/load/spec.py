"""What the load client is asked to do, as one JSON file. Importable without the HTTP stack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from inferlane.errors import UsageFault

REHEARSAL = "INFERLANE_REHEARSAL"
"""The environment variable that is ``1`` in a rehearsal; the client then caps what it was asked for."""

SYNTHETIC, NOTHING = "synthetic", "nothing.txt"
"""In a rehearsal, the folder of a synthetic load below the results, and the file it leaves if nothing was sent."""

MAX_ISL, MAX_OSL, MAX_REQUESTS, MAX_SECONDS, MAX_CONCURRENCY, MAX_STALL_S = 64, 16, 1000, 60.0, 128, 20.0

Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Gpus(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Devices of the whole run, for results per device and for file names."""

    total: Natural = 0
    prefill: Natural = 0
    decode: Natural = 0


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sweep over concurrency levels against one endpoint.

    ``endpoint``: base URL. ``results``: folder for result files. ``isl``, ``osl``: tokens in and out of a request;
    lengths are drawn evenly from ``random_range_ratio`` x length to length. ``requests``: per level; ``None`` =
    ``num_prompts_mult`` x concurrency, or without end when ``duration_seconds`` is set (requests still open at the end
    are then cut off and counted as cancelled). Warm-up, per level: ``warmup_requests``, or ``num_warmup_mult`` x
    concurrency; 0 = none. Rates are requests per second, ``None`` = no pause; arrivals are Poisson.
    ``use_chat_template``: ask ``/v1/chat/completions``, where the server applies its template, instead of
    ``/v1/completions``. ``request_timeout_s``, ``stall_timeout_s`` (no request ended for that long): ``None`` = scaled
    by the shape, see :meth:`request_limit` and :meth:`stall_limit`. ``max_error_share``: failed requests that a valid
    point may have. ``min_output_share``: of the tokens asked for, how many must come back on average; 0 accepts any
    length. ``tokenizer``: a local path; ``None`` = prompt lengths are calibrated against the server's counts.
    ``capped``: what a rehearsal changed.
    """

    endpoint: str
    model: str
    results: str
    isl: Count
    osl: Count
    concurrencies: Annotated[tuple[Count, ...], Meta(min_length=1)]
    requests: Count | None = None
    num_prompts_mult: Count = 10
    warmup_requests: Natural | None = None
    num_warmup_mult: Natural = 2
    req_rate: Seconds | None = None
    warmup_req_rate: Seconds | None = None
    random_range_ratio: Share = 1.0
    use_chat_template: bool = False
    reuse_http_connections: bool = True
    duration_seconds: Seconds | None = None
    request_timeout_s: Seconds | None = None
    stall_timeout_s: Seconds | None = None
    max_error_share: Share = 0.0
    min_output_share: Share = 0.9
    stop_on_invalid: bool = True
    tokenizer: str | None = None
    seed: int = 0
    gpus: Gpus = Gpus()
    progress_s: Seconds = 5.0
    capped: str = ""

    def measured(self, concurrency: int) -> int | None:
        """How many requests a level sends; ``None`` = until its time is up."""
        if self.requests is not None:
            return self.requests
        if self.duration_seconds is not None:
            return MAX_REQUESTS if self.capped else None
        return self._capped(self.num_prompts_mult * concurrency)

    def warmup(self, concurrency: int) -> int:
        """How many requests warm a level up; fewer than its concurrency would leave cold batches to be measured."""
        if self.warmup_requests is not None:
            return self._capped(self.warmup_requests)
        return self._capped(self.num_warmup_mult * concurrency)

    def _capped(self, requests: int) -> int:
        return min(requests, MAX_REQUESTS) if self.capped else requests

    def stall_limit(self, concurrency: int) -> float:
        """Seconds without any request ending: five minutes (a first compilation), the time to read one full batch at
        20,000 tokens/s, and a quarter of a second for each token asked for.
        """
        if self.stall_timeout_s is not None:
            return self.stall_timeout_s
        return 300 + self.isl * concurrency / 20_000 + self.osl * 0.25

    def request_limit(self, concurrency: int) -> float:
        """Seconds one request may take: twice the default stall limit."""
        if self.request_timeout_s is not None:
            return self.request_timeout_s
        return 2 * (300 + self.isl * concurrency / 20_000 + self.osl * 0.25)


def read_spec(path: Path, environ: Mapping[str, str]) -> LoadSpec:
    """Read the specification and, in a rehearsal, cap it. Raises :class:`UsageFault` with one line."""
    try:
        spec = msgspec.json.decode(path.read_bytes(), type=LoadSpec)
    except OSError as error:
        raise UsageFault(f"{path}: {error.strerror or error}; give the client an existing file with --spec") from None
    except msgspec.MsgspecError as error:
        raise UsageFault(f"{path}: not a load specification: {error}") from None
    return capped(spec) if environ.get(REHEARSAL) == "1" else spec


def capped(spec: LoadSpec) -> LoadSpec:
    """The same sweep, small enough for a rehearsal; ``capped`` says what changed."""
    levels = tuple(dict.fromkeys(min(level, MAX_CONCURRENCY) for level in spec.concurrencies))
    wanted = {
        "isl": min(spec.isl, MAX_ISL),
        "osl": min(spec.osl, MAX_OSL),
        "concurrencies": levels,
        "requests": min(spec.requests, MAX_REQUESTS) if spec.requests else None,
        "duration_seconds": min(spec.duration_seconds, MAX_SECONDS) if spec.duration_seconds else None,
        "tokenizer": None,
        "stall_timeout_s": min(spec.stall_timeout_s or MAX_STALL_S, MAX_STALL_S),
    }
    changed = {name: value for name, value in wanted.items() if value != getattr(spec, name)}
    said = ["none" if value is None else _words(value) for value in changed.values()]
    parts = [f"{name} {value}" for name, value in zip(changed, said, strict=True)]
    parts.append(f"at most {MAX_REQUESTS} requests per level")
    return msgspec.structs.replace(spec, **changed, capped=", ".join(parts))


def _words(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"
