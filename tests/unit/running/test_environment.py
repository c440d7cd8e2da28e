"""The exact environment of a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inferlane.errors import RunFault
from inferlane.running.folder.secrets import Redactor
from inferlane.running.processes.environment import (
    base_environment,
    environments,
    process_environment,
    proxies_asked_for,
)
from inferlane.testing.handmade import plan, shell

SHELL = {
    "PATH": "/bin",
    "HOME": "/home/u",
    "LC_ALL": "C",
    "HTTP_PROXY": "http://p",
    "https_proxy": "http://p",
    "CUDA_VISIBLE_DEVICES": "0",
    "SECRET_THING": "x",
    "NCCL_DEBUG": "INFO",
}


def _of(process_fields: dict[str, object], passed: tuple[str, ...] = ()) -> dict[str, str]:
    base = base_environment(SHELL, passed)
    return process_environment(shell("w", "true", **process_fields), base, SHELL, "id-1", Path("/runs/id-1"))


def test_nothing_of_the_login_shell_comes_along() -> None:
    assert set(_of({})) == {"PATH", "HOME", "LC_ALL", "INFERLANE_RUN_ID", "INFERLANE_RUN_DIR"}


def test_passed_names_come_along_but_never_a_proxy() -> None:
    env = _of({}, ("NCCL_*", "HTTP_PROXY", "https_proxy"))
    assert env["NCCL_DEBUG"] == "INFO"
    assert not {"HTTP_PROXY", "https_proxy"} & set(env)
    assert proxies_asked_for(("NCCL_*", "HTTP_PROXY")) == ("HTTP_PROXY",)


def test_one_mask_variable_is_set_and_the_others_are_removed() -> None:
    env = _of(
        {"slot_env": ({"HIP_VISIBLE_DEVICES": "4,5,6,7"},), "unset": ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")},
        ("*_VISIBLE_DEVICES",),
    )
    assert {name: value for name, value in env.items() if "VISIBLE" in name} == {"HIP_VISIBLE_DEVICES": "4,5,6,7"}


def test_our_own_programs_are_found_last() -> None:
    first, *_, last = _of({})["PATH"].split(":")
    assert first == "/bin"
    assert Path(last, "python").exists()


def test_a_reference_is_read_from_the_launcher_only_when_it_is_the_whole_value() -> None:
    env = _of({"env": {"A": "${NCCL_DEBUG}", "B": "x${NCCL_DEBUG}"}})
    assert (env["A"], env["B"]) == ("INFO", "x${NCCL_DEBUG}")


def test_every_variable_that_is_missing_is_named_at_once() -> None:
    made = plan(shell("a", "true", env={"T": "${NOPE}"}), shell("b", "true", env={"U": "${NADA}"}))
    with pytest.raises(RunFault) as caught:
        environments(made, SHELL, (), "id", Path("/runs/id"))
    assert "a: T refers to ${NOPE}" in str(caught.value)
    assert "b: U refers to ${NADA}" in str(caught.value)


def test_secret_values_are_taken_out_of_text_and_tunings_are_not() -> None:
    redactor = Redactor([{"HF_TOKEN": 'a"bcd', "MAX_TOKENS_PER_RANK": "4096", "API_KEY": "${REF_NAME}"}])
    assert redactor.text('a"bcd a\\"bcd 4096 ${REF_NAME}') == "*** *** 4096 ${REF_NAME}"
    assert redactor.content(b'\xff a"bcd') == b"\xff ***"


def test_a_secret_is_taken_out_in_every_way_that_json_may_spell_it() -> None:
    secret = 'pä"ss'
    redactor = Redactor([{"HF_TOKEN": secret}])
    for text in (json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        assert redactor.text(text) == '"***"'


def test_a_secret_that_is_a_number_does_not_break_a_document() -> None:
    redactor = Redactor([{"API_KEY": "12345"}])
    document = {"seconds": 0.12345, "argv": ["--key=12345"], "why": "12345"}
    for indent in (None, 2):
        text = redactor.content(json.dumps(document, indent=indent).encode() + b"\n")
        assert json.loads(text) == {"seconds": 0.12345, "argv": ["--key=***"], "why": "***"}
        assert (b"\n" in text.rstrip()) is (indent is not None)
