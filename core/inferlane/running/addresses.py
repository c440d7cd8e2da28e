"""Addresses of a local run: loopback slots that no other run uses, and the ports that are taken on them."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from inferlane.errors import RunFault
from inferlane.running.sweep import SCRATCH_PREFIX, scratch_base
from inferlane.values import Plan

_FIRST_A, _LAST_A = 64, 126
_PER_SLOT = 254
_LISTEN = "0A"


class Listener(NamedTuple):
    """A listening TCP socket of this machine."""

    address: str
    port: int


def listeners(tables: Iterable[Path] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> tuple[Listener, ...]:
    """All listening TCP sockets; addresses as text, IPv4 ones mapped into IPv6 as IPv4."""
    found: list[Listener] = []
    for table in tables:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN:
                raw, _, port = fields[1].partition(":")
                found.append(Listener(_address(raw), int(port, 16)))
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


def ports_in_use(address: str, found: Sequence[Listener] | None = None) -> set[int]:
    """Ports that cannot be bound on ``address``."""
    return set(holders(address, found))


@dataclass(frozen=True)
class Slots:
    """Loopback networks held by this run; ``locks`` are open files, released when the process ends."""

    networks: tuple[tuple[int, int], ...]
    locks: tuple[int, ...]

    def address(self, index: int) -> str:
        """The address of node ``index``: 127.A.B.(k+1)."""
        first, second = self.networks[index // _PER_SLOT]
        return f"127.{first}.{second}.{index % _PER_SLOT + 1}"

    def release(self) -> None:
        """Give the networks back."""
        for lock in self.locks:
            os.close(lock)


def lock_folder(environ: Mapping[str, str]) -> Path:
    """A folder that only this user can enter. Raises ``RunFault`` if somebody else made it."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        folder = Path(runtime) / "inferlane"
    else:
        folder = Path(tempfile.gettempdir()) / f"inferlane-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RunFault(f"{folder} must be a folder of yours with mode 0700; remove it, or set XDG_RUNTIME_DIR")
    return folder


def claim(nodes: int, environ: Mapping[str, str]) -> Slots:
    """Take as many free 127.A.B.0/24 networks as ``nodes`` need (254 nodes each). Raises ``RunFault``: none is free."""
    folder = lock_folder(environ)
    busy = {tuple(map(int, item.address.split(".")[1:3])) for item in listeners() if item.address.startswith("127.")}
    wanted = max(1, -(-nodes // _PER_SLOT))
    networks: list[tuple[int, int]] = []
    locks: list[int] = []
    total = (_LAST_A - _FIRST_A + 1) * 256
    start = os.getuid() * 97 % total  # two users seldom try the same ones first
    for step in range(total):
        first, second = divmod((start + step) % total, 256)
        network = (first + _FIRST_A, second)
        lock = None if network in busy else _locked(folder / f"slot-{network[0]}-{network[1]}")
        if lock is not None:
            networks.append(network)
            locks.append(lock)
        if len(networks) == wanted:
            return Slots(tuple(networks), tuple(locks))
    raise RunFault(f"no free loopback network; {folder} holds one locked file per run of yours")


def _locked(path: Path) -> int | None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


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
