"""Whether a process that is waited for still gets somewhere, by its own log."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from inferlane.running.logs.tails import tail
from inferlane.values import HttpCheck, Plan, PluginCheck

_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?")
_LINES = 20
_BYTES = 4096
_REMEMBERED = 256


def probed_paths(plan: Plan) -> frozenset[str]:
    """The paths that this run itself asks for, again and again."""
    checks = (check for gate in plan.gates for check in gate.checks)
    return frozenset(urlsplit(check.url).path for check in checks if isinstance(check, HttpCheck | PluginCheck))


class Progress:
    """Looks at the end of growing logs. A line counts if, times of day aside, it was not there before, and if it does
    not tell of one of our own probes (``probed``: their paths).
    """

    def __init__(self, probed: Collection[str]) -> None:
        self._probed = tuple(path for path in probed if len(path) > 1)
        self._sizes: dict[Path, int] = {}
        self._seen: dict[Path, OrderedDict[str, None]] = {}

    def moved(self, log: Path) -> bool:
        """Whether the log has told something new since the last call."""
        try:
            size = log.stat().st_size
        except OSError:
            return False
        if size == self._sizes.get(log, 0):
            return False
        self._sizes[log] = size
        return self._remember(log, tail(log, _LINES, _BYTES))

    def _remember(self, log: Path, lines: Iterable[str]) -> bool:
        seen = self._seen.setdefault(log, OrderedDict())
        new = False
        for line in lines:
            text = _TIME.sub("", line)
            if any(path in text for path in self._probed):
                continue
            new = new or text not in seen
            seen[text] = None
            seen.move_to_end(text)
        while len(seen) > _REMEMBERED:
            seen.popitem(last=False)
        return new
