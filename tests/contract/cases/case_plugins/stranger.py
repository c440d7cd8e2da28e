"""A stranger's engine: one small server per worker, in less than a page."""

from __future__ import annotations

from collections.abc import Sequence

from inferlane.api import (
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Group,
    Part,
    Port,
    Process,
    Run,
    Twin,
    hookimpl,
)

PLUGIN_API = 1


class StrangerConfig(EngineConfig):
    """engine: {type: case-stranger, threads: 8}"""

    threads: int = 4


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    return [EngineSpec(type="case-stranger", summary="A small server", config=StrangerConfig, speaks=("openai",))]


@hookimpl
def inferlane_engine_layout(engine: StrangerConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    http = Port(name="http", base=6100, public=True)
    return EngineLayout(parts=(Part(devices="mask", ports=(http,)),))


@hookimpl
def inferlane_engine_command(engine: StrangerConfig, process: Process, run: Run) -> Command | None:
    args = ("--model", run.model, "--alias", run.served_model_name, "--threads", str(engine.threads))
    listen = ("--host", process.node.bind, "--port", str(process.ports["http"]))
    return Command(program=("small-server",), args=args + listen, twin=Twin(module="inferlane.twins.openai"))
