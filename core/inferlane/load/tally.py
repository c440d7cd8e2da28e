"""What a level adds up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from inferlane.load.client import Outcome
from inferlane.load.prompts import Ask
from inferlane.load.spec import Gpus
from inferlane.load.stats import Distribution


class Tally:
    """Counts and latencies of the requests of one level. Latencies and tokens are those of completed requests only."""

    def __init__(self) -> None:
        self.completed = self.cancelled = self.estimated = self.stopped_short = 0
        self.errors: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.asked_in = self.tokens_in = self.tokens_out = 0
        self.counted_asked = self.counted_out = self.backwards = self._request_us = 0
        self.last_end_s = 0.0
        self._ttft, self._tpot, self._itl, self._e2e = (Distribution() for _ in range(4))

    @property
    def failed(self) -> int:
        """Requests that ended badly; cancelled ones are not among them."""
        return self.errors.total()

    @property
    def request_s(self) -> float:
        """Seconds of all completed requests together."""
        return self._request_us / 1_000_000

    def add(self, ask: Ask, outcome: Outcome, started: float = 0.0) -> None:
        """Count one request; ``started`` in seconds since the level began."""
        if outcome.kind == "cancelled":
            self.cancelled += 1
        elif outcome.kind:
            self.errors[outcome.kind] += 1
            self.examples.setdefault(outcome.kind, outcome.message)
        else:
            self._completed(ask, outcome)
            self._timed(started, outcome)

    def _completed(self, ask: Ask, outcome: Outcome) -> None:
        self.completed += 1
        self.estimated += outcome.estimated
        self.stopped_short += not outcome.estimated and outcome.output_tokens != ask.osl
        self.asked_in += ask.isl
        self.tokens_in += ask.isl if outcome.input_tokens is None else outcome.input_tokens
        self.tokens_out += outcome.output_tokens
        if not outcome.estimated:
            self.counted_asked += ask.osl
            self.counted_out += outcome.output_tokens
        for kept, value in ((self._ttft, outcome.ttft_us), (self._tpot, outcome.tpot_us), (self._e2e, outcome.e2e_us)):
            if value is not None:
                kept.add(value)
        self._itl.update(outcome.gaps_us)

    def _timed(self, started: float, outcome: Outcome) -> None:
        taken = outcome.e2e_us or 0
        self._request_us += taken
        self.last_end_s = max(self.last_end_s, started + taken / 1_000_000)
        self.backwards += (outcome.ttft_us or 0) > taken

    def latencies(self) -> Mapping[str, float | None]:
        """``{mean,median,p90,p95,p99,max}_{ttft,tpot,itl,e2el}_ms``: the names that other serving clients use too."""
        named = {"ttft": self._ttft, "tpot": self._tpot, "itl": self._itl, "e2el": self._e2e}
        return {
            f"{statistic}_{name}_ms": value
            for name, kept in named.items()
            for statistic, value in kept.summary().items()
        }

    def rates(self, seconds: float, gpus: Gpus) -> Mapping[str, Any]:
        """Throughput per second, per device, and as one user sees it (1 / median time per token)."""
        seconds = max(seconds, 1e-9)
        tokens_in, tokens_out = self.tokens_in / seconds, self.tokens_out / seconds
        tpot = self._tpot.summary()["median"]
        return {
            "request_throughput": self.completed / seconds,
            "input_throughput": tokens_in,
            "output_throughput": tokens_out,
            "total_token_throughput": tokens_in + tokens_out,
            "total_token_throughput_per_gpu": _per(tokens_in + tokens_out, gpus.total),
            "output_throughput_per_gpu": _per(tokens_out, gpus.total),
            "input_throughput_per_prefill_gpu": _per(tokens_in, gpus.prefill),
            "output_throughput_per_decode_gpu": _per(tokens_out, gpus.decode),
            "output_throughput_per_user": 1000 / tpot if tpot else None,
        }


def _per(rate: float, devices: int) -> float | None:
    return rate / devices if devices else None
