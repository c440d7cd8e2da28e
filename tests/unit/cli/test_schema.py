"""``inferlane schema``: what the loader reads, the schema accepts; most slips it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from inferlane.cli.main import main
from inferlane.config.files import read
from inferlane.config.nodes import plain
from inferlane.config.schema import recipe_schema

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.yaml"))


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> Any:
    def made(kind: str) -> Draft202012Validator:
        assert main(["schema", kind]) == 0
        found = json.loads(capsys.readouterr().out)
        Draft202012Validator.check_schema(found)
        return Draft202012Validator(found)

    return made


def recipe(**more: Any) -> dict[str, Any]:
    return {
        "schema": 2,
        "name": "x",
        "model": {"path": "hf:a/b"},
        "engine": {"type": "mock"},
        "roles": {"agg": {"nodes": 1}},
        "frontend": {"type": "mock"},
        **more,
    }


def complaints(validator: Draft202012Validator, document: Any) -> list[str]:
    return ["/".join(map(str, error.absolute_path)) for error in validator.iter_errors(document)]


@pytest.mark.parametrize("path", EXAMPLES)
def test_every_example_is_valid(path: str, schema: Any) -> None:
    document = plain(read(ROOT / path, path))
    assert complaints(schema("cluster" if "clusters" in path else "recipe"), document) == []


@pytest.mark.parametrize(
    "more",
    [
        {"engine": "sglang"},
        {"engine": "vllm", "frontend": {"type": "vllm-router", "anything": 1}},
        {"environment": None, "roles": {"agg": {"nodes": 1, "env": {"A": None}}}},
        {
            "roles": {
                "prefill": {"nodes": 1},
                "decode": {"nodes": "colocate", "engine": {"type": "mock", "load_seconds": 2}},
            }
        },
        {"services": [{"command": "sleep 1"}, {"type": "etcd"}], "benchmark": {}},
        {"services": [{"command": ["sleep", "1"], "readiness": {"port": 7000, "timeout_seconds": 5}}]},
        {"output": {}, "frontend": {"type": "mock", "nginx_container": "x"}},
        {"telemetry": {"enabled": True, "gpu_exporter": {"url": "http://x"}}},
    ],
)
def test_what_the_loader_reads_is_valid(more: dict[str, Any], schema: Any) -> None:
    assert complaints(schema("recipe"), recipe(**more)) == []


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"nmae": "x"}, ""),
        ({"schema": 1}, "schema"),
        ({"frontend": {"port": 8000}}, "frontend"),
        ({"frontend": {"type": "mock", "prot": 8000}}, "frontend"),
        ({"frontend": {"type": "nobodys"}}, "frontend/type"),
        ({"frontend": {"type": "mock", "placement": {"node": "tail"}}}, "frontend/placement"),
        ({"engine": {"type": "mock", "load_secs": 1}}, "engine"),
        ({"roles": {"agg": {"nodes": 1, "wrokers": 2}}}, "roles"),
        ({"roles": {"worker": {"nodes": 1}}}, "roles"),
        ({"environment": {"A": 1}}, "environment"),
        ({"services": [{"type": "etcd", "commnd": "x"}]}, "services/0"),
        ({"resources": {"het_jobs": True}}, "resources"),
        ({"sweep": {"a": [1]}}, ""),
    ],
)
def test_a_slip_is_marked_where_it_is(more: dict[str, Any], where: str, schema: Any) -> None:
    assert complaints(schema("recipe"), recipe(**more)) == [where]


def test_a_file_of_variants_is_checked_by_its_base(schema: Any) -> None:
    validator = schema("recipe")
    inner = {key: value for key, value in recipe().items() if key != "schema"}
    good = {
        "schema": 2,
        "base": inner,
        "override_a": {"name": None},
        "zip_override_b": {"engine": {"load_seconds": [1]}},
    }
    assert complaints(validator, good) == []
    assert complaints(validator, {**good, "base": {**inner, "nmae": "x"}}) == ["base"]
    assert complaints(validator, {**good, "overide_c": {}}) == [""]


def test_cluster_files_take_both_names_and_no_unknown_key(schema: Any) -> None:
    validator = schema("cluster")
    assert complaints(validator, {"cluster": "site", "srtctl_root": "/x", "accelerator_vendor": "nvidia"}) == []
    assert complaints(validator, {"gpus_per_nod": 8}) == [""]


def test_it_is_written_where_it_is_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schema.json"
    assert main(["schema", "--output", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(file.read_text())["title"] == "inferlane recipe"
    assert main(["schema", "--output", str(tmp_path / "no" / "where.json")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_a_type_whose_plugin_is_broken_takes_anything() -> None:
    none: dict[str, Any] = {"router": {"odd": None}, "engine": {"odd": None}, "service": {}, "benchmark": {}}
    block = {"type": "odd", "anything": 1}
    found = Draft202012Validator(recipe_schema(none))
    assert complaints(found, recipe(engine=block, frontend=block)) == []
    assert complaints(found, recipe(engine=block, frontend={"type": "other"})) == ["frontend/type"]
