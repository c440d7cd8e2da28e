"""Files that are no recipes: one line each, in under a second of work, in bounded memory."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MEMORY = 512 * 1024 * 1024
"""Bytes of address space for the whole command; it starts with about a quarter of them."""


def billion_laughs() -> str:
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for old, new in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]")
    return "\n".join(lines) + "\n"


def doubled() -> str:
    """Twice as many values per line, in mappings."""
    pairs = itertools.pairwise(f"b{number}" for number in range(40))
    return "\n".join(["b0: &b0 {k: v}", *(f"{new}: &{new} {{x: *{old}, y: *{old}}}" for old, new in pairs)]) + "\n"


CONTENTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "billion laughs": (
        lambda: billion_laughs().encode(),
        "recipe.yaml:6:8: f[0]: the file expands to more than 100000 values, through aliases or sheer length",
    ),
    "twofold laughs in mappings": (
        lambda: doubled().encode(),
        "recipe.yaml:16:15: b15.x: the file expands to more than 100000 values, through aliases or sheer length",
    ),
    "deep nesting": (lambda: b"a: " + b"[" * 100, "recipe.yaml:1:67: a: nested more than 64 levels deep"),
    "20 MB": (
        lambda: b"schema: 2\n" + b"# filler of a recipe\n" * 1_000_000,
        "recipe.yaml: larger than 8 MiB; this is not a recipe or cluster file",
    ),
    "one long line": (
        lambda: b"name: " + b"x" * 7_000_000 + b"\n",
        "recipe.yaml:1:1: schema: missing; write 'schema: 2' as the first line",
    ),
    "many keys": (
        lambda: b"".join(b"k%d: 1\n" % number for number in range(300_000)),
        "recipe.yaml:100000:9: k99999: the file expands to more than 100000 values, through aliases or sheer length",
    ),
    "a program": (
        lambda: Path(sys.executable).read_bytes()[:100_000],
        "recipe.yaml:1:1: not a text file: it holds NUL bytes",
    ),
    "latin-1": (
        lambda: "schema: 2\nname: café\n".encode("latin-1"),
        "recipe.yaml:2:10: not UTF-8 text; save the file as UTF-8",
    ),
    "control signs": (
        lambda: b"schema: 2\nname: a\x07b\n",
        "recipe.yaml: not valid YAML: control characters are not allowed",
    ),
    "empty": (lambda: b"", "recipe.yaml: the file is empty; a mapping of keys is expected"),
    "a list at the top": (
        lambda: b"- schema: 2\n",
        "recipe.yaml:1:1: the top level must be a mapping of keys (name: value lines)",
    ),
    "two documents": (
        lambda: b"schema: 2\n---\nschema: 2\n",
        "recipe.yaml:2:1: a second document starts here (---); keep one document per file",
    ),
    "a tag that would run a program": (
        lambda: b"schema: !!python/object/apply:os.system [touch pwned]\n",
        "recipe.yaml:1:9: schema: tags are not read here; remove the '!\u2026' and write the value plainly, "
        "text in quotes",
    ),
}  # fmt: skip


def bound() -> None:
    """In the child: no more memory, and no more work, than a person would bear with."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (4, 4))


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONUTF8": "1"}
    for name in ("INFERLANE_CLUSTER", "SRTSLURM_CONFIG"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "inferlane", "check", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=bound,
    )


@pytest.mark.parametrize("name", CONTENTS)
def test_content_that_is_no_recipe_is_one_line(tmp_path: Path, name: str) -> None:
    content, line = CONTENTS[name]
    (tmp_path / "recipe.yaml").write_bytes(content())
    done = check(tmp_path, "recipe.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {line}\n")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", ["billion laughs", "20 MB", "a program", "empty"])
def test_the_same_holds_for_a_cluster_file(tmp_path: Path, name: str) -> None:
    content, line = CONTENTS[name]
    (tmp_path / "site.yaml").write_bytes(content())
    (tmp_path / "recipe.yaml").write_bytes((Path(__file__).parent / "base.yaml").read_bytes())
    done = check(tmp_path, "recipe.yaml", "--cluster", "site.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {line.replace('recipe.yaml', 'site.yaml')}\n"


def test_a_folder_a_loop_of_links_and_a_missing_file_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "one.yaml").symlink_to("two.yaml")
    (tmp_path / "two.yaml").symlink_to("one.yaml")
    names = ("folder.yaml", "one.yaml", "nothing.yaml", "folders.yaml", "else/where.yaml")
    said = [check(tmp_path, name).stderr for name in names]
    assert said == [
        "error: folder.yaml: this is a directory; name a file in it\n",
        "error: one.yaml: cannot be read: Too many levels of symbolic links\n",
        "error: nothing.yaml: no such file\n",
        "error: folders.yaml: no such file; did you mean 'folder.yaml'?\n",
        "error: else/where.yaml: no such file; there is no folder else\n",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_one_line(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("schema: 2\n")
    recipe.chmod(0)
    assert check(tmp_path, "recipe.yaml").stderr == "error: recipe.yaml: cannot be read: permission denied\n"
