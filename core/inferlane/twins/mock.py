"""The program of the built-in mock engine: ``python -m inferlane.twins.mock``. It serves an OpenAI API without a model.

With orders it is its own twin: pace, load time and fault of the orders win over the command line's.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath

from inferlane.twins import life
from inferlane.twins.faults import Fault, parse_fault
from inferlane.twins.orders import Orders
from inferlane.twins.server import Settings
from inferlane.twins.startup import (
    OneLineParser,
    guarded,
    ordered_fault,
    own_orders,
    prepare,
    room_wait_s,
    say,
    serving_socket,
)

NAME = "mock engine"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = OneLineParser("python -m inferlane.twins.mock")
    parser.add_argument("--model", required=True, help="model path or name; nothing is read from it")
    parser.add_argument("--served-model-name", help="name in the API (default: last part of --model)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port of the HTTP API")
    parser.add_argument("--role", choices=("prefill", "decode", "agg"), default="agg", help="part in a P/D pair")
    parser.add_argument("--bootstrap-port", type=int, help="where decodes find this prefill")
    parser.add_argument("--ranks", type=int, default=1, help="data-parallel ranks to serve")
    parser.add_argument("--load-seconds", type=float, default=0.0, help="seconds until healthy")
    parser.add_argument("--tokens-per-second", type=float, default=0.0, help="pace of an answer, 0 = at once")
    parser.add_argument("--fault", type=_fault, default=Fault(), help="a fault to have, for example crash@5")
    return parser


def _fault(text: str) -> Fault:
    try:
        return parse_fault(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main(args: Sequence[str]) -> int:
    """Serve until SIGTERM; returns the exit status."""
    options = parser().parse_args(args)
    if options.role == "prefill" and options.bootstrap_port is None:
        parser().error("--role prefill needs --bootstrap-port")
    if options.ranks < 1:
        parser().error("--ranks must be at least 1")
    orders = own_orders(os.environ)
    host = orders.host if orders else options.host
    settings = _settings(options, orders)
    held = prepare(orders, args)
    http = serving_socket(orders, held, host, options.port, "http")
    bootstrap = None
    if options.role == "prefill":
        bootstrap = serving_socket(orders, held, host, options.bootstrap_port, "bootstrap")
    say(f"{NAME}: loading {settings.model} as {options.role}, listening on {host}:{options.port}")
    return life.serve(settings, http, held, bootstrap=bootstrap)


def _settings(options: argparse.Namespace, orders: Orders | None) -> Settings:
    served = options.served_model_name or PurePosixPath(options.model).name or options.model
    return Settings(
        model=options.model,
        served_model=served,
        series="mock:requests_total",
        role=options.role,
        ranks=options.ranks,
        load_s=(orders.load_s if orders else 0.0) or options.load_seconds,
        tokens_per_s=(orders.tokens_per_s if orders else 0.0) or options.tokens_per_second,
        fault=ordered_fault(orders) if orders and orders.fault else options.fault,
        room_wait_s=room_wait_s(orders),
        only_served=True,
        ready_line=f"{NAME}: {served} is ready",
    )


if __name__ == "__main__":
    guarded(NAME, lambda: main(sys.argv[1:]))
