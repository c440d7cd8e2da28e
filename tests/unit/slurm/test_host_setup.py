"""Commands on the bare nodes, with the real shell and a stub in place of the scheduler's step."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from inferlane.config.blocks import HostSetup
from inferlane.errors import RunFault
from inferlane.slurm.frozen import StepSettings
from inferlane.slurm.host_setup import HostCommands, HostSteps, Ran, Run, StepRunner, Stopped, host_commands, step
from inferlane.slurm.steps import Job
from inferlane.testing.plans import plan_of, recipe_block

HOSTS = ("node-a", "node-b")
BEGIN = ("srun", "--nodes=2")
ENV = {"PATH": os.environ["PATH"]}


def _nodes(folder: Path) -> Run:
    """Runs what follows ``BEGIN`` once for each node, as a step does."""

    def run(argv: Sequence[str], seconds: float, stopped: Stopped) -> Ran:
        runs = [_on(host, folder)(argv[2:], seconds, stopped) for host in HOSTS]
        code = None if any(ran.code is None for ran in runs) else max(ran.code or 0 for ran in runs)
        return Ran(code, "".join(ran.text for ran in runs))

    return run


def _on(host: str, folder: Path) -> StepRunner:
    return StepRunner({**ENV, "SLURMD_NODENAME": host}, folder / "log")


def _steps(folder: Path, **wanted: object) -> HostSteps:
    return HostSteps(HostCommands(nodes=("n0", "n1"), **wanted), HOSTS, BEGIN, _nodes(folder))  # type: ignore[arg-type]


def test_commands_run_in_order_in_one_shell_on_every_node(tmp_path: Path) -> None:
    commands = (f"cd {tmp_path}", "X=1", 'echo "$SLURMD_NODENAME $X $PWD" >> out')
    assert _steps(tmp_path, commands=commands).setup() == []
    assert (tmp_path / "out").read_text() == f"node-a 1 {tmp_path}\nnode-b 1 {tmp_path}\n"


def test_a_failure_stops_its_node_and_names_node_command_and_output(tmp_path: Path) -> None:
    bad = f'if [ $SLURMD_NODENAME = node-b ]; then echo "no such clock"; exit 7; fi; touch {tmp_path}/$SLURMD_NODENAME'
    with pytest.raises(RunFault) as caught:
        _steps(tmp_path, commands=("true", bad, f"touch {tmp_path}/after-$SLURMD_NODENAME")).setup()
    assert str(caught.value).startswith("host_setup: node-b: command 2 ended with 7: if [ $SLURMD_NODENAME")
    assert str(caught.value).endswith("no such clock")
    assert sorted(path.name for path in tmp_path.glob("*node*")) == ["after-node-a", "node-a"]


def test_ignore_failure_goes_on_and_says_so(tmp_path: Path) -> None:
    notes = _steps(tmp_path, commands=("false", f"touch {tmp_path}/on"), ignore_failure=True).setup()
    assert notes == [
        f"host_setup: {host}: command 1 ended with 1: false (ignored, as ignore_failure says)" for host in HOSTS
    ]
    assert (tmp_path / "on").exists()


def test_teardown_runs_all_commands_and_never_raises(tmp_path: Path) -> None:
    notes = _steps(tmp_path, teardown=("exit_code() { return 3; }; exit_code", f"touch {tmp_path}/last")).teardown()
    assert [note.partition(": exit")[0] for note in notes] == [
        f"host_setup.teardown: {host}: command 1 ended with 3" for host in HOSTS
    ]
    assert (tmp_path / "last").exists()


def test_time_is_bounded_and_the_nodes_that_are_not_done_are_named(tmp_path: Path) -> None:
    commands = ("[ $SLURMD_NODENAME = node-a ] || exec sleep 60",)
    started = time.monotonic()
    with pytest.raises(RunFault, match=r"^host_setup: node-b: not done within 0\.5 s \(timeout_seconds\)$"):
        _steps(tmp_path, commands=commands, timeout_s=0.5).setup()
    assert time.monotonic() - started < 25


def test_a_node_without_a_word_is_a_failure_even_when_the_step_ended_with_0() -> None:
    steps = HostSteps(HostCommands(commands=("true",)), HOSTS, BEGIN, lambda *_: Ran(0, ""))
    with pytest.raises(RunFault, match="node-a: the step ended with 0 and the node did not say why"):
        steps.setup()


def test_a_command_that_leaves_the_shell_does_not_hide_the_others(tmp_path: Path) -> None:
    with pytest.raises(RunFault, match="command 1 ended with 0: exit 0"):
        _steps(tmp_path, commands=("exit 0", "false")).setup()
    assert _steps(tmp_path, commands=("true", "exit 0")).setup() == []


def test_a_stop_ends_the_commands_but_not_the_teardown_and_is_no_fault(tmp_path: Path) -> None:
    wanted = HostCommands(commands=("sleep 60",), teardown=(f"sleep 0.3; touch {tmp_path}/torn-down",))
    steps = HostSteps(wanted, ("node-a",), ("env",), _on("node-a", tmp_path), lambda: True)
    started = time.monotonic()
    assert (steps.setup(), steps.teardown()) == ([], [])
    assert (tmp_path / "torn-down").exists()
    assert time.monotonic() - started < 25


def test_no_text_of_a_command_is_part_of_ours(tmp_path: Path) -> None:
    hostile = ("echo ok'; touch pwned; '", 'echo "$(echo fine)"', "__FAILED__=1", "echo 'a\nb'")
    words = step(BEGIN, hostile, go_on=False)
    assert words[:4] == (*BEGIN, "bash", "-c")
    assert words[6:] == hostile
    assert not any(text in words[4] for text in hostile if text != "__FAILED__=1")
    with pytest.raises(RunFault, match="command 1 ended with"):
        _steps(tmp_path, commands=("echo 'unfinished",)).setup()


def test_nothing_to_do_starts_nothing() -> None:
    def refuse(argv: Sequence[str], seconds: float, stopped: Stopped) -> Ran:
        raise AssertionError(argv)

    steps = HostSteps(HostCommands(), HOSTS, BEGIN, refuse)
    assert (steps.setup(), steps.teardown()) == ([], [])


def test_the_nodes_that_are_meant() -> None:
    roles = {"agg": {"nodes": 2, "workers": 2, "gpus": 8}}
    plan = plan_of(recipe_block("mock", "mock", roles))
    assert host_commands(HostSetup(commands=("x",)), plan).nodes == ("n0", "n1")
    assert host_commands(HostSetup(commands=("x",), nodes="workers"), plan).nodes == ("n0", "n1")
    assert host_commands(HostSetup(), plan) == HostCommands()
    assert host_commands(None, plan) == HostCommands()


def test_the_step_has_one_task_on_each_node_with_its_devices_and_names_only() -> None:
    job = Job("42", {"n0": "node-a", "n1": "node-b"}, 64, StepSettings(gpus=("--gres=gpu:8",)))
    words = job.over("inferlane-host-setup", ("n0", "n1"), ("PATH", "HOME"))
    assert {"--nodes=2", "--ntasks=2", "--nodelist=node-a,node-b", "--gres=gpu:8", "--overlap"} <= set(words)
    assert words[-1] == "--export=HOME,PATH"
    assert not [word for word in words if word.startswith("--container")]
