"""Numbers over many requests, in memory that does not grow with their tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

PERCENTILES = (50, 90, 95, 99)


class Distribution:
    """Counts by whole microseconds: percentiles are exact to the microsecond, whatever the number of samples."""

    def __init__(self, samples: Iterable[int] = ()) -> None:
        self._counts: Counter[int] = Counter(samples)

    def add(self, microseconds: int) -> None:
        """Add one sample."""
        self._counts[microseconds] += 1

    def update(self, microseconds: Iterable[int]) -> None:
        """Add many samples."""
        self._counts.update(microseconds)

    def __len__(self) -> int:
        return self._counts.total()

    def summary(self) -> Mapping[str, float | None]:
        """``mean``, ``median``, ``p90``, ``p95``, ``p99`` and ``max`` in milliseconds; ``None`` without samples.

        Percentiles interpolate linearly between the two nearest samples.
        """
        names = ("mean", *(_name(p) for p in PERCENTILES), "max")
        total = len(self)
        if not total:
            return dict.fromkeys(names)
        ordered = sorted(self._counts.items())
        mean = sum(value * count for value, count in ordered) / total
        values = (mean, *_percentiles(ordered, total), ordered[-1][0])
        return {name: round(value / 1000, 6) for name, value in zip(names, values, strict=True)}


def _name(percentile: int) -> str:
    return "median" if percentile == 50 else f"p{percentile}"


def _percentiles(ordered: list[tuple[int, int]], total: int) -> list[float]:
    wanted = [(total - 1) * percentile / 100 for percentile in PERCENTILES]
    ranks = {rank for place in wanted for rank in (math.floor(place), math.ceil(place))}
    at = _values_at(ordered, sorted(ranks))
    found = []
    for place in wanted:
        low, high = at[math.floor(place)], at[math.ceil(place)]
        found.append(low + (high - low) * (place - math.floor(place)))
    return found


def _values_at(ordered: list[tuple[int, int]], ranks: list[int]) -> dict[int, int]:
    """The samples at the given ascending 0-based ranks."""
    found: dict[int, int] = {}
    seen, groups = 0, iter(ordered)
    value = 0
    for rank in ranks:
        while seen <= rank:
            value, count = next(groups)
            seen += count
        found[rank] = value
    return found
