"""Engine ``llamacpp``: llama.cpp's own server, one process per worker."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from inferlane.api import (
    Command,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Group,
    Metrics,
    Part,
    Port,
    Process,
    Run,
    Serving,
    Twin,
    hookimpl,
)

PLUGIN_API = 1


class LlamacppConfig(EngineConfig):
    """engine: {type: llamacpp, context: 16384}"""

    context: int = Field(default=8192, ge=1, description="tokens of context of a worker")


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    spec = EngineSpec(
        type="llamacpp",
        summary="llama.cpp's server",
        config=LlamacppConfig,
        speaks=("openai",),
        roles=("agg",),
        max_nodes=1,
        owned_args={"model": "it follows model.path", "alias": "it follows model.path", "port": "use ports:"},
        install="build llama.cpp, and put llama-server on PATH",
    )
    return [spec]


@hookimpl
def inferlane_engine_layout(engine: LlamacppConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    http = Port(name="http", base=6100, public=True)
    part = Part(per="node", devices="mask", ports=(http,), metrics=Metrics(port="http"))
    return EngineLayout(parts=(part,), serving=Serving(health="/health"))


@hookimpl
def inferlane_engine_command(engine: LlamacppConfig, process: Process, run: Run) -> Command | None:
    source = "--model" if run.model.startswith("/") else "--hf-repo"
    return Command(
        program=("llama-server",),
        args=(
            *(source, run.model, "--alias", run.served_model_name),
            *("--host", process.node.bind, "--port", str(process.ports["http"])),
            *("--ctx-size", str(engine.context), "--metrics"),
        ),
        env_defaults={"LLAMA_LOG_COLORS": "off"},
        twin=Twin(module="inferlane.twins.openai"),
    )
