"""The result of one level: counts, numbers, and whether it is valid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from inferlane.load import crosscheck
from inferlane.load.lag import Saturation
from inferlane.load.level import End
from inferlane.load.prompts import Lengths
from inferlane.load.spec import LoadSpec
from inferlane.load.tally import Tally

OFF = 0.1
"""By how much the mean prompt length may differ from the one asked for before the result says so."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the run of one level looked like from outside. ``warmed_up``: the measured part was begun at all.

    ``fault``: why a level is ``broken``. ``asked``: requests, ``None`` = as many as fit into the time. ``logged``:
    lines of the request log. ``sweep_s``: since the sweep began, and by how much the wall clock is off over that time.
    """

    started_at_unix: float
    ended_at_unix: float
    end: End
    fault: str = ""
    warmed_up: bool
    warmup: Mapping[str, Any]
    asked: int | None
    sent: int
    peak_in_flight: int
    seconds: float
    sweep_s: float
    sweep_off_s: float
    log: str
    logged: int
    lengths: Lengths
    lag: Saturation

    @property
    def not_sent(self) -> int:
        """Requests that were asked for and never sent; a timed level sends what fits, and owes none."""
        return 0 if self.asked is None or self.end == "time is up" else max(0, self.asked - self.sent)

    @property
    def off_s(self) -> float:
        """By how much the wall clock moved against the monotonic one while the level ran."""
        return self.ended_at_unix - self.started_at_unix - self.seconds


def counted(tally: Tally, seen: Seen) -> Mapping[str, int]:
    """The counts of a level, known before its verdict."""
    return {
        "num_prompts": seen.sent + seen.not_sent,
        "sent": seen.sent,
        "completed": tally.completed,
        "failed": tally.failed,
        "cancelled": tally.cancelled,
        "not_sent": seen.not_sent,
        "total_input_tokens": tally.tokens_in,
        "total_output_tokens": tally.tokens_out,
        "request_log_lines": seen.logged,
    }


def point(spec: LoadSpec, concurrency: int, tally: Tally, seen: Seen) -> Mapping[str, Any]:
    """The content of a result file: the verdict with its reason first, then the counts."""
    reason = verdict(spec, concurrency, tally, seen)
    return {
        "valid": not reason,
        "reason": reason,
        "warnings": _warnings(tally, seen),
        "end": seen.end,
        "max_concurrency": concurrency,
        **counted(tally, seen),
        "errors": dict(tally.errors),
        "error_examples": tally.examples,
        "stopped_short": tally.stopped_short,
        "estimated_requests": tally.estimated,
        "request_log": seen.log,
        "peak_in_flight": seen.peak_in_flight,
        "started_at_unix": seen.started_at_unix,
        "ended_at_unix": seen.ended_at_unix,
        "duration": seen.seconds,
        "clock": {"level_off_s": round(seen.off_s, 6), "sweep_off_s": round(seen.sweep_off_s, 6)},
        **tally.rates(seen.seconds, spec.gpus),
        **tally.latencies(),
        "request_timeout_s": spec.request_limit(concurrency),
        "stall_timeout_s": spec.stall_limit(concurrency),
        "warmup": seen.warmup,
        "lengths": seen.lengths,
        "client": seen.lag,
        "settings": msgspec.to_builtins(spec),
    }


def verdict(spec: LoadSpec, concurrency: int, tally: Tally, seen: Seen) -> str:
    """Why a point is invalid, in one line; empty when it is valid."""
    why = _ended(spec, concurrency, tally, seen) or _answers(spec, tally, seen)
    found = crosscheck.faults(_facts(concurrency, tally, seen), spec.min_output_share)
    return "; ".join(filter(None, [why, *found]))


def _facts(concurrency: int, tally: Tally, seen: Seen) -> crosscheck.Facts:
    return crosscheck.Facts(
        asked=seen.asked,
        finished=seen.end == "finished",
        sent=seen.sent,
        completed=tally.completed,
        failed=tally.failed,
        cancelled=tally.cancelled,
        logged=seen.logged,
        concurrency=concurrency,
        peak=seen.peak_in_flight,
        counted=tally.completed - tally.estimated,
        tokens_asked=tally.counted_asked,
        tokens=tally.counted_out,
        seconds=seen.seconds,
        request_s=tally.request_s,
        last_end_s=tally.last_end_s,
        backwards=tally.backwards,
    )


def _ended(spec: LoadSpec, concurrency: int, tally: Tally, seen: Seen) -> str:
    left = f"{tally.completed} done, {tally.failed} failed, {tally.cancelled} outstanding, {seen.not_sent} not sent"
    if not seen.warmed_up:
        left = f"in the warm-up, {seen.warmup['completed']} done and {seen.warmup['outstanding']} outstanding there"
    if seen.end == "stalled":
        return f"stalled: no request ended for {spec.stall_limit(concurrency):g} s; {left}"
    if seen.end == "stopped":
        return f"stopped by a signal; {left}"
    return f"{seen.fault}; {left}" if seen.end == "broken" else ""


def _answers(spec: LoadSpec, tally: Tally, seen: Seen) -> str:
    ended = tally.completed + tally.failed
    if tally.failed and tally.failed / ended > spec.max_error_share:
        kinds = ", ".join(f"{number} {kind}" for kind, number in tally.errors.most_common())
        worst = tally.errors.most_common(1)[0][0]
        allowed = f"at most {spec.max_error_share:.2%} may fail" if spec.max_error_share else "none may fail"
        return f"{tally.failed} of {ended} requests failed ({kinds}), {allowed}; {worst}: {tally.examples[worst]}"
    if not tally.completed:
        return f"no request was completed; {tally.cancelled} cut off, {seen.not_sent} not sent"
    return "" if tally.tokens_out else "no token came back"


def _warnings(tally: Tally, seen: Seen) -> list[str]:
    found = []
    if tally.estimated:
        found.append(f"output tokens of {tally.estimated} requests are estimated from chunks: the server told no usage")
    if tally.stopped_short:
        found.append(f"{tally.stopped_short} requests ended by the server's own stop, with another length than asked")
    if tally.asked_in and abs(tally.tokens_in / tally.asked_in - 1) > OFF:
        found.append(
            f"prompts had {tally.tokens_in / tally.completed:.0f} tokens on average,"
            f" {tally.asked_in / tally.completed:.0f} were asked for ({seen.lengths.source})"
        )
    if seen.lag.saturated:
        found.append(
            f"the client is saturated (event loop late by {seen.lag.loop_lag_p95_ms:g} ms at p95,"
            f" {seen.lag.loop_lag_max_ms:g} ms at most, {seen.lag.late_share:.0%} of the time;"
            f" {seen.lag.cpu_share:.0%} of one core): latencies are in part its own"
        )
    clock = crosscheck.clock_trouble(seen.off_s, seen.seconds, "the level")
    since = crosscheck.clock_trouble(seen.sweep_off_s, seen.sweep_s, "the sweep so far")
    return [*found, *filter(None, (clock, since))]
