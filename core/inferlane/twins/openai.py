"""The twin for anyone's engine that serves the OpenAI API: ``python -m inferlane.twins.openai``.

It takes any command line. Of it, it reads ``--host``, ``--port``, ``--model`` (or ``--model-path``) and
``--served-model-name``, and it falls back to the orders' port named ``http``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath

from inferlane.errors import EXIT_USAGE
from inferlane.twins import life
from inferlane.twins.faults import Fault
from inferlane.twins.orders import Orders
from inferlane.twins.server import Settings
from inferlane.twins.startup import StartError, guarded, ordered_fault, own_orders, prepare, say, serving_socket

NAME = "openai twin"


def main(args: Sequence[str]) -> int:
    """Serve until SIGTERM; returns the exit status."""
    orders = own_orders(os.environ)
    fault = ordered_fault(orders) if orders else Fault()
    host = orders.host if orders else _given(args, "--host") or "127.0.0.1"
    held = prepare(orders, args)
    if orders is not None and orders.index > 0 and not ("http" in orders.ports and orders.ports["http"].held):
        say(f"{NAME}: follower {orders.index} of {orders.process}, no HTTP")
        return life.follow(orders.index, None, held, fault)
    port = _port(args, orders)
    http = serving_socket(orders, held, host, port, "http")
    settings = _settings(args, orders, fault)
    say(f"{NAME}: loading {settings.model}, listening on {host}:{port}")
    return life.serve(settings, http, held)


def _port(args: Sequence[str], orders: Orders | None) -> int:
    text = _given(args, "--port")
    if text is not None and text.isdigit():
        return int(text)
    if text is None and orders is not None and "http" in orders.ports:
        return orders.ports["http"].first
    what = "no --port" if text is None else f"--port '{text}' is no number"
    raise StartError(f"{what}, and no port named http in the orders", EXIT_USAGE)


def _settings(args: Sequence[str], orders: Orders | None, fault: Fault) -> Settings:
    model = _given(args, "--model", "--model-path") or "model"
    served = _given(args, "--served-model-name") or PurePosixPath(model).name or model
    return Settings(
        model=model,
        served_model=served,
        series="twin:requests_total",
        ranks=orders.ranks if orders else 1,
        load_s=orders.load_s if orders else 0.0,
        tokens_per_s=orders.tokens_per_s if orders else 0.0,
        fault=fault,
        ready_line=f"{NAME}: {served} is ready",
    )


def _given(args: Sequence[str], *names: str) -> str | None:
    """The value of the last of these flags, as ``--flag value`` or ``--flag=value``, with ``_`` and ``-`` equal."""
    found = None
    for index, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name.startswith("--") and name.replace("_", "-") in names:
            if equals:
                found = value
            elif index + 1 < len(args):
                found = args[index + 1]
    return found


if __name__ == "__main__":
    guarded(NAME, lambda: main(sys.argv[1:]))
