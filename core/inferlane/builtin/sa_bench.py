"""Benchmark ``sa-bench``: prompts of random words with fixed lengths, swept over concurrency levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from inferlane.api import (
    BenchmarkConfig,
    BenchmarkSpec,
    Command,
    File,
    Fleet,
    Problem,
    Process,
    Run,
    Summary,
    Twin,
    hookimpl,
)
from inferlane.builtin.benchmark_keys import unused
from inferlane.builtin.load_points import summarise
from inferlane.builtin.unsupported import Unsupported
from inferlane.load.spec import Gpus, LoadSpec

PLUGIN_API = 1

SPEC_FILE = "load.json"
MOST = 100_000
"""Requests in flight."""
OUTPUTS = ("sa-bench_isl_*_osl_*/results_concurrency_*.json",)

UNUSED = {
    "stream_output": "the client's output is always in its log, and shown by 'inferlane logs'",
    "dataset_path": "prompts are random",
}


def parse_levels(value: object) -> tuple[int, ...]:
    """``4``, ``"4"``, ``"4x8"``, ``[4, 8]`` or ``["4", "8"]`` as levels; raises a pydantic error otherwise."""
    items = value.lower().split("x") if isinstance(value, str) else value
    words = items if isinstance(items, (list, tuple)) else [items]
    levels = tuple(_level(word, value) for word in words)
    if not levels:
        raise PydanticCustomError("levels", "names no concurrency; write for example '4x8' or [4, 8]")
    if len(set(levels)) < len(levels):
        raise PydanticCustomError("levels", "names a concurrency twice; each level has one result file")
    return levels


def _level(word: object, value: object) -> int:
    text = str(word).strip()
    plain = isinstance(word, (int, str)) and not isinstance(word, bool) and text.isdecimal()
    if not plain or not (level := int(text[:20])) > 0:
        message = "not a list of concurrencies: {value}; write for example 4, '4x8' or [4, 8]"
        raise PydanticCustomError("levels", message, {"value": "null" if value is None else repr(value)})
    if level > MOST:
        message = "a concurrency of {level} is more than {most}, the most that one client holds open"
        raise PydanticCustomError("levels", message, {"level": text, "most": MOST})
    return level


def _rate(value: object) -> object:
    """Text ``inf`` (or the number) is no limit."""
    if isinstance(value, str) and value.strip().lower() in ("inf", "infinity"):
        return None
    return None if isinstance(value, float) and math.isinf(value) and value > 0 else value


Levels = Annotated[tuple[int, ...], BeforeValidator(parse_levels)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[Positive | None, BeforeValidator(_rate)]
Count = Annotated[int, Field(ge=1)]


class SaBenchConfig(BenchmarkConfig):
    """The block of ``type: sa-bench``."""

    type: Literal["sa-bench"] = Field(default="sa-bench", description="which plugin reads this block")
    isl: Count = Field(description="tokens of a prompt")
    osl: Count = Field(description="tokens of an answer")
    concurrencies: Levels = Field(description="requests in flight, level by level: 4, '4x8' or [4, 8]")
    req_rate: Rate = Field(default=None, description="requests started per second; 'inf' = no pause")
    random_range_ratio: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="lengths are drawn from this share of isl and osl up to all of it; 1 = exact",
    )
    num_prompts_mult: Count = Field(default=10, description="requests per level, times its concurrency")
    num_prompts: Count | None = Field(default=None, description="requests per level, instead of num_prompts_mult")
    requests: Count | None = Field(default=None, description="the same as num_prompts")
    num_warmup_mult: int = Field(
        default=2, ge=0, description="warm-up requests per level, times its concurrency; 0 = none"
    )
    warmup_prompts: int | None = Field(default=None, ge=0, description="warm-up requests, instead of num_warmup_mult")
    warmup_req_rate: Rate = Field(default=None, description="warm-up requests started per second; 'inf' = no pause")
    duration_seconds: Positive | None = Field(
        default=None, description="a timed run: each level ends then, and what is open is cut off and not counted"
    )
    use_chat_template: bool = Field(
        default=True, description="use the chat endpoint, where the server applies its template"
    )
    reuse_http_connections: bool = Field(default=True, description="false opens one connection for each request")
    dataset_name: str = Field(default="random", description="only 'random'")
    dataset_path: str | None = Field(default=None, description="has no effect with random prompts")
    custom_tokenizer: str | None = Field(
        default=None,
        description="absolute path of a tokenizer on the client's node; without, the server's counts are used",
    )
    stream_output: bool | None = Field(default=None, description="has no effect: output is always in the log")
    request_timeout_seconds: Positive | None = Field(
        default=None, description="limit of one request; default: by shape"
    )
    stall_timeout_seconds: Positive | None = Field(
        default=None, description="a level ends when no request ended for so long; default: by shape"
    )
    max_error_share: float = Field(default=0.0, ge=0, le=1, description="failed requests that a valid point may have")
    min_output_share: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="share of the tokens asked for that a valid point's answers have on average; 0 accepts any length",
    )
    stop_on_invalid: bool = Field(default=True, description="the first invalid level is the last")
    seed: int = Field(default=0, description="of prompts, lengths and pauses")
    placement: Unsupported = Field(default=None, description="not supported yet")
    client_placement: Unsupported = Field(default=None, description="not supported yet")
    slow_down_sleep_time: Unsupported = Field(default=None, description="not supported yet")
    slow_down_wait_time: Unsupported = Field(default=None, description="not supported yet")

    @field_validator("dataset_name")
    @classmethod
    def _only_random(cls, name: str) -> str:
        if name != "random":
            raise PydanticCustomError("dataset", "data set '{name}' is not supported yet; use 'random'", {"name": name})
        return name

    @model_validator(mode="after")
    def _one_number(self) -> SaBenchConfig:
        if self.requests is not None and self.num_prompts is not None and self.requests != self.num_prompts:
            message = "requests says {requests} and num_prompts {num_prompts}; keep one of them"
            numbers = {"requests": self.requests, "num_prompts": self.num_prompts}
            raise PydanticCustomError("requests", message, numbers)
        return self


@hookimpl
def inferlane_benchmarks() -> Sequence[BenchmarkSpec]:
    """The one type."""
    return [BenchmarkSpec(type="sa-bench", summary="fixed lengths, swept over concurrencies", config=SaBenchConfig)]


@hookimpl
def inferlane_benchmark_command(benchmark: SaBenchConfig, process: Process, run: Run) -> Command:
    """The load client, on the host, told everything by one file."""
    spec = load_spec(benchmark, run)
    return Command(
        program=(run.python, "-m", "inferlane.load"),
        args=("--spec", f"{run.files}/{process.name}/{SPEC_FILE}"),
        files=(File(name=SPEC_FILE, text=msgspec.json.format(msgspec.json.encode(spec), indent=2).decode()),),
        on_host=True,
        outputs=OUTPUTS,
        twin=Twin(prefer_real=True),
        problems=tuple(_problems(benchmark, run)),
    )


def _tokenizer(benchmark: SaBenchConfig) -> str | None:
    path = benchmark.custom_tokenizer
    return path if path and path.startswith("/") else None


def _problems(benchmark: SaBenchConfig, run: Run) -> Sequence[Problem]:
    found = list(unused(benchmark, UNUSED))
    if run.endpoint is None:
        message = "needs an endpoint, and nothing is in front of the workers; name a router in frontend.type"
        found.append(Problem(where="benchmark.type", message=f"sa-bench {message}"))
    if benchmark.custom_tokenizer and _tokenizer(benchmark) is None:
        message = f"has no effect: '{benchmark.custom_tokenizer}' is no absolute path; the server's own counts are used"
        found.append(Problem(where="benchmark.custom_tokenizer", severity="warning", message=message))
    return [*found, *_too_few(benchmark)]


def _too_few(benchmark: SaBenchConfig) -> list[Problem]:
    """A level that has fewer requests than it holds in flight measures a smaller level."""
    name = "requests" if benchmark.requests is not None else "num_prompts"
    count = getattr(benchmark, name)
    if count is None or benchmark.duration_seconds is not None or count >= max(benchmark.concurrencies):
        return []
    message = f"{count} requests never reach a concurrency of {max(benchmark.concurrencies)}; state at least as many"
    return [Problem(where=f"benchmark.{name}", severity="warning", message=message)]


def load_spec(benchmark: SaBenchConfig, run: Run) -> LoadSpec:
    """What the client is told; addresses in it are still tokens."""
    return LoadSpec(
        endpoint=run.endpoint or "",
        model=run.served_model_name,
        results=run.results,
        isl=benchmark.isl,
        osl=benchmark.osl,
        concurrencies=benchmark.concurrencies,
        requests=benchmark.requests or benchmark.num_prompts,
        num_prompts_mult=benchmark.num_prompts_mult,
        warmup_requests=benchmark.warmup_prompts,
        num_warmup_mult=benchmark.num_warmup_mult,
        req_rate=benchmark.req_rate,
        warmup_req_rate=benchmark.warmup_req_rate,
        random_range_ratio=benchmark.random_range_ratio,
        use_chat_template=benchmark.use_chat_template,
        reuse_http_connections=benchmark.reuse_http_connections,
        duration_seconds=benchmark.duration_seconds,
        request_timeout_s=benchmark.request_timeout_seconds,
        stall_timeout_s=benchmark.stall_timeout_seconds,
        max_error_share=benchmark.max_error_share,
        min_output_share=benchmark.min_output_share,
        stop_on_invalid=benchmark.stop_on_invalid,
        tokenizer=_tokenizer(benchmark),
        seed=benchmark.seed,
        gpus=_gpus(run.fleet),
    )


def _gpus(fleet: Fleet) -> Gpus:
    held = {group.role: group.workers * group.gpus for group in fleet.groups}
    return Gpus(total=sum(held.values()), prefill=held.get("prefill", 0), decode=held.get("decode", 0))


@hookimpl
def inferlane_benchmark_summary(benchmark: SaBenchConfig, outputs: Mapping[str, str]) -> Summary:
    """Ok when every level of the sweep left a valid result."""
    return summarise(outputs, benchmark.concurrencies)
