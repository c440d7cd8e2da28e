"""Keys of existing files that have no field here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inferlane.config import LoadedRecipe

Load = Callable[..., LoadedRecipe]
Refuse = Callable[..., str]


@pytest.mark.parametrize(
    "text",
    [
        "profiling: {type: torch}",
        "setup_script: x.sh",
        "post_eval: {command: x}",
        "sweep: {a: [1, 2]}",
        "infra: {etcd: x}",
        "    restart: {policy: always}",
        "    sidecar: true",
        "observability: {enabled: true}",
        "telemetry: {required: true}",
    ],
)
def test_what_would_change_the_run_is_refused_by_name(refused: Refuse, text: str) -> None:
    message = refused(text + "\n")
    assert "not supported yet" in message
    assert text.strip().partition(":")[0] in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("profiling: {type: none}", "profiling"),
        ("    restart: {policy: never}", "roles.agg.restart"),
        ("    sidecar: false", "roles.agg.sidecar"),
        ("observability: {tachometer: {enabled: false}}", "observability"),
        ("reporting: {s3: {secret_access_key: x}}", "reporting"),
        ("enable_config_dump: false", "enable_config_dump"),
    ],
)
def test_what_changes_nothing_loads_and_is_listed(recipe: Load, text: str, path: str) -> None:
    assert recipe(text + "\n").inert == (path,)


def test_a_foreign_spelling_is_read_and_named_in_messages(recipe: Load, refused: Refuse) -> None:
    block = "observability: {tachometer: {default_gpu_exporter: {port: %s}}}\n"
    assert recipe(block % 9401).recipe.telemetry == {"default_gpu_exporter": {"port": 9401}}
    message = refused(block % "x")
    assert "recipe.yaml:11:59: observability.tachometer.default_gpu_exporter.port: must be a whole number" in message


def test_two_spellings_of_one_thing_are_refused(refused: Refuse) -> None:
    message = refused("telemetry: {gpu_exporter: {port: 1}, default_gpu_exporter: {port: 2}}\n")
    assert "keep one of them" in message


def test_an_exporter_that_is_null_differs_from_an_absent_one(recipe: Load) -> None:
    assert recipe("telemetry: {enabled: true}\n").recipe.telemetry == {"enabled": True}
    assert recipe("telemetry: {default_gpu_exporter: null}\n").recipe.telemetry == {"default_gpu_exporter": None}


def test_an_engine_under_its_older_name_is_read(recipe: Load) -> None:
    assert recipe("backend: {type: toy}\n", unsets=("engine",)).recipe.engine == {"type": "toy"}


def test_suggestions_know_the_keys_without_a_field(refused: Refuse) -> None:
    assert "did you mean 'profiling'?" in refused("profilng: {type: none}\n")
    assert "did you mean 'sidecar'?" in refused("    sidcar: false\n")
