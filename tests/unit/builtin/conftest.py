"""Built-in benchmark plugins behind pluggy, and a run to hand to them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import pluggy
import pytest

from inferlane import hookspecs
from inferlane.api import Fleet, Group, Node, Peer, Process, Run, Site, Slot, Upstream


class Bench:
    """One benchmark plugin, called only through its hooks."""

    def __init__(self, module: str) -> None:
        manager = pluggy.PluginManager("inferlane")
        for specs in hookspecs.MODULES:
            manager.add_hookspecs(specs)
        plugin = importlib.import_module(module)
        assert plugin.PLUGIN_API == 1
        manager.register(plugin)
        manager.check_pending()
        self.hook = manager.hook
        ((self.spec,),) = self.hook.inferlane_benchmarks()

    def parse(self, **block: Any) -> Any:
        return self.spec.config.model_validate({"type": self.spec.type, **block})

    def command(self, run: Run, **block: Any) -> Any:
        return self.hook.inferlane_benchmark_command(benchmark=self.parse(**block), process=_process(), run=run)

    def summary(self, outputs: Mapping[str, str], /, **block: Any) -> Any:
        return self.hook.inferlane_benchmark_summary(benchmark=self.parse(**block), outputs=outputs)


def _process() -> Process:
    node = Node(name="n0")
    return Process(
        name="benchmark",
        kind="benchmark",
        type="x",
        part="main",
        role=None,
        worker=None,
        index=0,
        count=1,
        first_rank=0,
        slots=(Slot(node=node),),
        leader=node,
        ports={},
        dirs={},
        beside=None,
        siblings=(),
        mask={},
        args={},
    )


def _group(role: str, workers: int) -> Group:
    return Group(role=role, workers=workers, gpus=4, nodes=1, gpus_per_node=8, args={})


def _upstream(role: str, worker: int, node: str, port: int) -> Upstream:
    address = f"{{{node}.host}}:{port}"
    where = Node(name=node)
    return Upstream(
        process=f"{role}-{worker}", role=role, worker=worker, node=where, url=f"http://{address}", address=address
    )


@pytest.fixture
def make_run() -> Callable[..., Run]:
    def make(**changes: Any) -> Run:
        head = Node(name="n0")
        given: dict[str, Any] = {
            "name": "r",
            "model": "/models/tiny",
            "served_model_name": "tiny",
            "protocol": "http",
            "fleet": Fleet(groups=(_group("prefill", 1), _group("decode", 2))),
            "upstreams": (
                _upstream("prefill", 0, "n0", 6100),
                _upstream("decode", 0, "n1", 6100),
                _upstream("decode", 1, "n1", 6101),
            ),
            "router": Peer(type="pairing", process="router", part="main", node=head, ports={"http": 8000}),
            "router_type": "pairing",
            "worker_nodes": (head, Node(name="n1")),
            "services": (),
            "endpoint": "http://{n0.host}:8000",
            "site": Site(gpus_per_node=8),
            "start_timeout_s": 60,
        }
        return Run(**(given | changes))

    return make


@pytest.fixture
def load_bench() -> Callable[[str], Bench]:
    return Bench
