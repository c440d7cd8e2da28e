"""Frozen files that travel inside the job script."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from inferlane.config import Cluster, Recipe
from inferlane.errors import RunFault, UsageFault
from inferlane.running.folder.directory import RunDirectory
from inferlane.slurm.embedded import pack, place, unpack
from inferlane.slurm.script import directives, render
from inferlane.testing.plans import plan_of, recipe_block

SITE = {"runtime_config_transport": "embedded"}
BLOCK = recipe_block("mock", "mock", {"agg": {"nodes": 1, "workers": 1, "gpus": 8}})
FILES = {
    "frozen/plan.json": b'{"a": "$(touch pwned) `touch pwned`"}\n-- end of the frozen files --\n',
    "a.yaml": b"\xff",
}


def _script(run: Path, files: dict[str, bytes]) -> str:
    made = render(plan_of(BLOCK, SITE), Recipe.model_validate(BLOCK), Cluster(**SITE), run, sys.executable, pack(files))
    body, _, last = made.rstrip("\n").rpartition("\n")
    assert last == f"exec {sys.executable} -P -m inferlane.slurm.job '{run}'"
    return f"{body}\necho from the job; ls -d .\n"


def _bash(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "7"}
    return subprocess.run(["bash", "-c", text], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_what_is_packed_comes_out_byte_for_byte() -> None:
    assert unpack(pack(FILES)) == FILES
    assert pack(FILES) == pack(dict(reversed(FILES.items())))


def test_the_script_makes_the_run_folder_on_its_node(tmp_path: Path) -> None:
    run = tmp_path / "out side" / f"demo-{secrets.token_hex(8)}"
    early = Path(f"/tmp/{run.name}-7.log")
    early.write_text("")
    done = _bash(_script(run, FILES), tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    assert {name: (run / name).read_bytes() for name in FILES} == FILES
    assert [oct(path.stat().st_mode & 0o777) for path in (run, run / "frozen", run / "logs")] == ["0o700"] * 3
    assert oct((run / "frozen/plan.json").stat().st_mode & 0o777) == "0o600"
    assert (run / "job.log").read_text() == "from the job\n.\n"
    assert not early.exists()
    assert not list(tmp_path.rglob("pwned"))


def test_a_folder_that_the_node_sees_already_is_left_alone(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    assert place(run, {"a.yaml": b"first"})
    assert not place(run, {"a.yaml": b"second"})
    assert (run.path / "a.yaml").read_bytes() == b"first"


def test_a_folder_that_cannot_be_made_is_told_and_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = _bash(_script(tmp_path / "file" / "run x", FILES), tmp_path)
    assert done.returncode == 1
    assert "cannot be made on this node (Not a directory); choose with -o" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["../x", "/x", "a/../x", "a//x", ".x", "a\nb", ""])
def test_a_name_outside_of_the_folder_is_refused(name: str) -> None:
    with pytest.raises(RunFault, match="not ours"):
        unpack(pack({name: b""}))


@pytest.mark.parametrize("lines", [(), ("!!!",), ("AAAA",), (*pack(FILES)[:-1], "AAAA")])
def test_damage_is_told(lines: tuple[str, ...]) -> None:
    with pytest.raises(RunFault, match="damaged"):
        unpack(lines)


def test_more_than_a_script_may_hold_is_refused() -> None:
    with pytest.raises(UsageFault, match="shared-filesystem"):
        pack({"big": os.urandom(4_000_000)})


def test_the_early_log_is_where_every_node_can_write() -> None:
    made = dict(
        directives(plan_of(BLOCK, SITE), Recipe.model_validate(BLOCK), Cluster(**SITE), Path("/out/demo-x-0123"))
    )
    assert made["output"] == "/tmp/demo-x-0123-%j.log"
