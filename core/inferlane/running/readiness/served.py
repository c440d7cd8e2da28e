"""How many requests each worker served of the traffic, by the engines' own counters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from inferlane.running.readiness import counters
from inferlane.values import Plan


class Served:
    """Counts between two moments: when the run was ready, and when the traffic had ended."""

    def __init__(self, plan: Plan) -> None:
        self._upstreams = [up for up in plan.upstreams if up.served is not None and up.url is not None]
        self._timeout_s = plan.probe_timeout_s
        self._before: dict[str, Mapping[str, float]] = {}

    async def begin(self) -> None:
        """Remember where the counters stand."""
        self._before = await self._read()

    async def count(self) -> dict[str, int]:
        """Process (or ``process@rank``) to requests served since then; those that do not tell are left out."""
        found: dict[str, int] = {}
        for process, now in (await self._read()).items():
            before = self._before.get(process)
            if before is None:
                continue
            for rank in sorted({*before, *now}):
                name = f"{process}@{rank}" if rank else process
                found[name] = round(now.get(rank, 0.0) - before.get(rank, 0.0))
        return found

    def silent(self, found: Mapping[str, int]) -> list[str]:
        """Processes that told their counter when the run was ready, and do not any more."""
        told = {name.partition("@")[0] for name in found}
        return [process for process in self._before if process not in told]

    def shortfall(self, found: Mapping[str, int], completed: int) -> tuple[int, str]:
        """Of the roles whose workers all tell: the smallest number of requests served, and a sentence if that is less
        than a client says it has ``completed``; ``(completed, "")`` if no role contradicts it.
        """
        least, said = completed, ""
        for role in dict.fromkeys(upstream.role for upstream in self._upstreams):
            processes = {upstream.process for upstream in self._upstreams if upstream.role == role}
            mine = [count for name, count in found.items() if name.partition("@")[0] in processes]
            told = {name.partition("@")[0] for name in found}
            if processes <= told and processes <= self._before.keys() and sum(mine) < least:
                least = sum(mine)
                said = f"the benchmark counts {completed} completions, and the {role} workers' own counters {least}"
        return least, said

    async def _read(self) -> dict[str, Mapping[str, float]]:
        answers = await asyncio.gather(*(counters.ask(upstream, self._timeout_s) for upstream in self._upstreams))
        pairs = zip(self._upstreams, answers, strict=True)
        return {upstream.process: answer for upstream, answer in pairs if answer is not None}


def served_lines(served: Mapping[str, int]) -> list[str]:
    """Who served how much, and who nothing."""
    if not served:
        return []
    idle = [name for name, count in served.items() if count == 0]
    lines = ["served, warm-up included: " + ", ".join(f"{name} {count}" for name, count in served.items())]
    if idle and any(served.values()):
        lines.append(f"warning: {', '.join(idle)} served nothing of the benchmark; look at the router's policy")
    return lines
