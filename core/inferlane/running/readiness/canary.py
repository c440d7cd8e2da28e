"""The last gate: real completions through the endpoint, one at a time, until every upstream has served one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from inferlane.running.outcome import Cause, RunEnded, VerdictWord
from inferlane.running.readiness import probes
from inferlane.running.readiness.counters import ask, grown
from inferlane.running.readiness.judge import NEVER_HEALS
from inferlane.running.terminal.board import Board
from inferlane.values import Plan, PlannedUpstream, Reply

_ONE_COMPLETION_S = 120.0  # the first one of an engine may compile
_UNKNOWN_IS_FINAL = 3  # a model that is not found so often in a row is not there
_LONGEST_PAUSE_S = 5.0
_SPACED_S = 0.25
_PATIENT = 4  # completions in a row that nobody new has served, before they are spaced


class Canary:
    """Sends completions and keeps book of who served."""

    def __init__(
        self,
        plan: Plan,
        board: Board,
        explain: Callable[[Cause], Cause],
        say: Callable[[str], None],
        patience_s: float,
    ) -> None:
        assert plan.endpoint is not None
        self._plan = plan
        self._endpoint = plan.endpoint.rstrip("/")
        self._board = board
        self._explain = explain
        self._say = say
        ranks = sum(map(_expected, plan.upstreams))
        self._patience = patience_s + ranks  # a router that picks at random takes a while to reach the last of many
        routed = any(process.kind == "router" for process in plan.processes)
        self.stage = "generation through router" if routed else "generation through the endpoint"
        self._chat = False
        self._before: dict[str, Mapping[str, float]] = {}
        self._served: dict[str, set[str]] = {}
        self.tries = 0
        self._unseen = self._in_a_row = self._longest_row = 0
        self._last = "no completion was tried"
        self._said = ""

    async def sing(self, deadline: float) -> int:
        """Return the number of completions it took. Raises ``RunEnded`` that names stage and worker, at the deadline or
        when for ``patience_s`` (and a second per upstream) nothing has got any better.
        """
        await self._take_stock()
        pause, unknown, quiet = 0.5, 0, 0
        limit = min(deadline, time.monotonic() + self._patience)
        while not self._complete():
            if time.monotonic() >= limit:
                raise self._ended("not_ready", "deadline" if limit == deadline else "generation")
            reply = await self._complete_once(limit)
            self._last = no_completion(reply)
            if self._last:
                self._in_a_row = self._unseen = 0
                self._tell()
                unknown = unknown + 1 if reply.status == 404 else 0
                if reply.status in NEVER_HEALS or unknown >= _UNKNOWN_IS_FINAL:
                    raise self._ended("failed", "generation")
                await asyncio.sleep(max(0.0, min(pause, limit - time.monotonic())))
                pause = min(pause * 1.5, _LONGEST_PAUSE_S)
                continue
            pause, unknown = 0.5, 0
            self._unseen += 1
            if self._unseen < self._stride():
                continue
            if await self._look():
                quiet, limit = 0, min(deadline, time.monotonic() + self._patience)
            else:
                quiet += 1
            if quiet > _PATIENT:  # counters lag, or the router has favourites: do not turn this into a load
                await asyncio.sleep(min(0.05 * (quiet - _PATIENT), _SPACED_S))
        return self.tries

    def _tell(self) -> None:
        """Say what is wrong as soon as it is known, and again when it changes."""
        if self._last != self._said:
            self._said = self._last
            self._say(f"{self.stage}: not yet: {self._last}")

    async def _take_stock(self) -> None:
        told = [upstream for upstream in self._plan.upstreams if upstream.served is not None]
        counts = await asyncio.gather(*(ask(upstream, self._plan.probe_timeout_s) for upstream in told))
        for upstream, count in zip(told, counts, strict=True):
            if count is not None:
                self._before[_key(upstream)] = count
                self._served[_key(upstream)] = set()

    async def _look(self) -> bool:
        """Count the successes and see who has served by now; ``True`` if that is better than ever before."""
        self._in_a_row += self._unseen
        self._unseen = 0
        better = self._in_a_row > self._longest_row and self._untold()
        self._longest_row = max(self._longest_row, self._in_a_row)
        before = sum(map(len, self._served.values()))
        waiting = [upstream for upstream in self._plan.upstreams if self._waits(upstream)]
        counts = await asyncio.gather(*(ask(upstream, self._plan.probe_timeout_s) for upstream in waiting))
        for upstream, count in zip(waiting, counts, strict=True):
            self._served[_key(upstream)] |= grown(self._before[_key(upstream)], count or {})
        return better or sum(map(len, self._served.values())) > before

    def _stride(self) -> int:
        """Completions until the next look: asking many counters after each one would cost more than the completions."""
        missing = sum(_expected(up) - len(self._served[_key(up)]) for up in self._plan.upstreams if self._waits(up))
        return max(1, missing // 2)

    def _waits(self, upstream: PlannedUpstream) -> bool:
        served = self._served.get(_key(upstream))
        return served is not None and len(served) < _expected(upstream)

    def _untold(self) -> bool:
        """Whether some upstream does not tell that it has served."""
        return any(_key(upstream) not in self._served for upstream in self._plan.upstreams)

    def _complete(self) -> bool:
        if any(self._waits(upstream) for upstream in self._plan.upstreams):
            return False
        everyone = sum(upstream.ranks for upstream in self._plan.upstreams)
        return self._in_a_row >= (max(1, everyone) if self._untold() else 1)

    async def _complete_once(self, deadline: float) -> Reply:
        self.tries += 1
        timeout = max(0.5, min(_ONE_COMPLETION_S, self._patience / 2, deadline - time.monotonic()))
        reply = await self._ask_for_tokens(timeout)
        if reply.status in (404, 405) and not self._chat:
            self._chat = True
            other = await self._ask_for_tokens(timeout)
            if other.status in (404, 405):
                self._chat = False
                return reply
            return other
        return reply

    async def _ask_for_tokens(self, timeout_s: float) -> Reply:
        prompt = f"{self.tries} plus {self.tries * 7 % 13} is"  # distinct from its first word, so that no cache chooses
        body: dict[str, Any] = {"model": self._plan.served_model_name, "max_tokens": 4, "temperature": 0}
        if self._chat:
            body["messages"] = [{"role": "user", "content": prompt}]
            return await probes.post_json(f"{self._endpoint}/v1/chat/completions", body, timeout_s)
        body["prompt"] = prompt
        return await probes.post_json(f"{self._endpoint}/v1/completions", body, timeout_s)

    def _ended(self, verdict: VerdictWord, kind: str) -> RunEnded:
        waiting = [upstream for upstream in self._plan.upstreams if self._waits(upstream)]
        missing = [_named(upstream, self._served[_key(upstream)]) for upstream in waiting]
        who = f": not served by {', '.join(missing[:8])}" if missing else ""
        process = waiting[0].process if waiting else self._board.owner_of_url(self._endpoint)
        last = f"; last answer: {self._last}" if self._last else ""
        message = f"{self.stage} failed after {self.tries} tries{who}{last}"
        return RunEnded(verdict, self._explain(Cause(kind=kind, message=message, process=process, stage=self.stage)))


def _key(upstream: PlannedUpstream) -> str:
    return f"{upstream.process} {upstream.url}"


def _expected(upstream: PlannedUpstream) -> int:
    return upstream.ranks if upstream.served is not None and upstream.served.rank_label else 1


def _named(upstream: PlannedUpstream, served: set[str]) -> str:
    expected = _expected(upstream)
    ranks = f" ({len(served)} of {expected} ranks)" if expected > 1 else ""
    return f"{upstream.process}{ranks}"


def no_completion(reply: Reply) -> str:
    """Why an answer is not a completion with at least one token; empty if it is one."""
    if reply.status != 200:
        shown = " ".join(reply.body.split())[:300]
        return f"HTTP {reply.status} {shown}".rstrip() if reply.status else shown or "no answer"
    try:
        document = json.loads(reply.body)
        tokens = (document.get("usage") or {}).get("completion_tokens")
        choice = document["choices"][0]
        text = choice.get("text") or (choice.get("message") or {}).get("content")
        text = text or (choice.get("message") or {}).get("reasoning_content")
    except (ValueError, LookupError, AttributeError, TypeError):
        return "HTTP 200, but not a completion"
    if tokens or (tokens is None and text):
        return ""
    return "HTTP 200, but a completion of no tokens"
