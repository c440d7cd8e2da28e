"""``status``, ``logs`` and ``cancel`` on run folders, and what a real run may ask of this machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from inferlane.cli.cancel import cancel
from inferlane.cli.logs import logs
from inferlane.cli.status import status
from inferlane.errors import RunFault, UsageFault
from inferlane.running.folder.directory import RunDirectory, create, record_owner
from inferlane.running.folder.events import EventLog
from inferlane.running.folder.secrets import Redactor
from inferlane.running.processes.devices import device_pool
from inferlane.running.start import shape_of_machine
from inferlane.testing.handmade import HEAD, plan, shell
from inferlane.values import Plan, Slot


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made, scratch = create(tmp_path / "out", "r"), tmp_path / "il-scratch"
    scratch.mkdir()
    record_owner(made, os.getpid(), scratch, "r", "2026-01-02T03:04:05.678+00:00")
    made.log("decode-0").write_bytes(b"one\n\x1b[2Jtwo\n")
    made.log("router").write_bytes(b"three\n")
    with EventLog(made.events, Redactor()) as events:
        events.write("run.start", endpoint="http://127.64.0.1:8000")
        events.write("process.start", process="decode-0", pid=7)
        events.write("process.start", process="router", pid=8)
        events.write("process.end", process="router", code=-9, asked=False, killed=False)
    return made


def _call(command: object, run: RunDirectory, *words: str) -> Result:
    return CliRunner().invoke(command, [*words, "-o", str(run.path.parent)], standalone_mode=False)  # type: ignore[arg-type]


def test_status_lists_runs_and_shows_one(run: RunDirectory) -> None:
    heads, row = _call(status, run).output.splitlines()
    assert heads.split() == ["RUN", "STATE", "STARTED", "(UTC)", "TOOK", "EXIT", "ENDPOINT", "OR", "FIRST", "CAUSE"]
    assert row.split() == [run.id, "running", "2026-01-02", "03:04:05", row.split()[4], "-", "http://127.64.0.1:8000"]
    shown = _call(status, run, run.id).output
    assert re.search(r"decode-0  running  0 +- +logs/decode-0.log  two\n", shown)
    assert re.search(r"router    ended    0 +signal 9 \(SIGKILL\)  logs/router.log    three\n", shown)
    assert "prefill-0  waiting" not in shown
    assert "endpoint:  http://127.64.0.1:8000" in shown
    assert "follow:  inferlane logs" in shown


def test_status_shows_the_first_cause_and_its_log(run: RunDirectory) -> None:
    cause = {"message": "decode-0 ended", "log": "d.log", "log_tail": ["bad \u001b[31mflag"]}
    run.write("run.json", json.dumps({"verdict": "failed", "exit_code": 1, "clean": True, "cause": cause}).encode())
    shown = _call(status, run, run.id).output
    assert "first cause: decode-0 ended\n" in shown
    assert "\n    bad flag\n" in shown
    assert "state:     failed (exit 1); everything is gone" in shown
    assert _call(status, run).output.splitlines()[1].endswith("1     decode-0 ended")


def test_status_as_json_is_one_document(run: RunDirectory) -> None:
    (only,) = json.loads(_call(status, run, "--json").output)
    keys = "id folder state held ready started ended seconds exit_code endpoint cause job"
    assert (list(only), only["state"]) == (keys.split(), "running")
    one = json.loads(_call(status, run, run.id, "--json").output)
    assert list(one) == [*keys.split()[:-1], "processes", "verdict", "job"]
    of_process = "state reason pid started seconds exit_code signal log last_line"
    assert list(one["processes"]["decode-0"]) == of_process.split()
    assert (one["processes"]["router"]["signal"], one["processes"]["decode-0"]["last_line"]) == (9, "two")


def test_the_state_of_a_process_is_what_the_last_event_says(run: RunDirectory) -> None:
    run.write("plan.json", b'{"processes": [{"name": "decode-0"}, {"name": "late"}], "served_model_name": "m"}')
    with EventLog(run.events, Redactor()) as events:
        events.write("process.state", process="decode-0", state="silent", was="ready", reason="no answer")
        events.write("process.state", process="router", state="ready")
        events.write("run.ready")
    processes = json.loads(_call(status, run, run.id, "--json").output)["processes"]
    assert {name: item["state"] for name, item in processes.items()} == {
        "decode-0": "silent",
        "late": "waiting",
        "router": "ended",
    }
    assert '\'{"model": "m", "prompt": "Hello", "max_tokens": 16}\'' in _call(status, run, run.id).output


def test_a_list_of_runs_holds_ended_lost_and_odd_ones(run: RunDirectory) -> None:
    outputs = run.path.parent
    for name, content in (
        ("a-20260101T030405Z-0000", b'{"verdict": "failed", "cause": 7}'),
        ("b-20260101T030405Z-0000", b"[]"),
    ):
        folder = RunDirectory(outputs / name)
        folder.path.mkdir()
        folder.write("run.json", content)
        folder.write("events.jsonl", b'\xff{}\n{"event": "process.end", "process": "x", "code": "odd"}\n')
    states = [line.split()[1] for line in _call(status, run).output.splitlines()[1:]]
    assert states == ["failed", "unknown", "running"]
    assert _call(status, run, "a-").exit_code == _call(status, run, "b-").exit_code == 0


def test_logs_are_told_apart_and_cannot_move_the_terminal(run: RunDirectory) -> None:
    assert _call(logs, run).output == "decode-0: one\ndecode-0: two\nrouter: three\n"
    assert _call(logs, run, run.id, "decode-0", "-n", "1").output == "two\n"


def test_following_ends_with_the_run_and_says_how_it_ended(run: RunDirectory) -> None:
    run.write("run.json", b'{"verdict": "failed", "exit_code": 1, "cause": {"message": "decode-0\\nended\\u001b[2J"}}')
    result = _call(logs, run, run.id, "router", "-f")
    assert result.stdout == "three\n"
    assert result.stderr == f"{run.id} is over: failed (exit 1); first cause: decode-0 ended\n"


def test_one_word_that_is_no_run_is_a_process_of_the_latest_one(run: RunDirectory) -> None:
    older = RunDirectory(run.path.parent / "router-20250101T030405Z-0000")
    older.path.mkdir()
    older.write("run.json", b"{}")
    assert _call(logs, run, "router").output == "three\n"
    assert _call(logs, run, older.id).output == ""
    assert _call(logs, run, "router-2025").output == ""
    assert _call(logs, run, "router", "decode-0", "-n", "1").output == "router: three\ndecode-0: two\n"


def test_a_process_that_has_not_started_yet_is_told_so(run: RunDirectory) -> None:
    run.write("plan.json", b'{"processes": [{"name": "late"}]}')
    result = _call(logs, run, "late")
    assert (result.stdout, result.stderr) == ("", "late has not started yet; -f waits for it\n")


def test_a_process_that_is_not_there_is_refused_with_those_that_are(run: RunDirectory) -> None:
    fault = _call(logs, run, run.id, "prefill-9").exception
    assert isinstance(fault, UsageFault)
    assert "decode-0, router" in str(fault)


def test_cancel_never_signals_a_process_that_only_has_the_same_number(run: RunDirectory) -> None:
    owner = msgspec.json.decode((run.path / "owner.json").read_bytes())
    run.write("owner.json", msgspec.json.encode({**owner, "start": owner["start"] - 1, "supervisor": None}))
    assert "is over without a verdict" in _call(cancel, run).output


def test_cancel_of_a_run_on_another_machine_is_not_claimed_to_have_worked(run: RunDirectory) -> None:
    owner = msgspec.json.decode((run.path / "owner.json").read_bytes())
    run.write("owner.json", msgspec.json.encode({**owner, "host": "elsewhere"}))
    result = _call(cancel, run)
    assert result.return_value == 5
    assert "elsewhere; cancel it there" in result.output


def _workers(count: int) -> Plan:
    slots = [(Slot(node=HEAD, gpus=(position,)),) for position in range(count)]
    made = [msgspec.structs.replace(shell(f"w{n}", "true"), slots=slot) for n, slot in enumerate(slots)]
    return plan(*made, gpus_per_node=8)


def test_more_workers_than_devices_is_refused_with_both_numbers() -> None:
    with pytest.raises(RunFault, match="3 devices needed, 2 available"):
        shape_of_machine(_workers(3), device_pool("0,1", {}, None))


def test_a_pool_that_was_chosen_makes_every_process_masked() -> None:
    shape = shape_of_machine(_workers(2), device_pool("0,1", {}, None))
    assert (shape.devices, shape.masked) == (2, True)


def test_more_nodes_than_one_are_refused_on_one_machine() -> None:
    made = msgspec.structs.replace(_workers(1), nodes=(HEAD, HEAD))
    with pytest.raises(RunFault, match="needs 2 nodes"):
        shape_of_machine(made, device_pool("0", {}, None))


def test_runs_are_looked_for_where_the_cluster_file_puts_them(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inferlane.yaml").write_text("output_dir: out\n")
    assert run.id in CliRunner().invoke(status, [], standalone_mode=False).output
