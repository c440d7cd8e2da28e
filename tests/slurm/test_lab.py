"""The lab itself: what the other tests stand on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inferlane.testing.slurm_lab import USERS, Lab, Site, missing, running

pytestmark = pytest.mark.slurm


def test_nodes_have_names_addresses_and_a_second_interface_of_their_own(lab: Lab) -> None:
    for node in lab.nodes:
        shown = lab.on(node, ["ip", "-4", "-o", "address"]).stdout
        assert f"eth0    inet {lab.addresses[node]}/24" in shown
        assert f"fab0    inet {lab.fabric[node]}/24" in shown
        assert lab.on(node, ["hostname"]).stdout == f"{node}\n"


def test_nodes_reach_each_other_on_both_interfaces_and_the_head_only_one(lab: Lab) -> None:
    first, second = lab.nodes[:2]
    reach = "import socket, sys; socket.create_connection((sys.argv[1], 6818), 3)"
    for address in (lab.addresses[second], lab.fabric[second]):
        assert lab.on(first, [sys.executable, "-c", reach, address]).returncode == 0
    assert lab.run([sys.executable, "-c", reach, lab.addresses[second]]).returncode == 0
    assert lab.run([sys.executable, "-c", reach, lab.fabric[second]]).returncode == 1


@pytest.mark.parametrize("user", USERS)
def test_an_ordinary_user_runs_this_python_and_a_job_on_every_node(lab: Lab, user: str) -> None:
    code = "import getpass, os, socket, inferlane; print(getpass.getuser(), os.getuid(), socket.gethostname())"
    done = lab.run(["srun", "-N4", "-n4", sys.executable, "-c", code], user=user)
    assert done.returncode == 0, done.stderr
    uid = str(20001 + USERS.index(user))
    assert sorted(map(str.split, done.stdout.splitlines())) == [[user, uid, node] for node in lab.nodes]
    assert lab.left() == []


def test_homes_are_closed_to_other_users(lab: Lab) -> None:
    home = str(lab.folder / "home" / "ada")
    assert lab.run(["ls", home], user="ada").returncode == 0
    assert lab.run(["ls", home], user="bob").returncode != 0


def test_what_runs_and_what_lies_about_on_a_node_is_seen(lab: Lab) -> None:
    step = lab.start(["srun", "-w", lab.nodes[1], "-n1", "sh", "-c", "echo > /dev/shm/mark; exec sleep 987"])
    try:
        while not any("sleep 987" in line for line in lab.processes(lab.nodes[1])):
            assert step.poll() is None
        assert not any("sleep 987" in line for node in (lab.nodes[0], *lab.nodes[2:]) for line in lab.processes(node))
        assert any("srun" in line for line in lab.clients())
        assert lab.left(0) != []
        step.send_signal(signal.SIGTERM)
        step.communicate(timeout=20)
        assert lab.left(3) == [f"{lab.nodes[1]}: /dev/shm/mark"]
    finally:
        step.kill()
        lab.on(lab.nodes[1], ["rm", "-f", "/dev/shm/mark"])
    assert lab.left() == []


def test_a_site_with_gres_only_refuses_gpus_per_node(labs: Callable[[Site], Lab]) -> None:
    lab = labs(Site(gres_only=True))
    assert lab.run(["srun", "--gpus-per-node=8", "true"]).returncode != 0
    assert lab.run(["srun", "--gres=gpu:8", "true"]).returncode == 0


def test_a_site_without_gres_refuses_both(labs: Callable[[Site], Lab]) -> None:
    lab = labs(Site(gpus=0))
    for word in ("--gpus-per-node=8", "--gres=gpu:8"):
        assert "Invalid generic resource" in lab.run(["srun", word, "true"]).stderr
    assert lab.run(["srun", "true"]).returncode == 0


def test_a_lab_that_is_stopped_while_steps_run_leaves_nothing(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    before = Path("/proc/self/mountinfo").read_text()
    here = Path(__file__).parent
    with running(here / "lab", here.parent.parent, Site(nodes=1, fabric=False)) as lab:
        step = lab.start(["srun", "sleep", "986"])
        while not lab.processes("node-01"):
            assert step.poll() is None
    step.communicate(timeout=10)
    assert not lab.folder.parent.exists()
    assert Path("/proc/self/mountinfo").read_text() == before
    assert not [entry for entry in Path("/proc").glob("[0-9]*") if _says(entry, b"986")]


def _says(entry: Path, word: bytes) -> bool:
    try:
        return word in (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
