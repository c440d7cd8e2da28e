"""Result files, whether they can be written, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from inferlane.errors import InferlaneError
from inferlane.load.spec import LoadSpec
from inferlane.running.folder.files import write_whole


def stem(spec: LoadSpec, concurrency: int) -> str:
    """``concurrency_C_gpus_G[_ctx_P_gen_D]``."""
    gpus = spec.gpus
    split = f"_ctx_{gpus.prefill}_gen_{gpus.decode}" if gpus.prefill and gpus.decode else ""
    return f"concurrency_{concurrency}_gpus_{gpus.total}{split}"


def folder(spec: LoadSpec) -> Path:
    """Where the files of a sweep are."""
    return Path(spec.results) / f"sa-bench_isl_{spec.isl}_osl_{spec.osl}"


class Unwritable(InferlaneError):  # noqa: N818 - a fault that a user can mend
    """A result could not be kept; those of finished points are not touched by it."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} can not be written: {error.strerror or error}; free space there or choose another -o")


def result_path(spec: LoadSpec, concurrency: int) -> Path:
    """The result file of one level."""
    return folder(spec) / f"results_{stem(spec, concurrency)}.json"


def forget(spec: LoadSpec) -> None:
    """Remove results that an earlier sweep left for these levels, so that none stands for a level of this one."""
    for concurrency in spec.concurrencies:
        path = result_path(spec, concurrency)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise Unwritable(path, error) from None


def write_point(spec: LoadSpec, concurrency: int, point: Mapping[str, Any]) -> Path:
    """Write the result of one level so that a reader sees all of it or nothing. Raises :class:`Unwritable`."""
    path = result_path(spec, concurrency)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.format(msgspec.json.encode(point), indent=2))
    except OSError as error:
        raise Unwritable(path, error) from None
    return path


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
