"""A secret reaches the process that it is for, and nothing else: no log, no file, no output, no process list."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inferlane.running.processes import proc
from inferlane.testing.handmade import plan, process, served, shell
from inferlane.values import File

pytestmark = pytest.mark.e2e

Start = Callable[..., Any]
TOKEN = "hf_A1b2C3d4E5"
LITERAL = "lit-9f8e7d6c"

_TALKS = r"""
import json, os, sys, time
token = os.environ["HF_TOKEN"].encode()
for number in range(1000):
    os.write(1, b"%d \xff\0 args: --token=" % number + token[: number % 10])
    if number % 100 == 0:
        time.sleep(0.05)
    os.write(1, token[number % 10 :] + b" end\n")
os.write(1, b"token is " + token + b"\n")
folder = os.environ["INFERLANE_RUN_DIR"]
open(folder + "/results/config.json", "w").write(json.dumps({"token": token.decode(), "n": 1}))
open(folder + "/environ.txt", "wb").write(b"HF_TOKEN=" + token)
print(open(sys.argv[1]).read(), flush=True)
sys.exit(3)
"""


def _texts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_a_worker_prints_of_its_secret_is_covered_and_no_other_byte_changes(start: Start) -> None:
    files = (File(name="key", text="only for me", secret=True),)
    argv = (sys.executable, "-c", _TALKS, "{run.files}/agg-0/key")
    run = start(plan(process("agg-0", *argv, env={"HF_TOKEN": "${MINE}"}, files=files)), env={"MINE": TOKEN})
    code, out = run.end(30)
    texts = _texts(run.folder)
    stars = b"*" * len(TOKEN)
    lines = b"".join(b"%d \xff\0 args: --token=%s end\n" % (number, stars) for number in range(1000))
    assert code == 1
    assert texts["logs/agg-0.log"] == lines + b"token is " + stars + b"\nonly for me\n"
    assert [name for name, text in texts.items() if TOKEN.encode() in text] == []
    assert TOKEN not in out
    assert json.loads(texts["results/config.json"]) == {"token": stars.decode(), "n": 1}
    assert "warning: processes wrote values of secrets, which were overwritten with *" in out
    assert "environ.txt (1), logs/agg-0.log (1001), results/config.json (1)" in out
    assert not (run.folder / "files" / "agg-0" / "key").exists()


def test_a_secret_is_covered_while_the_worker_still_runs(start: Start) -> None:
    worker = shell("agg-0", "echo token $HF_TOKEN; echo done; sleep 60", env={"HF_TOKEN": "${MINE}"})
    run = start(plan(worker), env={"MINE": TOKEN})
    log = run.until(lambda: next(run.outputs.glob("*/logs/agg-0.log"), None), "a log")
    run.until(lambda: log.read_bytes() == b"token " + b"*" * len(TOKEN) + b"\ndone\n", "a covered log")


RECIPE = f"""
schema: 2
name: hushed
model: {{path: hf:a/b}}
resources: {{gpus_per_node: 8}}
engine: {{type: mock, load_seconds: 0.2}}
environment: {{API_KEY: {LITERAL}}}
roles:
  agg: {{nodes: 1, workers: 2, gpus: 1, env: {{HF_TOKEN: "${{HF_TOKEN}}", DB: "http://u:{LITERAL}@h"}}}}
frontend: {{type: mock, port: 8000, env: {{R: "x-{LITERAL}"}}}}
health_check: {{max_attempts: 60, interval_seconds: 1}}
benchmark:
  type: custom
  env: {{CLIENT_TOKEN: "${{CLIENT_TOKEN}}"}}
  command: 'env; for i in 1 2 3 4 5; do echo "key=$API_KEY $HF_TOKEN"; sleep 0.3; done'
"""
CLUSTER = 'name: here\nenvironment: {X: "prefix-${SITE_TOKEN}"}\npass_environment: [PASSED_ON, ABSENT]\n'
SECRETS = {"HF_TOKEN": TOKEN, "SITE_TOKEN": "site-5a4b3c2d", "CLIENT_TOKEN": "client-1q2w3e4r"}
VALUES = (*SECRETS.values(), LITERAL)
HOSTILE = {
    **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:9"),
    "PASSED_ON": "yes",
    "LOGIN_SHELL_ONLY": "unwanted",
    "LD_LIBRARY_PATH_OF_LOGIN": "unwanted",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of a recipe, with everything around it hostile: what it wrote, said, and had in the process list."""
    folder = tmp_path_factory.mktemp("hushed")
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "netrc").write_text("machine 127.0.0.1 login u password p\ndefault login broken\n!garbage")
    env = {**os.environ, **SECRETS, **HOSTILE, "NETRC": str(folder / "netrc")}
    argv = [sys.executable, "-m", "inferlane", "run", "recipe.yaml", "--cluster", "cluster.yaml", "-o", "out"]
    popen = subprocess.Popen(
        argv, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, umask=0
    )
    seen: dict[str, tuple[bytes, dict[str, str]]] = {}
    heard: set[str] = set()
    deadline = time.monotonic() + 60
    while popen.poll() is None and time.monotonic() < deadline:
        below = proc.descendants(popen.pid)
        for pid in below:
            seen.update(_looked_at(pid))
        heard |= _listening(below)
        time.sleep(0.05)
    out = popen.communicate(timeout=30)[0]
    assert (folder / "out").exists(), out
    (run,) = (folder / "out").iterdir()
    return {
        "code": popen.returncode,
        "out": out,
        "run": run,
        "seen": seen,
        "heard": heard,
        "folder": folder,
        "env": env,
    }


