"""Binding: tokens become addresses in the plan's own text, nothing else changes, and no value can break it."""

from __future__ import annotations

import json

import pytest

from inferlane.errors import RunFault
from inferlane.planning import bind, decode, encode, tokens
from inferlane.testing.plans import option, plan_of, recipe_block
from inferlane.values import Plan

KNOWN = {"n0.host": "192.0.2.7", "n0.bind": "192.0.2.7", "run.python": "/usr/bin/python3"}


def small() -> Plan:
    return plan_of(recipe_block("mock", "mock", {"agg": {"nodes": 1, "gpus": 1}}))


def test_known_tokens_are_replaced_everywhere() -> None:
    bound = bind(small(), KNOWN)
    assert bound.endpoint == "http://192.0.2.7:8000"
    assert option(bound.process("agg-0"), "--host") == "192.0.2.7"
    assert bound.process("agg-0").program[0] == "/usr/bin/python3"
    assert bound.addresses == {"n0": "192.0.2.7"}


def test_unknown_tokens_stay_and_are_listed() -> None:
    plan = small()
    assert tokens(plan) >= {"n0.host", "n0.bind", "run.python"}
    assert "n0.host" not in tokens(bind(plan, KNOWN))
    assert tokens(bind(plan, {})) == tokens(plan)


def test_braces_that_are_no_tokens_survive() -> None:
    args = {"kv-config": '{"a": {"b": 1}}', "template": "{node_id} {n0.nonsense.x} {port}"}
    role = {"nodes": 1, "gpus": 1, "args": args}
    bound = bind(plan_of(recipe_block("mock", "mock", {"agg": role})), KNOWN)
    assert json.loads(option(bound.process("agg-0"), "--kv-config")) == {"a": {"b": 1}}
    assert option(bound.process("agg-0"), "--template") == args["template"]


def test_a_token_inside_json_inside_an_argument_stays_valid_json() -> None:
    args = {"kv-config": '{"peer": "{n0.host}:1"}'}
    plan = plan_of(recipe_block("mock", "mock", {"agg": {"nodes": 1, "gpus": 1, "args": args}}))
    bound = bind(plan, {"n0.host": "[2001:db8::7]"})
    assert json.loads(option(bound.process("agg-0"), "--kv-config")) == {"peer": "[2001:db8::7]:1"}


@pytest.mark.parametrize("value", ['a"b', "a\\b", "a{b", "a}b", "a\nb", "a\x00b", "$(touch x)", "a;b", "a`b", "a'b"])
def test_a_value_that_could_break_the_text_is_refused_by_name(value: str) -> None:
    with pytest.raises(RunFault, match=r"^run\.dir is "):
        bind(small(), {"run.dir": value})


@pytest.mark.parametrize("value", ["/data/my runs/a+b", "fe80::1%eth0", "GPU-3f,MIG-9a/1/0", "~/x", "user@host"])
def test_addresses_paths_and_device_words_are_taken(value: str) -> None:
    assert bind(small(), {"n0.bind": value}).addresses == {"n0": value}


def test_binding_is_a_pass_over_the_text_and_leaves_the_plan_alone() -> None:
    plan = small()
    before = encode(plan)
    bind(plan, KNOWN)
    assert encode(plan) == before


def test_a_plan_that_was_changed_by_hand_into_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown field"):
        decode(encode(small()).replace(b'"name":', b'"nome":', 1))
