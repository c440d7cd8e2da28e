"""Reading an engine's own counters (Prometheus text): who has served."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inferlane.running.readiness import probes
from inferlane.values import Counter, PlannedUpstream

_ROW = re.compile(r"^(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')


def read_counter(text: str, counter: Counter) -> dict[str, float]:
    """Rank (by the counter's label, ``""`` without one) to the sum of its rows; what is no number is ignored."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = _ROW.match(line)
        if match is None or match["name"] != counter.series:
            continue
        labels = dict(_LABEL.findall(match["labels"] or ""))
        rank = labels.get(counter.rank_label, "") if counter.rank_label else ""
        try:
            found[rank] = found.get(rank, 0.0) + float(match["value"])
        except ValueError:
            continue
    return found


async def ask(upstream: PlannedUpstream, timeout_s: float) -> Mapping[str, float] | None:
    """An upstream's counter now; ``None`` if it does not tell."""
    if upstream.served is None or upstream.url is None:
        return None
    reply = await probes.get(upstream.url.rstrip("/") + upstream.served.path, timeout_s)
    return read_counter(reply.body, upstream.served) if reply.status == 200 else None


def grown(before: Mapping[str, float], now: Mapping[str, float]) -> set[str]:
    """Ranks whose counter has grown."""
    return {rank for rank, value in now.items() if value > before.get(rank, 0.0)}