def _looked_at(pid: int) -> Iterator[tuple[str, tuple[bytes, dict[str, str]]]]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return
    if words:  # of one that has ended there is nothing to see
        yield f"{pid} {words!r}", (words, proc.environment_of(pid))


def _listening(pids: list[int]) -> set[str]:
    """Addresses that these processes listen at, as the kernel tells."""
    sockets = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            sockets |= {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = row.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                words = bytes.fromhex(local.partition(":")[0])
                raw = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
                found.add(socket.inet_ntop(family, raw))
    return found


def test_nothing_of_a_run_on_one_machine_listens_beyond_loopback(whole: dict[str, Any]) -> None:
    assert whole["heard"]
    assert [address for address in whole["heard"] if not ipaddress.ip_address(address).is_loopback] == []


def test_a_run_with_secrets_succeeds_whatever_proxies_and_netrc_say(whole: dict[str, Any]) -> None:
    assert whole["code"] == 0, whole["out"]


def test_no_command_line_of_the_run_holds_a_secret(whole: dict[str, Any]) -> None:
    lines = [words for words, _ in whole["seen"].values()]
    assert len(lines) > 4
    assert [line for line in lines for value in VALUES if value.encode() in line] == []


def _environment(whole: dict[str, Any], word: bytes) -> dict[str, str]:
    found = [env for words, env in whole["seen"].values() if word in words and "INFERLANE_RUN_ID" in env]
    assert found, [words for words, _ in whole["seen"].values()]
    return dict(found[0])


def test_each_process_has_the_secrets_that_were_declared_for_it_and_no_others(whole: dict[str, Any]) -> None:
    worker, router, client = (_environment(whole, word) for word in (b"twins.mock", b"twins.router", b"key=$API_KEY"))
    assert (worker["HF_TOKEN"], worker["DB"], worker["X"]) == (TOKEN, f"http://u:{LITERAL}@h", "prefix-site-5a4b3c2d")
    assert router["R"] == f"x-{LITERAL}"
    assert client["CLIENT_TOKEN"] == SECRETS["CLIENT_TOKEN"]
    assert not {"HF_TOKEN", "CLIENT_TOKEN"} & set(router)
    assert "HF_TOKEN" not in client
    assert "CLIENT_TOKEN" not in worker
    hidden = [name for env in (worker, router, client) for name in env if name.startswith("INFERLANE_SECRET_")]
    assert hidden == []


def test_of_the_callers_variables_only_those_that_are_passed_on_arrive_and_no_proxy(whole: dict[str, Any]) -> None:
    for word in (b"twins.mock", b"twins.router", b"key=$API_KEY"):
        env = _environment(whole, word)
        assert env["PASSED_ON"] == "yes"
        assert not [name for name in env if "LOGIN" in name or "proxy" in name.lower() or name == "NETRC"]


def test_no_file_and_no_word_of_the_run_holds_a_secret(whole: dict[str, Any]) -> None:
    texts = _texts(whole["run"])
    assert b"key=*" in texts["logs/benchmark.log"]
    assert [(name, value) for name, text in texts.items() for value in VALUES if value.encode() in text] == []
    assert [value for value in VALUES if value in whole["out"]] == []


def test_nothing_that_we_write_can_be_read_by_others_even_without_a_umask(whole: dict[str, Any]) -> None:
    paths = [whole["run"], *whole["run"].rglob("*")]
    modes = {str(path.relative_to(whole["run"])): stat.S_IMODE(path.lstat().st_mode) for path in paths}
    assert len(modes) > 10
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("plan",),
        ("plan", "--format", "json"),
        ("plan", "--format", "commands"),
        ("plan", "--explain"),
        ("run", "--dry-run"),
        ("run", "--dry-run", "--json"),
        ("rehearse", "--dry-run"),
        ("plan", "--diff", "{run}"),
        ("plan", "--diff", "{run}", "--format", "json"),
        ("plan", "--set", f"resources.gpus_per_node=x-{LITERAL}"),
        ("plan", "--set", f"roles.agg.args.url=http://u:{LITERAL}@h", "--format", "json"),
    ],
)
def test_no_command_shows_a_secret(whole: dict[str, Any], command: tuple[str, ...]) -> None:
    name, *rest = (word.format(run=whole["run"]) for word in command)
    argv = [sys.executable, "-m", "inferlane", name, "recipe.yaml", "--cluster", "cluster.yaml", *rest]
    done = subprocess.run(argv, cwd=whole["folder"], env=whole["env"], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert said
    assert "Traceback" not in said
    assert [value for value in VALUES if value in said] == []


@pytest.mark.parametrize("command", ["logs", "status", "status --json"])
def test_no_look_at_the_run_shows_a_secret(whole: dict[str, Any], command: str) -> None:
    argv = [sys.executable, "-m", "inferlane", *command.split(), str(whole["run"])]
    done = subprocess.run(argv, cwd=whole["folder"], env=whole["env"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\S", done.stdout)
    assert [value for value in VALUES if value in done.stdout + done.stderr] == []


def test_a_worker_that_is_given_a_proxy_by_the_recipe_has_it(start: Start) -> None:
    worker = shell("store", 'echo "proxy $HTTP_PROXY"; sleep 60', kind="service", env={"HTTP_PROXY": "http://p:1"})
    run = start(served(worker, shell("bench", "sleep 0.5", kind="benchmark")), env={"HTTP_PROXY": "http://127.0.0.1:9"})
    code, out = run.end(30)
    assert code == 0, out
    assert (run.folder / "logs" / "store.log").read_text() == "proxy http://p:1\n"
