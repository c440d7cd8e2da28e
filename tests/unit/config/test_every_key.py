"""Every key that existing recipes and cluster files may hold gets an answer: it acts, is refused by name, or is noted.

The lists are the keys of schema 2 and of the cluster file as people's tools know them; the answers are ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from inferlane.config import load_cluster
from inferlane.errors import InferlaneError
from inferlane.planning import Shape
from inferlane.plugins import Plugins
from inferlane.preparation import Request, prepare

Answer = Literal["acts", "refused", "inert", "noted", "foreign"]
"""``noted``: a warning says that it has no effect. ``foreign``: only plugins that are not chosen read it; refused."""
Case = tuple[str, Any, Answer]

BASE = {
    "schema": 2,
    "name": "demo",
    "model": {"path": "hf:org/model"},
    "resources": {"gpu_type": "h100", "gpus_per_node": 8},
    "engine": {"type": "mock"},
    "roles": {"prefill": {"nodes": 1, "workers": 1, "gpus": 1}, "decode": {"nodes": 1, "workers": 1, "gpus": 1}},
    "frontend": {"type": "mock"},
}

RECIPE: list[Case] = [
    ("name", "other", "acts"),
    ("model.path", "hf:org/other", "acts"),
    ("model.container", "example/image:1", "acts"),
    ("model.precision", "fp8", "acts"),
    ("model.stage_dir", "/local/models", "refused"),
    ("resources.gpu_type", "h200", "acts"),
    ("resources.gpus_per_node", 4, "acts"),
    ("resources.spread_workers", True, "acts"),
    ("resources.het_jobs", True, "refused"),
    ("slurm.account", "team", "acts"),
    ("slurm.partition", "long", "acts"),
    ("slurm.time_limit", "1:00:00", "acts"),
    ("engine", "mock", "acts"),
    ("roles.decode.nodes", "colocate", "acts"),
    ("roles.decode.workers", 2, "acts"),
    ("roles.decode.gpus", 2, "acts"),
    ("roles.decode.args", {"served-model-name": "m"}, "acts"),
    ("roles.decode.env", {"A": "1"}, "acts"),
    ("roles.decode.extra_args", ["--x"], "refused"),
    ("roles.decode.container", "example/image:1", "acts"),
    ("roles.decode.srun_options", {"mem": "0"}, "acts"),
    ("roles.decode.kv_events", True, "acts"),
    ("roles.decode.kv_events", {"publisher": "zmq", "topic": "t"}, "acts"),
    ("roles.decode.sidecar", True, "refused"),
    ("roles.decode.sidecar", False, "inert"),
    ("roles.decode.critical", False, "acts"),
    ("roles.decode.restart", {"policy": "always", "max_restarts": 3, "backoff": 10}, "refused"),
    ("roles.decode.restart", {"policy": "never"}, "inert"),
    ("frontend.type", "none", "acts"),
    ("frontend.enable_multiple_frontends", True, "refused"),
    ("frontend.num_additional_frontends", 3, "inert"),
    ("frontend.nginx_container", "nginx:1", "inert"),
    ("frontend.nginx_raise_ulimit", False, "inert"),
    ("frontend.nginx_session_affinity", True, "inert"),
    ("frontend.nginx_session_affinity_header", "X-Id", "inert"),
    ("frontend.nginx_keepalive_timeout", "600s", "inert"),
    ("frontend.worker_selection", "random", "refused"),
    ("frontend.args", {"policy": "random"}, "acts"),
    ("frontend.env", {"A": "1"}, "acts"),
    ("frontend.container_image", "example/image:1", "acts"),
    ("frontend.numa_bind", True, "refused"),
    ("frontend.ctx_router", {"a": 1}, "foreign"),
    ("frontend.gen_router", {"a": 1}, "foreign"),
    ("frontend.server_config_extra", {"a": 1}, "foreign"),
    ("frontend.placement.node", "first_decode", "acts"),
    ("frontend.placement.node", "dedicated", "refused"),
    ("dynamo", {"install": True}, "refused"),
    ("dynamo.top_of_tree", True, "refused"),
    ("dynamo.source", {"pypi": "1.0"}, "refused"),
    ("dynamo.request_plane", "tcp", "refused"),
    ("dynamo.event_plane", "nats", "refused"),
    ("benchmark", {"type": "manual"}, "acts"),
    ("benchmark", {"type": "sa-bench", "isl": 8, "osl": 8, "concurrencies": "4"}, "acts"),
    ("profiling", {"type": "nsys"}, "refused"),
    ("profiling", {"type": "none", "benchmark_duration_secs": 300}, "inert"),
    ("output.log_dir", "./logs", "inert"),
    ("output.record_launch_plan", True, "inert"),
    ("health_check.max_attempts", 10, "acts"),
    ("health_check.interval_seconds", 5, "acts"),
    ("health_check.fatal_log_markers", False, "acts"),
    ("health_check.extra_fatal_log_patterns", ["x"], "acts"),
    ("observability", {"tachometer": {"enabled": False}}, "inert"),
    ("observability.enabled", True, "refused"),
    ("observability.enable_otel", True, "refused"),
    ("observability.nsys", {"enabled": True}, "refused"),
    ("observability.nsys", {"enabled": False, "cpu_sampling": True}, "inert"),
    ("observability.tachometer.default_exporters", [], "inert"),
    ("telemetry.enabled", True, "acts"),
    ("telemetry.default_gpu_exporter", {"port": 9500}, "acts"),
    ("telemetry.dcgm_exporter", {"port": 9500}, "acts"),
    ("telemetry.required", True, "refused"),
    ("telemetry.collect_interval_ms", 500, "acts"),
    ("telemetry.storage_subdir", "power", "inert"),
    ("telemetry.clock_sync_check", True, "inert"),
    ("telemetry.startup_timeout", 30, "inert"),
    ("telemetry.request_timeout", 2, "inert"),
    ("telemetry.collector_join_timeout", 9, "inert"),
    ("telemetry.cpu_power_exporter", {"port": 9405}, "inert"),
    ("telemetry.cpu_power", {"source": "auto"}, "inert"),
    ("telemetry.default_gpu_exporter.binary", "/opt/x", "refused"),
    ("telemetry.default_gpu_exporter.kind", "custom", "inert"),
    ("environment", {"A": "1"}, "acts"),
    ("container_mounts", {"/data": "/data"}, "acts"),
    ("extra_mount", ["/data:/data"], "acts"),
    ("srun_options", {"mem": "0"}, "acts"),
    ("sbatch_directives", {"mem": "0"}, "acts"),
    ("enable_config_dump", False, "inert"),
    ("setup_script", "x.sh", "refused"),
    ("host_setup.commands", ["true"], "acts"),
    ("host_setup.teardown", ["true"], "acts"),
    ("host_setup.nodes", "workers", "acts"),
    ("host_setup.ignore_failure", True, "acts"),
    ("host_setup.timeout_seconds", 60, "acts"),
    ("services", [{"name": "x", "command": ["true"]}], "acts"),
    ("post_eval", {"command": "x", "passthrough_env": ["A"]}, "refused"),
    ("identity.model", {"repo": "org/model", "revision": "main"}, "acts"),
    ("identity.container", {"image": "example/image:1"}, "acts"),
    ("identity.frameworks", {"mock": "1.0"}, "acts"),
    ("reporting", {"status": {"endpoint": "http://x"}}, "inert"),
    ("sweep", {"a": [1, 2]}, "refused"),
    ("infra", {"etcd_nats_dedicated_node": True}, "refused"),
    ("lock", {"version": 1}, "inert"),
]

CLUSTER: list[Case] = [
    ("cluster", "site", "acts"),
    ("default_account", "team", "acts"),
    ("default_container", "image:1", "acts"),
    ("default_partition", "long", "acts"),
    ("default_time_limit", "1:00:00", "acts"),
    ("gpus_per_node", 8, "acts"),
    ("default_gpu_type", "h100", "acts"),
    ("network_interface", "eth0", "acts"),
    ("visible_devices_env", "CUDA_VISIBLE_DEVICES", "acts"),
    ("accelerator_vendor", "amd", "acts"),
    ("accelerator_vendor", "other", "refused"),
    ("default_gpu_exporter", {"port": 9500}, "acts"),
    ("default_gpu_exporter", None, "acts"),
    ("use_gpus_per_node_directive", False, "acts"),
    ("gpu_sbatch_directive", "gres", "acts"),
    ("use_segment_sbatch_directive", False, "acts"),
    ("use_exclusive_sbatch_directive", True, "acts"),
    ("use_het_jobs", True, "refused"),
    ("use_het_jobs", False, "inert"),
    ("default_sbatch_directives", {"mem": "0"}, "acts"),
    ("default_health_check", {"max_attempts": 3}, "acts"),
    ("default_host_setup", {"commands": ["true"]}, "acts"),
    ("default_bash_preamble", "true", "acts"),
    ("default_mounts", {"/data": "/data"}, "acts"),
    ("model_paths", {"a": "/models/a"}, "acts"),
    ("containers", {"a": "example/image:1"}, "acts"),
    ("srtctl_root", "/opt/x", "inert"),
    ("output_dir", "/runs", "acts"),
    ("record_launch_plan", True, "inert"),
    ("reporting", {"status": {"endpoint": "http://x"}}, "inert"),
    ("telemetry", {"a": 1}, "inert"),
    ("nginx_raise_ulimit", True, "inert"),
    ("git_http_version", "HTTP/1.1", "inert"),
    ("preflight", False, "inert"),
    ("launcher", "slurm", "acts"),
    ("docker_hosts", ["a"], "inert"),
    ("docker_args", ["--x"], "inert"),
    ("local_docker_args", ["--x"], "inert"),
    ("runtime_config_transport", "embedded", "acts"),
    ("cloud", {"a": 1}, "inert"),
]

SERVICE: list[Case] = [
    ("args", ["--x"], "acts"),
    ("container", "example/image:1", "acts"),
    ("env", {"A": "1"}, "acts"),
    ("source", {"git": "x", "rev": "main"}, "refused"),
    ("build_command", "make", "refused"),
    ("build_timeout_seconds", 60, "refused"),
    ("placement", {"node": "decode", "per": "worker"}, "acts"),
    ("placement", {"node": "pool:x"}, "refused"),
    ("nodes", 2, "refused"),
    ("start", "infra", "acts"),
    ("readiness", {"http": {"port": 7000, "path": "/x", "status": 204}, "timeout": 9, "interval": 1}, "acts"),
    ("inherit_discovery_env", False, "acts"),
    ("critical", True, "acts"),
    ("terminal", True, "refused"),
    ("preamble", "true", "refused"),
    ("cpus_per_task", 4, "refused"),
    ("cpu_bind", "none", "refused"),
    ("srun_options", {"mem": "0"}, "refused"),
    ("enabled", False, "acts"),
    ("options", {"a": 1}, "refused"),
    ("metrics", [{"port": 9000}], "refused"),
]

SA_BENCH: list[Case] = [
    ("stream_output", True, "noted"),
    ("req_rate", "inf", "acts"),
    ("random_range_ratio", 0.5, "acts"),
    ("num_prompts_mult", 2, "acts"),
    ("num_warmup_mult", 0, "acts"),
    ("dataset_name", "random", "acts"),
    ("dataset_name", "custom", "refused"),
    ("dataset_path", "/data/x", "noted"),
    ("custom_tokenizer", "/models/x", "acts"),
    ("use_chat_template", False, "acts"),
    ("reuse_http_connections", False, "acts"),
    ("env", {"A": "1"}, "acts"),
    ("num_examples", 5, "foreign"),
    ("categories", ["a"], "foreign"),
    ("aiperf_args", ["--x"], "foreign"),
]


def held(document: Any, path: str) -> bool:
    """Whether a checked document has something at ``path``."""
    for part in path.split("."):
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def judged(path: str, inert: tuple[str, ...], document: Any, faults: str) -> str:
    """The one answer that was given; words that no case expects where there are several, or none."""
    if f": {path}: unknown key" in faults:
        return "foreign"
    if faults:
        assert "unknown key" not in faults
        named = [line for line in faults.splitlines() if f": {path}" in line or f": {path.partition('.')[0]}:" in line]
        return "refused" if named == faults.splitlines() else f"refused for something else: {faults}"
    if any(path == key or path.startswith(f"{key}.") for key in inert):
        return "inert" if not held(document, path) else "noted without effect, and kept"
    return "acts" if held(document, path) else "ignored in silence"


def spelled(document: dict[str, Any], path: str) -> dict[str, Any]:
    """A checked recipe where a key of another spelling stands where the user wrote it."""
    other = {"telemetry.dcgm_exporter": "telemetry.default_gpu_exporter"}.get(path)
    return {**document, "telemetry": {"dcgm_exporter": 1}} if other and held(document, other) else document


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def answer_to_recipe(request: Request, plugins: Plugins, path: str) -> str:
    """What reading and planning a recipe say of the key at ``path``."""
    try:
        prepared = prepare(request, plugins)
        prepared.plan(Shape())
    except InferlaneError as error:
        return judged(path, (), {}, str(error))
    document = prepared.recipe.recipe.model_dump(by_alias=True, exclude_unset=True)
    return judged(path, prepared.recipe.inert, spelled(document, path), "")


def answer_to_cluster(file: str, path: str) -> str:
    """What reading a cluster file says of its key ``path``."""
    try:
        loaded = load_cluster(file, {}, Path.cwd())
    except InferlaneError as error:
        return judged(path, (), {}, str(error))
    ours = {"cluster": "name", "accelerator_vendor": "visible_devices_env"}.get(path, path)
    return judged(ours, loaded.inert, loaded.cluster.model_dump(exclude_unset=True), "")


@pytest.mark.parametrize(("path", "value", "answer"), RECIPE, ids=lambda part: str(part)[:40])
def test_every_key_of_a_recipe_gets_one_answer(
    write: Callable[..., str], plugins: Plugins, path: str, value: Any, answer: Answer
) -> None:
    request = Request(write(json.dumps(BASE)), sets=(f"{path}={json.dumps(value)}",))
    assert answer_to_recipe(request, plugins, path) == answer


@pytest.mark.parametrize(("path", "value", "answer"), CLUSTER, ids=lambda part: str(part)[:40])
def test_every_key_of_a_cluster_file_gets_one_answer(
    write: Callable[..., str], path: str, value: Any, answer: Answer
) -> None:
    assert answer_to_cluster(write(json.dumps({path: value}), "cluster.yaml"), path) == answer


def test_a_role_may_name_its_engine_where_the_recipe_names_none(write: Callable[..., str], plugins: Plugins) -> None:
    file = write(json.dumps(BASE))
    sets = tuple(f"roles.{role}.engine=mock" for role in ("prefill", "decode"))
    assert prepare(Request(file, sets=sets, unsets=("engine",)), plugins).plan(Shape()).processes


@pytest.mark.parametrize(("key", "value", "answer"), SERVICE, ids=lambda part: str(part)[:40])
def test_every_key_of_a_service_gets_one_answer(
    write: Callable[..., str], plugins: Plugins, key: str, value: Any, answer: Answer
) -> None:
    file = write(json.dumps({**BASE, "services": [{"name": "x", "command": ["true"], key: value}]}))
    assert planned_as(Request(file), plugins, f"services[0].{key}") == answer


@pytest.mark.parametrize(("key", "value", "answer"), SA_BENCH, ids=lambda part: str(part)[:40])
def test_every_key_of_a_benchmark_gets_one_answer(
    write: Callable[..., str], plugins: Plugins, key: str, value: Any, answer: Answer
) -> None:
    load = {"type": "sa-bench", "isl": 8, "osl": 8, "concurrencies": "4", key: value}
    assert planned_as(Request(write(json.dumps({**BASE, "benchmark": load}))), plugins, f"benchmark.{key}") == answer


def planned_as(request: Request, plugins: Plugins, path: str) -> str:
    """What planning says of a key that a plugin reads; it refuses whatever its model does not have."""
    try:
        prepared = prepare(request, plugins)
        plan = prepared.plan(Shape())
    except InferlaneError as error:
        return judged(path, (), {}, str(error))
    return "noted" if any(problem.where == path for problem in plan.warnings) else "acts"
