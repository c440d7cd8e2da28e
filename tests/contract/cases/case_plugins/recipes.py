"""The recipes of the hard cases, as the mappings that their files would hold."""

from __future__ import annotations

from typing import Any

from inferlane.testing.plans import recipe_block

Block = dict[str, Any]


def moriio(gpus: int = 4, router: Block | None = None, **engine: Any) -> Block:
    """Prefill and decode share a node; workers register themselves with the router."""
    args = {"tensor-parallel-size": gpus, "served-model-name": "m"}
    return recipe_block(
        {"type": "case-vllm", "connector": "moriio", **engine},
        {"type": "case-vllm-router", **(router or {})},
        {
            "prefill": {"nodes": 1, "gpus": gpus, "args": args},
            "decode": {"nodes": "colocate", "gpus": gpus, "args": args},
        },
        gpu="mi355x",
    )


def nixl() -> Block:
    """Prefill and decode on a node each; the router lists URLs and side channel ports."""
    block = {"nodes": 1, "gpus": 8, "args": {"tensor-parallel-size": 8}}
    return recipe_block("case-vllm", "case-vllm-router", {"prefill": block, "decode": block})


def over_nodes(nodes: int = 2, gpus_per_node: int = 8, **args: Any) -> Block:
    """One aggregate worker over several nodes; its shape follows from ``args``."""
    return recipe_block(
        "case-vllm", "case-vllm-router", {"agg": {"nodes": nodes, "args": args}}, gpus_per_node=gpus_per_node
    )


def atom(workers: int = 2, gpus: int = 4, gpus_per_node: int = 16, **engine: Any) -> Block:
    """Two prefill and two decode workers share one node of sixteen devices."""
    return recipe_block(
        {"type": "case-atom", **engine},
        {"type": "case-atomesh", "args": {"policy": "random"}},
        {
            "prefill": {
                "nodes": 1,
                "workers": workers,
                "gpus": gpus,
                "args": {"kv_cache_dtype": "fp8", "no-enable_prefix_caching": True},
            },
            "decode": {"nodes": "colocate", "workers": workers, "gpus": gpus},
        },
        gpu="mi355x",
        gpus_per_node=gpus_per_node,
    )


def umbp() -> Block:
    """Two prefill nodes and one decode node, with host memory beside prefill."""
    args = {"tensor-parallel-size": 8}
    return recipe_block(
        "case-vllm",
        "case-vllm-router",
        {
            "prefill": {"nodes": 2, "workers": 2, "gpus": 8, "args": args},
            "decode": {"nodes": 1, "gpus": 8, "args": args},
        },
        gpu="mi355x",
        services=[{"type": "case-umbp", "capacity_bytes": 64 << 30}],
    )


def trtllm() -> Block:
    """Two workers of two nodes each."""
    args = {"tensor_parallel_size": 16, "kv_cache_config": {"free_gpu_memory_fraction": 0.8}}
    return recipe_block(
        "case-trtllm",
        "case-trtllm-serve",
        {"prefill": {"nodes": 2, "args": args}, "decode": {"nodes": 2, "args": args}},
        gpu="b200",
    )


def dynamo(**more: Any) -> Block:
    """Two prefill workers and one decode worker that are found by discovery."""
    roles = {"prefill": {"nodes": 1, "workers": 2, "gpus": 1}, "decode": {"nodes": 1, "gpus": 1}}
    return recipe_block("case-mocker", "case-dynamo", roles, **more)


def stranger(workers: int = 2, gpus: int = 4, gpu: str = "h100", **more: Any) -> Block:
    """Workers that share one node, behind the built-in router."""
    return recipe_block("case-stranger", "mock", {"agg": {"nodes": 1, "workers": workers, "gpus": gpus}}, gpu, **more)


def sidecar() -> Block:
    """One worker over two nodes, with a sidecar on the first."""
    return recipe_block("case-sidecar", "case-dynamo", {"agg": {"nodes": 2}})


def rank_servers(router: str = "none") -> Block:
    """One worker that is four servers of two devices."""
    return recipe_block("case-ranks", router, {"agg": {"nodes": 1}}, gpu="mi355x")


def mixed() -> Block:
    """Prefill by one engine, decode by another."""
    args = {"tensor-parallel-size": 8}
    return recipe_block(
        None,
        "case-tilert-router",
        {
            "prefill": {"engine": {"type": "case-vllm", "connector": "tilert"}, "nodes": 1, "gpus": 8, "args": args},
            "decode": {"engine": "case-tilert", "nodes": 1, "gpus": 8},
        },
    )


def behind_proxy() -> Block:
    """Two workers on two nodes, a router on each, a proxy in front."""
    return recipe_block(
        "case-vllm", "case-nginx", {"agg": {"nodes": 2, "workers": 2, "args": {"tensor-parallel-size": 8}}}
    )


ALL = {
    "moriio": moriio,
    "nixl": nixl,
    "hybrid": lambda: over_nodes(**{"data-parallel-size": 16}),
    "headless": lambda: over_nodes(**{"tensor-parallel-size": 16}),
    "atom": atom,
    "umbp": umbp,
    "trtllm": trtllm,
    "dynamo": dynamo,
    "stranger": stranger,
    "sidecar": sidecar,
    "rank_servers": rank_servers,
    "mixed": mixed,
    "behind_proxy": behind_proxy,
}
"""Every case in its plain form, for what must hold for all of them."""
