"""The result of one level: counts, numbers, and whether it is valid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from inferlane.load.lag import Saturation
from inferlane.load.level import End
from inferlane.load.prompts import Lengths
from inferlane.load.spec import LoadSpec
from inferlane.load.tally import Tally

OFF = 0.1
"""By how much the mean prompt length may differ from the one asked for before the result says so."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the run of one level looked like from outside. ``warmed_up``: the measured part was begun at all."""

    started_at_unix: float
    end: End
    warmed_up: bool
    warmup: Mapping[str, Any]
    sent: int
    not_sent: int
    peak_in_flight: int
    seconds: float
    lengths: Lengths
    lag: Saturation


def point(spec: LoadSpec, concurrency: int, tally: Tally, seen: Seen) -> Mapping[str, Any]:
    """The content of a result file."""
    reason = verdict(spec, concurrency, tally, seen)
    return {
        "valid": not reason,
        "reason": reason,
        "warnings": _warnings(tally, seen),
        "end": seen.end,
        "max_concurrency": concurrency,
        "num_prompts": seen.sent + seen.not_sent,
        "completed": tally.completed,
        "failed": tally.failed,
        "cancelled": tally.cancelled,
        "not_sent": seen.not_sent,
        "errors": dict(tally.errors),
        "error_examples": tally.examples,
        "stopped_short": tally.stopped_short,
        "estimated_requests": tally.estimated,
        "total_input_tokens": tally.tokens_in,
        "total_output_tokens": tally.tokens_out,
        "peak_in_flight": seen.peak_in_flight,
        "started_at_unix": seen.started_at_unix,
        "duration": seen.seconds,
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
    left = f"{tally.completed} done, {tally.failed} failed, {tally.cancelled} outstanding, {seen.not_sent} not sent"
    if not seen.warmed_up:
        left = f"in the warm-up, {seen.warmup['completed']} done and {seen.warmup['outstanding']} outstanding there"
    if seen.end == "stalled":
        return f"stalled: no request ended for {spec.stall_limit(concurrency):g} s; {left}"
    if seen.end == "stopped":
        return f"stopped by a signal; {left}"
    ended = tally.completed + tally.failed
    if tally.failed and tally.failed / ended > spec.max_error_share:
        kinds = ", ".join(f"{number} {kind}" for kind, number in tally.errors.most_common())
        worst = tally.errors.most_common(1)[0][0]
        allowed = f"at most {spec.max_error_share:.2%} may fail" if spec.max_error_share else "none may fail"
        return f"{tally.failed} of {ended} requests failed ({kinds}), {allowed}; {worst}: {tally.examples[worst]}"
    if not tally.completed:
        return f"no request was completed; {left}"
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
            f" {seen.lag.cpu_share:.0%} of one core): latencies are in part its own"
        )
    return found
