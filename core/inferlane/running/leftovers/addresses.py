"""Addresses of a local run: loopback slots that no other run uses, and the ports that are taken on them."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from inferlane.errors import RunFault
from inferlane.running.leftovers.sweep import SCRATCH_PREFIX, scratch_base
from inferlane.values import Plan

_FIRST_A, _LAST_A = 64, 126
_PER_SLOT = 254
_LISTEN = "0A"


class Listener(NamedTuple):
    """A listening TCP socket of this machine."""

    address: str
    port: int
    inode: int = 0


def listeners(tables: Iterable[Path] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> tuple[Listener, ...]:
    """All listening TCP sockets; addresses as text, IPv4 ones mapped into IPv6 as IPv4."""
    found: list[Listener] = []
    for table in tables:
        try:
            lines = table.read_text().splitlines()[1:]
        except (FileNotFoundError, PermissionError):
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN:
                raw, _, port = fields[1].partition(":")
                found.append(Listener(_address(raw), int(port, 16), int(fields[9])))
    return tuple(found)


def _address(raw: str) -> str:
    words = [int(raw[at : at + 8], 16).to_bytes(4, "little") for at in range(0, len(raw), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def holders(address: str, found: Sequence[Listener] | None = None) -> dict[int, str]:
    """Ports that cannot be bound on ``address``, and the address of who holds each (a wildcard, or itself)."""
    everything = listeners() if found is None else found
    return {item.port: item.address for item in everything if item.address in (address, "0.0.0.0", "::")}  # noqa: S104


@dataclass(frozen=True)
class Slots:
    """Loopback networks held by this run; ``locks`` are sockets that end with the process."""

    networks: tuple[tuple[int, int], ...]
    locks: tuple[socket.socket, ...]

    def address(self, index: int) -> str:
        """The address of node ``index``: 127.A.B.(k+1)."""
        first, second = self.networks[index // _PER_SLOT]
        return f"127.{first}.{second}.{index % _PER_SLOT + 1}"

    def release(self) -> None:
        """Give the networks back."""
        for lock in self.locks:
            lock.close()


def claim(nodes: int) -> Slots:
    """Take as many free 127.A.B.0/24 networks as ``nodes`` need (254 nodes each). Raises ``RunFault``: none is free."""
    busy = {tuple(map(int, item.address.split(".")[1:3])) for item in listeners() if item.address.startswith("127.")}
    wanted = max(1, -(-nodes // _PER_SLOT))
    networks: list[tuple[int, int]] = []
    locks: list[socket.socket] = []
    total = (_LAST_A - _FIRST_A + 1) * 256
    start = os.getuid() * 97 % total  # two users seldom try the same ones first
    for step in range(total):
        first, second = divmod((start + step) % total, 256)
        network = (first + _FIRST_A, second)
        held = None if network in busy else _locked(network)
        if held is not None:
            networks.append(network)
            locks.append(held)
        if len(networks) == wanted:
            return Slots(tuple(networks), tuple(locks))
    for lock in locks:
        lock.close()
    raise RunFault(f"no {wanted} free loopback network(s) between 127.{_FIRST_A}.0.0 and 127.{_LAST_A}.255.0")


def _locked(network: tuple[int, int]) -> socket.socket | None:
    """An abstract socket whose name is the network: it lives where the addresses do, in the network namespace, whoever
    asks and wherever their temporary files are. The kernel frees it when the run ends, however it ends.
    """
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(f"\0inferlane-slot-{network[0]}-{network[1]}")
    except OSError:
        lock.close()
        return None
    return lock


def make_scratch() -> Path:
    """A private folder with a short path, for sockets and shared memory. The run removes it."""
    return Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=scratch_base()))


def make_dirs(plan: Plan, scratch: Path) -> None:
    """Make each node's folder and every process's own folders, all below ``scratch``."""
    for node in plan.nodes:
        (scratch / node.name).mkdir(mode=0o700, exist_ok=True)
    for process in plan.processes:
        for folder in process.dirs.values():
            if not Path(folder).is_relative_to(scratch):
                raise RunFault(f"{process.name}: its folder {folder} is outside of {scratch}")
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)


def remove_dirs(scratch: Path) -> None:
    """Remove the scratch folder and all in it."""
    shutil.rmtree(scratch, ignore_errors=True)


def node_addresses(plan: Plan, slots: Slots) -> dict[str, str]:
    """Node name to address, for every node the plan's tokens name."""
    return {node.name: slots.address(index) for index, node in enumerate(plan.nodes)}


def known_tokens(
    addresses: Mapping[str, str], devices: Sequence[str], scratch: Path, run: Mapping[str, str]
) -> dict[str, str]:
    """The table for ``bind``: addresses and folders per node, device words, and ``run.*`` (given without prefix)."""
    table = {f"run.{name}": value for name, value in run.items()}
    for node, address in addresses.items():
        table[f"{node}.ip"] = table[f"{node}.bind"] = address
        table[f"{node}.host"] = f"[{address}]" if ":" in address else address
        table[f"{node}.name"] = socket.gethostname() if len(addresses) == 1 else node
        table[f"{node}.shm"] = str(scratch / node)
        table.update({f"{node}.gpu{position}": word for position, word in enumerate(devices)})
    return table
