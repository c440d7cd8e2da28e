"""Signals only set a flag; the supervisor's loop looks at it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class SignalFlags:
    """The stop signals received so far, in order."""

    def __init__(self) -> None:
        self.received: list[signal.Signals] = []

    def install(self) -> None:
        """From here on stop signals are only noted."""
        for number in STOPPING:
            signal.signal(number, lambda got, _frame: self.received.append(signal.Signals(got)))

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """Wake the loop on a stop signal and whenever a child ends."""

        def noted(number: signal.Signals) -> None:
            self.received.append(number)
            wake()

        for number in STOPPING:
            loop.add_signal_handler(number, noted, number)
        loop.add_signal_handler(signal.SIGCHLD, wake)
