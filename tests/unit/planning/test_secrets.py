"""Literal secrets never reach a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.config import is_secret
from inferlane.planning import Shape, encode
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.running.environment import revealed

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
