"""The benchmark's side of the verdict: exit status first, then what it wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from inferlane.running.causes import Causes
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.outcome import Cause, RunEnded, exit_words
from inferlane.running.processes.spawn import Children
from inferlane.values import Plan, Summary

Summarise = Callable[[Mapping[str, str]], Summary | None]

_SETTLE_S = 0.3  # a client that fails at the same moment as a worker is not the culprit
_LARGEST = 64 << 20


class Clients:
    """The benchmark processes of a run."""

    def __init__(self, plan: Plan, run: RunDirectory, children: Children, causes: Causes) -> None:
        self._plan = plan
        self._run = run
        self._children = children
        self._causes = causes

    async def verdict(self, summarise: Summarise | None) -> Summary | None:
        """Once all have ended. Raises ``RunEnded`` if one failed or its results are not what was asked for."""
        clients = [child for child in self._children.all() if child.process.kind == "benchmark"]
        bad = next((child for child in clients if child.code), None)
        if bad is not None:
            await asyncio.sleep(_SETTLE_S)
        summary, reason = self._summarised(summarise)
        if bad is not None:
            said = reason or (summary.message if summary is not None else "")
            message = f"benchmark {bad.name}: {exit_words(bad.code or 0)}{f'; {said}' if said else ''}"
            raise RunEnded("failed", self._causes.of_exit("benchmark", bad, message), summary)
        if summary is not None and not summary.ok:
            reason = summary.message or f"not what was asked for ({summary.errors} errors)"
        if reason:
            cause = Cause(kind="benchmark", process=clients[0].name, message=f"benchmark {clients[0].name}: {reason}")
            raise RunEnded("failed", self._causes.explain(cause), summary)
        return summary

    def so_far(self, summarise: Summarise | None) -> Summary | None:
        """What is there of the results of a benchmark that the run did not outlast; never ``ok``."""
        if not any(process.kind == "benchmark" for process in self._plan.processes):
            return None
        summary, _ = self._summarised(summarise)
        return None if summary is None else replace(summary, ok=False)

    def _summarised(self, summarise: Summarise | None) -> tuple[Summary | None, str]:
        if summarise is None:
            return None, ""
        try:
            return summarise(read_outputs(self._plan, self._run)), ""
        except Exception as error:  # noqa: BLE001 - a plugin's fault is a failed run, not a crash of the supervisor
            return None, f"its results could not be read: {error}"


def read_outputs(plan: Plan, run: RunDirectory) -> dict[str, str]:
    """File (path below the results folder) to its text, for each glob a benchmark names. Files above 64 MiB are cut."""
    found: dict[str, str] = {}
    patterns = [pattern for process in plan.processes if process.kind == "benchmark" for pattern in process.outputs]
    for pattern in patterns:
        for path in sorted(run.results.glob(pattern)):
            if path.is_file():
                with path.open("rb") as file:
                    found[str(path.relative_to(run.results))] = file.read(_LARGEST).decode(errors="replace")
    return found
