"""What a twin counts, and how it shows it: Prometheus text for gates, JSON for people and rehearsals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Counts:
    """Completions of one twin, in all and by data-parallel rank."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.requests = 0
        self.in_flight = 0
        self.peak = 0
        self.finished_by_rank: Counter[int] = Counter(dict.fromkeys(range(ranks), 0))

    @property
    def finished(self) -> int:
        """Completions that were answered to the end."""
        return self.finished_by_rank.total()

    @contextmanager
    def track(self) -> Iterator[int]:
        """Count one completion while it is being answered; gives its number, from 1."""
        self.requests += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            yield self.requests
        finally:
            self.in_flight -= 1

    def finish(self, rank: int) -> None:
        """One more answered to the end."""
        self.finished_by_rank[rank] += 1

    def stats(self) -> dict[str, Any]:
        """For ``/stats``."""
        return {
            "requests": self.requests,
            "finished": self.finished,
            "in_flight": self.in_flight,
            "peak": self.peak,
            "ranks": {str(rank): count for rank, count in sorted(self.finished_by_rank.items())},
        }

    def prometheus(self, series: str, rank_label: str, model: str) -> str:
        """For ``/metrics``; with several ranks there is one row for each."""
        labels = 'model_name="' + model.replace("\\", r"\\").replace('"', r"\"") + '"'
        rows = [f"{series}{{{labels}}} {self.finished}"]
        if self.ranks > 1:
            by_rank = sorted(self.finished_by_rank.items())
            rows = [f'{series}{{{labels},{rank_label}="{rank}"}} {count}' for rank, count in by_rank]
        running = f"twin:running_requests{{{labels}}} {self.in_flight}"
        head = [f"# HELP {series} Finished requests.", f"# TYPE {series} counter"]
        return "\n".join([*head, *rows, "# TYPE twin:running_requests gauge", running, ""])
