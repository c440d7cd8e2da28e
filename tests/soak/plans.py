"""The plan of a composition."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.soak.composition import SLOW, Composition

from inferlane.testing.handmade import PUBLIC, health, plan, process, server, shell, upstream
from inferlane.values import Gate, LogCheck, Node, Plan, PlannedProcess, PortBlock

DEADLINE_S = 6
SILENCE_S = 2
_WORDS = {
    "exit3": "echo bad flag; exit 3",
    "exit0": "echo all done; exit 0",
    "crash": "echo loading; sleep 0.3; echo out of memory; exit 1",
    "fatal_log": "echo loading; sleep 0.2; echo CRITICAL: device lost; exec sleep 60",
}
_OPTIONS = {
    "unhealthy": ("health=503",),
    "mute": ("mute=1",),
    "stubborn": ("on_term=ignore",),
    "orphan": ("orphan=1",),
    "hidden": ("orphan=hidden",),
    "babble": ("babble=1",),
}
_CLIENT = """
import sys, time, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
while True:
    opener.open(urllib.request.Request(sys.argv[1] + "/v1/completions", b"{}"), timeout=30).read()
    time.sleep(0.02)
"""
_BENCH = {"ok": "sleep 0.3", "fail": "sleep 0.3; echo no results; exit 9", "long": "exec sleep 60"}


def build(made: Composition, memory: Path) -> Plan:
    """Workers, router, service, spare and benchmark, with their gates. ``memory``: a path for who leaves memory."""
    nodes = tuple(Node(name=f"n{index}") for index in range(made.nodes))
    direct = made.router == "none"
    ports = {name: PUBLIC if direct and index == 0 else 6100 + index for index, name in enumerate(made.workers)}
    places = {name: nodes[index % made.nodes] for index, name in enumerate(made.workers)}
    processes = [_worker(made, name, ports[name], places[name], memory) for name in made.workers]
    before = "router" if made.early and not direct else "traffic"
    gates = [health(name, ports[name], places[name], before) for name in made.workers]
    endpoint = f"http://{nodes[0].host}:{PUBLIC}"
    if made.service:
        store = "sleep 0.1; echo data plane up; exec sleep 60"
        processes.insert(0, shell("store", store, kind="service", phase="before_workers", tier=3, node=nodes[0]))
        gates.append(Gate(name="store", before="workers", checks=(LogCheck(process="store", pattern="data plane"),)))
    if not direct:
        urls = [f"http://{places[name].host}:{ports[name]}" for name in made.workers]
        processes.append(_router(made, nodes[0], urls))
        gates.append(health("router", PUBLIC, nodes[0]))
    if made.spare:
        processes.append(
            shell("spare", "exec sleep 60", kind="service", critical="never", phase="infra", node=nodes[0])
        )
    processes += _bench(made, endpoint, nodes[0])
    fields: dict[str, Any] = {"silence_s": SILENCE_S} if tells_silence() else {}
    told = made.workers[:1] if direct else made.workers
    return plan(
        *processes,
        name="drill",
        nodes=nodes,
        gates=tuple(gates),
        endpoint=endpoint,
        upstreams=tuple(upstream(name, ports[name], places[name]) for name in told),
        start_timeout_s=DEADLINE_S if any(item.kind in SLOW for item in made.faults) else 60,
        probe_timeout_s=1.0,
        **fields,
    )


def _worker(made: Composition, name: str, port: int, node: Node, memory: Path) -> PlannedProcess:
    fault = made.fault_of(name)
    if fault in _WORDS:
        words = ("device lost",) if fault == "fatal_log" else ()
        return shell(name, _WORDS[fault], node=node, fatal_log=words, ports={"http": PortBlock(first=port)})
    if fault == "no_program":
        return process(name, "no-such-engine", node=node)
    kinds = [item.kind for item in made.faults if item.target == name]
    options = ["health=503"] if "stopped" in kinds else list(_OPTIONS.get(fault, ()))
    options.append("on_usr1=0" if "leaves" in kinds else "on_usr1=7")
    if fault == "memory":
        options.append(f"memory={memory}-{name}")
    load = made.loads[int(name[1:])]
    return server(name, port, (*options, *([f"load={load}"] if load else ())), node=node)


def _router(made: Composition, node: Node, urls: list[str]) -> PlannedProcess:
    fault = made.fault_of("router")
    block = {"http": PortBlock(first=PUBLIC)}
    if fault == "exit3":
        return shell("router", _WORDS[fault], kind="router", node=node, ports=block)
    if fault == "garbage":
        argv = (sys.executable, "-m", "inferlane.testing.garbage_server", node.bind, str(PUBLIC), "html", "/health")
        return process("router", *argv, kind="router", node=node, ports=block)
    if made.router == "real":
        argv = (sys.executable, "-m", "sglang_router.launch_router", "--policy", "round_robin", "--worker-urls", *urls)
        place = (
            "--host",
            node.bind,
            "--port",
            str(PUBLIC),
            "--prometheus-host",
            node.bind,
            "--prometheus-port",
            "29000",
        )
        return process("router", *argv, *place, kind="router", node=node, ports=block)
    leaves = any(item.kind == "leaves" for item in made.faults if item.target == "router")
    options = (f"forward={','.join(urls)}", f"on_usr1={0 if leaves else 7}")
    return server("router", PUBLIC, options, kind="router", node=node)


def _bench(made: Composition, endpoint: str, node: Node) -> list[PlannedProcess]:
    if made.bench == "none":
        return []
    if made.bench == "client":
        return [process("bench", sys.executable, "-c", _CLIENT, endpoint, kind="benchmark", node=node)]
    return [shell("bench", _BENCH[made.bench], kind="benchmark", node=node)]


def real_router() -> bool:
    """Whether the real router of the requirements is installed beside us."""
    from importlib.util import find_spec

    return find_spec("sglang_router") is not None


def tells_silence() -> bool:
    return "silence_s" in Plan.__struct_fields__
