"""Result files and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from inferlane.load.client import Outcome
from inferlane.load.prompts import Ask
from inferlane.load.spec import LoadSpec
from inferlane.running.files import write_whole


def stem(spec: LoadSpec, concurrency: int) -> str:
    """``concurrency_C_gpus_G[_ctx_P_gen_D]``."""
    gpus = spec.gpus
    split = f"_ctx_{gpus.prefill}_gen_{gpus.decode}" if gpus.prefill and gpus.decode else ""
    return f"concurrency_{concurrency}_gpus_{gpus.total}{split}"


def folder(spec: LoadSpec) -> Path:
    """Where the files of a sweep are."""
    return Path(spec.results) / f"sa-bench_isl_{spec.isl}_osl_{spec.osl}"


def write_point(spec: LoadSpec, concurrency: int, point: Mapping[str, Any]) -> Path:
    """Write the result of one level so that a reader sees all of it or nothing."""
    path = folder(spec) / f"results_{stem(spec, concurrency)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, msgspec.json.format(msgspec.json.encode(point), indent=2))
    return path


class RequestLog:
    """One JSON line per measured request, in the order they ended."""

    def __init__(self, spec: LoadSpec, concurrency: int) -> None:
        path = folder(spec) / f"requests_{stem(spec, concurrency)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("wb")

    def add(self, ask: Ask, started: float, outcome: Outcome) -> None:
        """Append one request; ``started`` in seconds since the level began."""
        line = {
            "index": ask.index,
            "status": outcome.kind or "ok",
            "message": outcome.message,
            "started_s": round(started, 6),
            "isl": ask.isl,
            "osl": ask.osl,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "estimated": outcome.estimated,
            "finish_reason": outcome.finish_reason,
            "ttft_ms": _ms(outcome.ttft_us),
            "tpot_ms": _ms(outcome.tpot_us),
            "e2el_ms": _ms(outcome.e2e_us),
            "max_itl_ms": _ms(max(outcome.gaps_us, default=None)),
        }
        self._file.write(msgspec.json.encode(line) + b"\n")

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._file.flush()

    def close(self) -> None:
        """Write the rest and close."""
        self._file.close()


def _ms(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000


COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("conc", "max_concurrency", 0),
    ("requests", "num_prompts", 0),
    ("ok", "completed", 0),
    ("errors", "failed", 0),
    ("cancelled", "cancelled", 0),
    ("ttft p50 ms", "median_ttft_ms", 1),
    ("ttft p99 ms", "p99_ttft_ms", 1),
    ("tpot p50 ms", "median_tpot_ms", 2),
    ("e2e p50 ms", "median_e2el_ms", 1),
    ("req/s", "request_throughput", 2),
    ("out tok/s", "output_throughput", 1),
    ("tok/s/gpu", "output_throughput_per_gpu", 1),
    ("tok/s/user", "output_throughput_per_user", 1),
)


def table(points: Sequence[Mapping[str, Any]]) -> str:
    """Plain text: one row per level."""
    rows = [[title for title, _, _ in COLUMNS] + ["valid"]]
    for point in points:
        cells = [_cell(point.get(key), digits) for _, key, digits in COLUMNS]
        rows.append([*cells, "yes" if point["valid"] else "NO"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _cell(value: object, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else "-"
