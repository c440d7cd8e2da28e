"""Loopback slots, ports in use, and the table of tokens."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from inferlane.running.leftovers.addresses import claim, holders, known_tokens, listeners


def test_two_runs_never_share_a_network() -> None:
    first, second = claim(1), claim(1)
    try:
        assert first.networks != second.networks
    finally:
        first.release()
        second.release()


def test_runs_with_other_folders_for_temporary_files_do_not_share_one_either(tmp_path: Path) -> None:
    code = "from inferlane.running.leftovers.addresses import claim; print(claim(1).networks)"
    mine = claim(1)
    try:
        env = {**os.environ, "TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() != str(mine.networks)
    finally:
        mine.release()


def test_a_network_is_free_again_when_its_run_has_been_killed() -> None:
    code = "from inferlane.running.leftovers.addresses import claim; s = claim(1); print(*s.networks[0], flush=True)"
    code += "; input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    first, second = child.stdout.readline().split()
    name = f"\0inferlane-slot-{first}-{second}"
    with socket.socket(socket.AF_UNIX) as taken, pytest.raises(OSError, match="in use"):
        taken.bind(name)
    child.kill()
    child.communicate()
    with socket.socket(socket.AF_UNIX) as free:
        free.bind(name)


def test_node_addresses_go_on_in_a_second_network_after_254() -> None:
    slots = claim(512)
    slots.release()
    found = {slots.address(index) for index in range(512)}
    assert len(found) == 512
    assert all(address.startswith("127.") and not address.endswith((".0", ".255")) for address in found)


def test_a_network_on_which_somebody_listens_is_left_alone() -> None:
    probe = claim(1)
    probe.release()
    with socket.socket() as held:
        held.bind((probe.address(7), 0))
        held.listen()
        other = claim(1)
        other.release()
    assert other.networks != probe.networks


def test_a_port_counts_on_its_own_address_and_a_wildcard_everywhere() -> None:
    with socket.socket() as one, socket.socket() as every:
        one.bind(("127.99.1.1", 0))
        one.listen()
        every.bind(("", 0))
        every.listen()
        here, there = holders("127.99.1.1"), holders("127.99.1.2")
        assert {one.getsockname()[1], every.getsockname()[1]} <= set(here)
        assert one.getsockname()[1] not in there
        assert holders("127.99.1.2")[every.getsockname()[1]] == "0.0.0.0"


def test_kernel_tables_are_read_in_both_families(tmp_path: Path) -> None:
    four, six = tmp_path / "tcp", tmp_path / "tcp6"
    four.write_text("head\n 0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 7\n 1: 0100007F:1F91 0100007F:0001 01 0 0\n")
    mapped, every = "0000000000000000FFFF00000100007F", "0" * 32
    six.write_text(f"head\n 0: {mapped}:0050 0:0 0A 0 0 0 0 0 8\n 1: {every}:0051 0:0 0A 0 0 0 0 0 9\n")
    assert listeners((four, six)) == (("127.0.0.1", 8080, 7), ("127.0.0.1", 80, 8), ("::", 81, 9))


def test_the_table_holds_addresses_folders_and_device_words() -> None:
    table = known_tokens(
        {"n0": "127.64.0.1", "n1": "127.64.0.2"}, ("GPU-a", "MIG-b"), Path("/dev/shm/il-x"), {"id": "r"}
    )
    assert table["n1.host"] == table["n1.bind"] == table["n1.ip"] == "127.64.0.2"
    assert (table["n1.name"], table["n0.gpu1"], table["run.id"]) == ("n1", "MIG-b", "r")
    assert table["n0.shm"] == "/dev/shm/il-x/n0"
