"""The verdict over the result files of the load client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from inferlane.api import Summary


class _Settings(msgspec.Struct):
    concurrencies: tuple[int, ...]


class _Point(msgspec.Struct):
    """What the summary needs of a result file."""

    valid: bool
    reason: str
    max_concurrency: int
    num_prompts: int
    sent: int
    completed: int
    failed: int
    cancelled: int
    settings: _Settings
    warnings: tuple[str, ...] = ()
    median_ttft_ms: float | None = None
    p99_ttft_ms: float | None = None
    median_tpot_ms: float | None = None
    median_e2el_ms: float | None = None
    output_throughput: float | None = None
    output_throughput_per_gpu: float | None = None
    output_throughput_per_user: float | None = None

    @property
    def plausible(self) -> bool:
        """Whether something was completed, and every request that was sent is accounted for."""
        return self.completed > 0 and self.sent == self.completed + self.failed + self.cancelled


def summarise(outputs: Mapping[str, str], asked: Sequence[int]) -> Summary:
    """Ok when every level of the sweep left a valid result; ``asked``: the levels, where no file tells them.

    A point that says it is valid and whose counts say otherwise is not. Warnings of valid points are the message.
    """
    points, faults = _points(outputs)
    faults += [
        f"concurrency {point.max_concurrency}: says it is valid, with {point.completed} completed of {point.sent} sent,"
        f" {point.failed} failed, {point.cancelled} cancelled"
        for point in points
        if point.valid and not point.plausible
    ]
    faults += [f"concurrency {point.max_concurrency}: {point.reason}" for point in points if not point.valid]
    wanted = points[0].settings.concurrencies if points else asked
    ran = {point.max_concurrency for point in points}
    missing = [str(level) for level in wanted if level not in ran]
    if missing:
        faults.append(f"no result for concurrency {', '.join(missing)}; see the benchmark's log")
    return Summary(
        ok=not faults,
        requests=sum(point.num_prompts for point in points),
        errors=sum(point.failed for point in points),
        cancelled=sum(point.cancelled for point in points),
        message="; ".join(faults or _warnings(points)),
        rows=tuple(_row(point) for point in points),
    )


def _warnings(points: Sequence[_Point]) -> list[str]:
    return [f"warning: concurrency {point.max_concurrency}: {said}" for point in points for said in point.warnings]


def _points(outputs: Mapping[str, str]) -> tuple[list[_Point], list[str]]:
    points, faults = [], []
    for name, text in sorted(outputs.items()):
        try:
            points.append(msgspec.json.decode(text, type=_Point))
        except msgspec.MsgspecError as error:
            faults.append(f"{name}: not a result file: {error}")
    return sorted(points, key=lambda point: point.max_concurrency), faults


def _row(point: _Point) -> Mapping[str, float | int | str]:
    numbers = {
        "ttft_p50_ms": point.median_ttft_ms,
        "ttft_p99_ms": point.p99_ttft_ms,
        "tpot_p50_ms": point.median_tpot_ms,
        "e2e_p50_ms": point.median_e2el_ms,
        "output_tokens_per_s": point.output_throughput,
        "output_tokens_per_s_per_gpu": point.output_throughput_per_gpu,
        "output_tokens_per_s_per_user": point.output_throughput_per_user,
    }
    return {
        "concurrency": point.max_concurrency,
        "requests": point.num_prompts,
        "ok": point.completed,
        "errors": point.failed,
        "cancelled": point.cancelled,
        **{name: "-" if value is None else round(value, 3) for name, value in numbers.items()},
    }
