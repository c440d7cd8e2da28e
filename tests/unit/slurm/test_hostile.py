"""Values that try to act in the shell of the job: each is refused where it stands, or does nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from inferlane.errors import UsageFault
from inferlane.planning import Shape
from inferlane.plugins import Plugins
from inferlane.preparation import Request, prepare
from inferlane.slurm.show import script_of
from inferlane.testing.plans import recipe_block

ATTACKS = [
    "$(touch pwned)",
    "`touch pwned`",
    "x; touch pwned #",
    "x' ; touch pwned ; '",
    'x" ; touch pwned ; "',
    "x && touch pwned",
    "x\ntouch pwned",
    "x\n#SBATCH --wrap=pwned",
    "x\rtouch pwned",
    "\\$(touch pwned)\\",
    "${IFS}touch${IFS}pwned",
    "x #SBATCH --uid=0",
]
PLACES = [
    ("name",),
    ("slurm", "account"),
    ("slurm", "partition"),
    ("sbatch_directives", "mem"),
    ("sbatch_directives", "mail-user"),
    ("srun_options", "mem"),
    ("environment", "A"),
    ("roles", "agg", "env", "A"),
    ("roles", "agg", "args", "speed"),
    ("roles", "agg", "container"),
    ("model", "container"),
    ("model", "path"),
    ("extra_mount",),
]


def _script(recipe: str, cluster: str | None = None) -> str:
    """What ``inferlane plan --format script`` prints. Raises ``InferlaneError``."""
    prepared = prepare(Request(recipe, cluster), Plugins())
    return script_of(prepared, prepared.plan(Shape()))


def _either(recipe: str) -> tuple[str | None, str]:
    try:
        return _script(recipe), ""
    except UsageFault as fault:
        return None, str(fault)


def _run_body(cwd: Path, script: str) -> str:
    """What the stub that stands for the interpreter was called with, after ``bash`` ran the script."""
    text = script.replace(sys.executable, "interpreter")
    (cwd / "RUN").mkdir()
    stubs = cwd / "stubs"
    stubs.mkdir()
    (stubs / "interpreter").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (stubs / "interpreter").chmod(0o755)
    checked = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    env = {"PATH": f"{stubs}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", text], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("attack", range(len(ATTACKS)))
def test_a_hostile_value_is_refused_with_its_line_or_inert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: int
) -> None:
    """Each place in a variant of its own; those that are refused are told, the others run."""
    value = ATTACKS[attack]
    base = recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": 1, "gpus": 1}})
    inert = []
    for number, place in enumerate(PLACES):
        folder = tmp_path / str(number)
        folder.mkdir()
        block = yaml.safe_load(yaml.safe_dump(base))
        inner = block
        for key in place[:-1]:
            inner = inner.setdefault(key, {})
        inner[place[-1]] = [f"/a{value}:/b"] if place == ("extra_mount",) else value
        (folder / "r.yaml").write_text(yaml.safe_dump(block, sort_keys=False, allow_unicode=True))
        monkeypatch.chdir(folder)
        script, fault = _either("r.yaml")
        if script is None:
            assert fault[:7] == "r.yaml:"
            continue
        inert.append(place)
        lines = script.splitlines()
        assert [line for line in lines if line and not line.startswith("#")] == lines[-3:]
        assert _run_body(folder, script) == "-P|-m|inferlane.slurm.job|RUN|"
    assert not list(tmp_path.rglob("pwned"))
    assert {("environment", "A"), ("roles", "agg", "env", "A")} <= set(inert)
    assert ("name",) not in inert


def test_the_path_of_a_recipe_may_hold_anything(tmp_path: Path) -> None:
    folder = tmp_path / "it's $(touch pwned)\n`touch pwned` \"; touch pwned"
    folder.mkdir()
    block = recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": 1, "gpus": 1}})
    (folder / "r e.yaml").write_text(yaml.safe_dump(block))
    script = _script(str(folder / "r e.yaml"))
    assert "pwned" not in script
    assert _run_body(tmp_path, script) == "-P|-m|inferlane.slurm.job|RUN|"
    assert not [path for path in tmp_path.rglob("pwned") if path.is_file()]


def test_an_interpreter_with_odd_letters_is_one_word(tmp_path: Path) -> None:
    odd = tmp_path / "it's $(touch pwned)"
    odd.mkdir()
    shutil.copy(shutil.which("echo") or "/bin/echo", odd / "py thon")
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"python": str(odd / "py thon")}))
    block = recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": 1, "gpus": 1}})
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(block))
    script = _script(str(tmp_path / "r.yaml"), str(tmp_path / "c.yaml"))
    assert _run_body(tmp_path, script) == "-P -m inferlane.slurm.job RUN\n"
    assert not list(tmp_path.rglob("pwned"))
