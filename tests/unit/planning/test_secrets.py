"""Literal secrets never reach a plan."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inferlane.config import is_secret
from inferlane.errors import UsageFault
from inferlane.planning import Shape, bind, encode
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.running.processes.environment import base_environment, process_environment, revealed
from inferlane.testing import handmade
from inferlane.values import File

RECIPE = """
schema: 2
name: demo
model: {path: hf:a/b}
resources: {gpus_per_node: 8}
engine: mock
environment: {HF_TOKEN: tok-123, MAX_TOKENS: "5", API_KEY: "${API_KEY}"}
roles:
  prefill: {nodes: 1, workers: 1, gpus: 1, env: {HF_TOKEN: tok-456}}
  decode: {nodes: colocate, workers: 1, gpus: 1, args: {api-key: arg-654, per-token: 3}}
frontend: {type: mock, env: {ROUTER_SECRET: hush-789}}
benchmark: {type: manual, env: {CLIENT_PASSWORD: pass-321}}
"""
LITERALS = ("tok-123", "tok-456", "hush-789", "pass-321", "arg-654")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.chdir(tmp_path)
    Path("recipe.yaml").write_text(RECIPE)
    return prepare(Request("recipe.yaml"), Plugins())


def test_a_plan_holds_references_instead_of_literal_secrets(prepared: Prepared) -> None:
    text = encode(prepared.plan(Shape())).decode()
    assert not [literal for literal in LITERALS if literal in text]


def test_the_values_are_kept_for_whoever_starts_processes(prepared: Prepared) -> None:
    plan = prepared.plan(Shape())
    reference = plan.process("prefill-0").env["HF_TOKEN"]
    assert prepared.secrets[reference[2:-1]] == "tok-456"
    assert prepared.secrets[plan.process("decode-0").env["HF_TOKEN"][2:-1]] == "tok-123"


def test_a_reference_of_the_user_stays_as_it_is(prepared: Prepared) -> None:
    assert prepared.plan(Shape()).process("decode-0").env["API_KEY"] == "${API_KEY}"


def test_a_tuning_that_only_sounds_like_a_secret_is_left_alone(prepared: Prepared) -> None:
    assert prepared.plan(Shape()).process("decode-0").env["MAX_TOKENS"] == "5"


def test_an_argument_is_a_reference_until_its_process_is_started(prepared: Prepared) -> None:
    plan = prepared.plan(Shape())
    assert "${INFERLANE_SECRET_api_key}" in plan.process("decode-0").args
    args = revealed(plan, prepared.secrets).process("decode-0").args
    assert args[args.index("--api-key") + 1] == "arg-654"
    assert args[args.index("--per-token") + 1] == "3"


def test_two_values_of_one_name_keep_names_that_tell_secrets(prepared: Prepared) -> None:
    assert {"INFERLANE_SECRET_HF_TOKEN", "INFERLANE_SECRET_1_HF_TOKEN"} <= set(prepared.secrets)
    assert all(is_secret(name) for name in prepared.secrets)


EMBEDDED = """
schema: 2
name: demo
model: {path: "hf:a/tok-123456"}
resources: {gpus_per_node: 8}
engine: mock
environment: {HF_TOKEN: "${HF_TOKEN}", API_KEY: lit-654321, DB: "http://u:lit-654321@h", SHORT_KEY: mock}
roles:
  agg: {nodes: 1, workers: 1, gpus: 1, env: {E: "u:tok-123456"}, args: {urls: [a, "x-tok-123456"], api-key: arg-987654}}
frontend: {type: mock, env: {R: "x-lit-654321 ${OTHER}"}}
services: [{type: generic, name: store, command: "sleep 60 arg-987654"}]
benchmark: {type: custom, command: "curl -H 'Bearer lit-654321'"}
"""
PARTS = ("tok-123456", "lit-654321", "arg-987654")


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "tok-123456")
    Path("recipe.yaml").write_text(EMBEDDED)
    Path("cluster.yaml").write_text('name: c\nenvironment: {X: "prefix-${HF_TOKEN}"}\n')
    return prepare(Request("recipe.yaml", "cluster.yaml"), Plugins())


def test_a_secret_inside_another_text_is_a_reference_there_too(embedded: Prepared) -> None:
    plan = embedded.plan(Shape())
    text = encode(plan).decode()
    assert [part for part in PARTS if part in text] == []
    assert plan.process("agg-0").env["DB"] == "http://u:${INFERLANE_SECRET_API_KEY}@h"
    assert plan.process("mock").env["R"] == "x-${INFERLANE_SECRET_API_KEY} ${OTHER}"
    assert {plan.process("mock").type, plan.process("agg-0").type} == {"mock"}


def test_processes_get_every_byte_of_what_was_written(embedded: Prepared) -> None:
    plan = revealed(embedded.plan(Shape()), embedded.secrets)
    launcher = {**embedded.secrets, "HF_TOKEN": "tok-123456"}
    assert plan.process("store").argv[-1].endswith("arg-987654")
    assert plan.process("benchmark").args[-1] == "curl -H 'Bearer lit-654321'"
    env = process_environment(plan.process("agg-0"), {}, launcher, "id", Path("/run"))
    assert (env["DB"], env["E"], env["X"]) == ("http://u:lit-654321@h", "u:tok-123456", "prefix-tok-123456")


def test_our_own_programs_are_never_told_a_secret_in_an_argument(embedded: Prepared) -> None:
    plan = bind(embedded.plan(Shape()), {"run.python": sys.executable})
    assert "${INFERLANE_SECRET_api_key}" in revealed(plan, embedded.secrets).process("agg-0").args


def test_a_file_with_a_secret_is_secret(embedded: Prepared) -> None:
    file = File(name="a", text="key: ${INFERLANE_SECRET_API_KEY}")
    made = revealed(handmade.plan(handmade.shell("w", "true", files=(file, File(name="b", text="")))), embedded.secrets)
    assert [(item.text, item.secret) for item in made.process("w").files] == [("key: lit-654321", True), ("", False)]


def test_a_secret_argument_is_warned_of_once_at_its_place(embedded: Prepared) -> None:
    found = [warning for warning in embedded.plan(Shape()).warnings if "process list" in warning.message]
    assert [warning.where for warning in found] == ["roles.agg.args.urls", "roles.agg.args.api-key"]
    assert "set that in 'env' instead" in found[0].message


def test_hidden_names_cannot_be_passed_on(embedded: Prepared) -> None:
    assert "INFERLANE_SECRET_API_KEY" not in base_environment({**embedded.secrets}, ("*",))


def test_a_fault_of_the_document_shows_none_of_its_secrets(embedded: Prepared) -> None:
    with pytest.raises(UsageFault) as caught:
        prepare(Request("recipe.yaml", sets=("resources.gpus_per_node=x-lit-654321",)), Plugins())
    assert "resources.gpus_per_node" in str(caught.value)
    assert "lit-654321" not in str(caught.value)
