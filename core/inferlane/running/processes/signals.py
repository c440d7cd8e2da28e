"""Signals only set a flag; the supervisor's loop looks at it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

from inferlane.running.guardian import heeded

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_SAME_S = 0.1


class SignalFlags:
    """The stop signals received so far, in order."""

    def __init__(self) -> None:
        self.received: list[signal.Signals] = []
        self._moments: list[float] = []

    def install(self) -> None:
        """From here on stop signals are only noted."""
        for number in heeded():
            signal.signal(number, lambda got, _frame: self._note(signal.Signals(got)))

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """Wake the loop on a stop signal and whenever a child ends."""

        def noted(number: signal.Signals) -> None:
            self._note(number)
            wake()

        for number in heeded():
            loop.add_signal_handler(number, noted, number)
        loop.add_signal_handler(signal.SIGCHLD, wake)

    def calm_until(self) -> float:
        """The monotonic time up to which further signals say the same as the first one: shells, terminals and
        programs such as ``timeout`` send theirs twice.
        """
        return self._moments[0] + _SAME_S if self._moments else time.monotonic()

    def pressed_after(self, moment: float) -> bool:
        """Whether somebody wants it faster: a signal later than ``moment``. A hang-up is no wish."""
        pairs = zip(self.received, self._moments, strict=False)
        return any(at > moment and number != signal.SIGHUP for number, at in pairs)

    def _note(self, number: signal.Signals) -> None:
        self.received.append(number)
        self._moments.append(time.monotonic())
