"""The faults a twin can be told to have, and when each one strikes."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from dataclasses import dataclass, field

_TIMED = ("slow", "crash", "exit0", "hang")
_COUNTED = ("crash-on", "hang-one")
_PLAIN = ("never-healthy", "error", "zero", "ignore-term")

WITHOUT_HTTP = ("crash", "exit0", "ignore-term")
"""What a twin can have that answers nobody."""
ROUTER = ("crash", "exit0", "hang", "error", "crash-on", "hang-one", "ignore-term")
"""What a router's twin can have."""


@dataclass(frozen=True)
class Fault:
    """``kind`` is empty for a twin that works; ``at`` is in seconds or a number of completions, by kind."""

    kind: str = ""
    at: float = 0.0


def parse_fault(text: str) -> Fault:
    """Read ``crash@2.5`` and the like (see ``Orders.fault``); raises ``ValueError`` with one line."""
    kind, at, value = text.partition("@")
    if not text or (kind in _PLAIN and not at):
        return Fault(kind)
    if kind in _TIMED or kind in _COUNTED:
        try:
            number = int(value) if kind in _COUNTED else float(value)
        except ValueError:
            number = -1
        if math.isfinite(number) and number >= (1 if kind in _COUNTED else 0):
            return Fault(kind, number)
    words = [f"{word}@S" for word in _TIMED] + [f"{word}@N" for word in _COUNTED] + list(_PLAIN)
    raise ValueError(f"fault '{text}' is none of {', '.join(words)}")


@dataclass
class FaultClock:
    """A fault in a running twin; times count from the creation of this object."""

    fault: Fault
    began: float = field(default_factory=time.monotonic)

    def arm(self) -> None:
        """Start the timer of a fault that ends the process by itself."""
        if self.fault.kind in ("crash", "exit0"):
            left = max(0.0, self.began + self.fault.at - time.monotonic())
            asyncio.get_running_loop().call_later(left, self.die, 1 if self.fault.kind == "crash" else 0)

    def is_(self, kind: str) -> bool:
        """Whether the fault is of this kind."""
        return self.fault.kind == kind

    def load_s(self, planned: float) -> float | None:
        """Seconds until healthy; ``None`` = never."""
        if self.is_("never-healthy"):
            return None
        return self.fault.at if self.is_("slow") else planned

    async def answer(self) -> None:
        """Return if the twin still answers; otherwise wait for ever."""
        if self.is_("hang") and time.monotonic() - self.began >= self.fault.at:
            await asyncio.Event().wait()

    async def completion(self, number: int) -> None:
        """Called for each completion with its number, from 1."""
        if self.is_("crash-on") and number == self.fault.at:
            self.die(1)
        if self.is_("hang-one") and number == self.fault.at:
            await asyncio.Event().wait()

    def die(self, status: int) -> None:
        """End at once, as a crashed engine does: no clean-up, connections broken."""
        print(f"fault {self.fault.kind}@{self.fault.at:g}: ending with status {status}", file=sys.stderr, flush=True)
        os._exit(status)
