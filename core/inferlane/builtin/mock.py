"""Engine and router ``mock``: a small real server and a small real router, for trying recipes without any GPU.

The engine speaks the disaggregated protocol of the SGLang family (both sides get a room, the decode side answers only
for a room whose prefill came) as well as the plain OpenAI routes.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from inferlane.api import (
    Accept,
    Args,
    Command,
    Counter,
    EngineConfig,
    EngineLayout,
    EngineSpec,
    Fleet,
    Gate,
    Group,
    HttpCheck,
    Metrics,
    Part,
    Port,
    Problem,
    Process,
    RouterConfig,
    RouterLayout,
    RouterSpec,
    Rows,
    Run,
    Serving,
    Twin,
    hookimpl,
)

PLUGIN_API = 1

WORKER_TYPES = {"prefill": "prefill", "decode": "decode", "agg": "regular"}
PLAN_OWNED = {
    "model": "it follows model.path",
    "role": "it follows the role",
    "host": "each worker listens on its node's address",
    "port": "move it with ports: {mock.http: N}",
    "bootstrap-port": "move it with ports: {mock.bootstrap: N}",
    "ranks": "say it in engine: {type: mock, ranks: N}",
}
ROUTER_OWNED = {
    "host": "it listens on its node's address",
    "port": "use frontend.port",
    "pd-disaggregation": "it follows the roles",
    "prefill": "the plan lists the workers",
    "decode": "the plan lists the workers",
    "worker-urls": "the plan lists the workers",
}
OWN = ("served-model-name", "tokens-per-second", "load-seconds", "fault")
"""Flags of the worker that a recipe may set."""


class MockConfig(EngineConfig):
    """engine: {type: mock, tokens_per_second: 200}"""

    tokens_per_second: float = Field(default=0.0, ge=0, description="pace of each stream; 0 = as fast as it goes")
    load_seconds: float = Field(default=0.0, ge=0, description="seconds until a worker is healthy")
    ranks: int = Field(default=1, ge=1, description="data-parallel ranks behind each worker")


@hookimpl
def inferlane_engines() -> Sequence[EngineSpec]:
    spec = EngineSpec(
        type="mock",
        summary="a small server that streams made-up tokens; needs no device",
        config=MockConfig,
        speaks=("sglang-pd", "openai"),
        uses_devices=False,
        owned_args=PLAN_OWNED,
    )
    return [spec]


@hookimpl
def inferlane_engine_layout(engine: MockConfig, group: Group, fleet: Fleet) -> EngineLayout | None:
    ports = [Port(name="http", base=6100, scope="leader", public=True)]
    if group.role == "prefill":
        ports.append(Port(name="bootstrap", base=7200, scope="leader", public=True))
    problems = []
    if group.nodes > 1:
        message = f"{group.gpus} GPUs are {group.nodes} nodes of {group.gpus_per_node}; a mock worker runs on one"
        problems.append(Problem(where=f"roles.{group.role}.gpus", message=message))
    problems += _unknown(group.args, (*OWN, *PLAN_OWNED), f"roles.{group.role}.args", f"it takes {', '.join(OWN)}")
    name = group.args.get("served-model-name", group.args.get("served_model_name"))
    return EngineLayout(
        parts=(Part(per="leader", ports=tuple(ports), metrics=Metrics(port="http")),),
        serving=Serving(ranks=engine.ranks, served=Counter(series="mock:requests_total")),
        served_model_name=str(name) if name is not None else None,
        problems=tuple(problems),
    )


@hookimpl
def inferlane_engine_command(engine: MockConfig, process: Process, run: Run) -> Command | None:
    args = ["--model", run.model, "--served-model-name", run.served_model_name, "--role", str(process.role)]
    args += ["--host", process.node.bind, "--port", str(process.ports["http"]), "--ranks", str(engine.ranks)]
    if "bootstrap" in process.ports:
        args += ["--bootstrap-port", str(process.ports["bootstrap"])]
    if engine.tokens_per_second:
        args += ["--tokens-per-second", f"{engine.tokens_per_second:g}"]
    if engine.load_seconds:
        args += ["--load-seconds", f"{engine.load_seconds:g}"]
    return Command(
        program=(run.python, "-m", "inferlane.twins.mock"),
        args=tuple(args),
        consumed=("served-model-name",),
        on_host=True,
        twin=Twin(module="inferlane.twins.mock"),
    )


@hookimpl
def inferlane_routers() -> Sequence[RouterSpec]:
    accepts = (
        Accept(protocol="sglang-pd", roles=(("prefill", "decode"),), ports={"prefill": ("bootstrap",)}),
        Accept(protocol="openai", roles=(("agg",),)),
    )
    return [
        RouterSpec(
            type="mock",
            summary="a small round-robin router",
            config=RouterConfig,
            accepts=accepts,
            owned_args=ROUTER_OWNED,
        )
    ]


@hookimpl
def inferlane_router_layout(router: RouterConfig, fleet: Fleet) -> RouterLayout | None:
    return RouterLayout(
        parts=(Part(per="run", ports=(Port(name="http", base=8000, public=True),)),),
        ready_workers_first=True,
        problems=tuple(_unknown(router.args, tuple(ROUTER_OWNED), "frontend.args", "it has none to set")),
    )


@hookimpl
def inferlane_router_command(router: RouterConfig, process: Process, run: Run) -> Command | None:
    args: list[str] = []
    if run.protocol == "sglang-pd":
        args.append("--pd-disaggregation")
        for up in run.upstreams:
            boot = [str(up.ports["bootstrap"])] if up.role == "prefill" else []
            args += [f"--{up.role}", str(up.url), *boot]
    else:
        args += ["--worker-urls", *(str(up.url) for up in run.upstreams)]
    args += ["--host", process.node.bind, "--port", str(process.ports["http"])]
    return Command(
        program=(run.python, "-m", "inferlane.twins.router"),
        args=tuple(args),
        on_host=True,
        twin=Twin(module="inferlane.twins.router"),
    )


@hookimpl
def inferlane_router_gates(router: RouterConfig, run: Run) -> Sequence[Gate] | None:
    checks = []
    for role in dict.fromkeys(up.role for up in run.upstreams):
        urls = tuple(str(up.url) for up in run.upstreams if up.role == role)
        where = {"worker_type": (WORKER_TYPES[role],), "is_healthy": (True,)}
        rows = Rows(path="workers", where=where, field="url", values=urls, at_least=len(urls))
        checks.append(HttpCheck(url=f"{run.endpoint}/workers", rows=rows))
    return [Gate(name="router knows every worker", before="traffic", checks=tuple(checks))]


def _unknown(args: Args, known: Sequence[str], where: str, hint: str) -> list[Problem]:
    message = f"is not an argument of this small program, which ends at what it does not know; {hint}"
    return [
        Problem(where=f'{where}."{key}"', severity="warning", message=message)
        for key, value in args.items()
        if value is not None and value is not False and key.lstrip("-").replace("_", "-") not in known
    ]
