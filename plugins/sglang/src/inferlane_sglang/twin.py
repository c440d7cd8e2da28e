"""SGLang's twin: takes the command line of ``python -m sglang.launch_server`` and answers as a server does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web  # noqa: TID253 - runs as a separate process only

from inferlane.errors import EXIT_USAGE, InferlaneError
from inferlane.flags import FlagTable, Parsed, load_flag_table
from inferlane.twins import life
from inferlane.twins.faults import Fault
from inferlane.twins.orders import Orders
from inferlane.twins.server import Settings, TwinServer
from inferlane.twins.startup import (
    StartError,
    guarded,
    ordered_fault,
    own_orders,
    prepare,
    room_wait_s,
    say,
    serving_socket,
)
from inferlane_sglang.twin_native import GenerateForm, read_generate

NAME = "sglang twin"
TABLE = "inferlane_sglang:flags/launch_server.json"
READY = "The server is fired up and ready to roll!"
BOOTSTRAP_PORT = 8998  # SGLang's own default


@dataclass(frozen=True)
class Line:
    """What the twin uses of the command line."""

    model: str
    served_model: str
    host: str
    port: int
    role: str
    bootstrap_port: int
    tp_size: int
    dp_size: int
    nnodes: int
    node_rank: int
    leader: tuple[str, int] | None
    metrics: bool


def read_line(parsed: Parsed) -> Line:
    """Read it, with SGLang's defaults. Raises ``StartError`` (status 2) where SGLang would refuse."""

    def number(name: str, default: int) -> int:
        text = parsed.value(name)
        try:
            return default if text is None else int(text)
        except ValueError:
            raise StartError(f"{name}: '{text}' is not a whole number", EXIT_USAGE) from None

    model = parsed.value("--model-path")
    if model is None:
        raise StartError("--model-path is missing", EXIT_USAGE)
    mode = parsed.value("--disaggregation-mode") or "null"
    line = Line(
        model=model,
        served_model=parsed.value("--served-model-name") or model,
        host=parsed.value("--host") or "127.0.0.1",
        port=number("--port", 30000),
        role=mode if mode in ("prefill", "decode") else "agg",
        bootstrap_port=number("--disaggregation-bootstrap-port", BOOTSTRAP_PORT),
        tp_size=number("--tp-size", 1),
        dp_size=number("--dp-size", 1),
        nnodes=number("--nnodes", 1),
        node_rank=number("--node-rank", 0),
        leader=_address(parsed.value("--dist-init-addr")),
        metrics=parsed.values("--enable-metrics") is not None,
    )
    if line.nnodes > 1 and line.leader is None:
        raise StartError(f"--nnodes {line.nnodes} needs --dist-init-addr", EXIT_USAGE)
    if not 0 <= line.node_rank < line.nnodes:
        raise StartError(f"--node-rank {line.node_rank} is not below --nnodes {line.nnodes}", EXIT_USAGE)
    return line


def _address(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise StartError(f"--dist-init-addr: '{text}' is not HOST:PORT", EXIT_USAGE)
    return host.strip("[]"), int(port)


def main(args: Sequence[str]) -> int:
    """Serve, or follow, until SIGTERM; returns the exit status."""
    orders = own_orders(os.environ)
    held = prepare(orders, args)
    line = read_line(_table(orders).parse(args))
    fault = ordered_fault(orders) if orders else Fault()
    say(f"[{NAME}] server_args: {line}")
    if line.node_rank > 0:
        return life.follow(line.node_rank, line.leader, held, fault)
    host = orders.host if orders else line.host
    http = serving_socket(orders, held, host, line.port, "http")
    bootstrap = meeting = None
    if line.role == "prefill":
        bootstrap = serving_socket(orders, held, host, line.bootstrap_port, "bootstrap")
    if line.nnodes > 1 and line.leader is not None:
        meeting = (serving_socket(orders, held, host, line.leader[1], "dist-init"), line.nnodes - 1)
    say("Load weight begin.")
    settings = _settings(line, orders, fault)
    return life.serve(settings, http, held, bootstrap=bootstrap, meeting=meeting, extend=_own_paths(line))


def _table(orders: Orders | None) -> FlagTable:
    try:
        return load_flag_table(orders.flags if orders and orders.flags else TABLE)
    except InferlaneError as error:
        raise StartError(str(error)) from error


def _settings(line: Line, orders: Orders | None, fault: Fault) -> Settings:
    return Settings(
        model=line.model,
        served_model=line.served_model,
        series="sglang:num_requests_total",
        role=line.role,
        ranks=line.dp_size,
        rank_label="dp_rank",
        load_s=orders.load_s if orders else 0.0,
        tokens_per_s=orders.tokens_per_s if orders else 0.0,
        fault=fault,
        metrics=line.metrics,
        room_wait_s=room_wait_s(orders),
        ready_line=READY,
    )


def _own_paths(line: Line) -> Callable[[TwinServer, web.Application], None]:
    version = load_flag_table(TABLE).version

    async def server_info(_: web.Request) -> web.Response:
        info = {
            "model_path": line.model,
            "served_model_name": line.served_model,
            "tp_size": line.tp_size,
            "dp_size": line.dp_size,
            "disaggregation_mode": "null" if line.role == "agg" else line.role,
            "disaggregation_bootstrap_port": line.bootstrap_port,
            "version": version,
        }
        return web.json_response(info)

    async def model_info(_: web.Request) -> web.Response:
        return web.json_response({"model_path": line.model, "tokenizer_path": line.model, "is_generation": True})

    def extend(server: TwinServer, app: web.Application) -> None:
        generate = server.completion(lambda body: read_generate(body, line.served_model), GenerateForm())
        app.add_routes(
            [
                web.get("/health_generate", server.health),
                web.get("/server_info", server_info),
                web.get("/get_server_info", server_info),
                web.get("/model_info", model_info),
                web.get("/get_model_info", model_info),
                web.post("/generate", generate),
            ]
        )

    return extend


if __name__ == "__main__":
    guarded(NAME, lambda: main(sys.argv[1:]))
