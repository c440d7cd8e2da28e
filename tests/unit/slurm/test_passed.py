"""What travels with a job: names that the files declare, and no value in anything that is written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, prepare
from inferlane.slurm.launch import passed_names
from inferlane.testing.plans import recipe_block

SECRET = "tok-0123456789"
COMMANDS = ('for d in a b; do echo "${d}"; done', f"HF={SECRET} bash setup.sh", 'use "${CACHE}"')


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.chdir(tmp_path)
    block = recipe_block(
        "mock",
        "mock",
        {"agg": {"nodes": 1, "workers": 1, "gpus": 1}},
        environment={"HF_TOKEN": SECRET, "API_KEY": "${API_KEY}"},
        sbatch_directives={"mail-user": f"x{SECRET}"},
        srun_options={"container-name": f"x{SECRET}"},
        host_setup={"commands": list(COMMANDS)},
        benchmark={"type": "custom", "command": 'for i in 1 2; do echo "${i}"; done'},
    )
    Path("r.yaml").write_text(yaml.safe_dump(block))
    return prepare(Request("r.yaml"), Plugins())


def test_only_what_is_declared_is_passed_and_names_of_the_shell_are_not_asked_for(prepared: Prepared) -> None:
    environ = {"PATH": "/bin", "HOME": "/h", "OTHER": "zzz", "CACHE": "/c", "LD_LIBRARY_PATH": "host"}
    names = passed_names(prepared, environ, False)
    assert names == ("HOME", "PATH", "API_KEY", "CACHE", *sorted(prepared.secrets))
    assert list(prepared.secrets.values()) == [SECRET]


def test_a_rehearsal_needs_no_variable_that_is_not_set(prepared: Prepared) -> None:
    assert "API_KEY" not in passed_names(prepared, {"PATH": "/bin"}, True)


def test_a_secret_inside_an_option_or_a_command_is_a_reference_there(prepared: Prepared) -> None:
    text = prepared.hidden.model_dump_json()
    assert SECRET not in text
    assert prepared.hidden.host_setup is not None
    reference = prepared.hidden.host_setup.commands[1].removeprefix("HF=").removesuffix(" bash setup.sh")
    assert prepared.secrets[reference[2:-1]] == SECRET
    assert prepared.hidden.host_setup.commands[0] == COMMANDS[0]
