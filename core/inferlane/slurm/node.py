"""What is done on each node by a step with one task there; every answer is one JSON line that names the node.

``python -m inferlane.slurm.node report PEER``: addresses, taken ports, memory. ``prepare SCRATCH FOLDER...``: make
private folders. ``sweep SCRATCH RUN``: end what carries the run's id, and remove the scratch folder. Imports nothing
outside of the standard library.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SIOCGIFADDR = 0x8915
_LISTEN = "0A"


def interfaces() -> dict[str, list[str]]:
    """Interface to its addresses, IPv4 first; without those of the link only."""
    found: dict[str, list[str]] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue
            found.setdefault(name, []).append(socket.inet_ntoa(answer[20:24]))
    for line in _lines("/proc/net/if_inet6"):
        fields = line.split()
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(fields[0]))
        if not address.startswith("fe80"):
            found.setdefault(fields[5], []).append(address)
    return found


def route_address(peer: str) -> str | None:
    """The address from which this node reaches ``peer``."""
    try:
        family, _, _, _, target = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def listening() -> list[int]:
    """Ports that somebody listens on, on whatever address."""
    rows = [line.split() for table in ("tcp", "tcp6") for line in _lines(f"/proc/net/{table}")[1:]]
    return sorted({int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTEN})


def memory_bytes() -> int | None:
    """Bytes of memory of the node."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def report(peer: str) -> dict[str, Any]:
    """What a plan may depend on."""
    return {
        "interfaces": interfaces(),
        "route": route_address(peer),
        "listening": listening(),
        "memory_bytes": memory_bytes(),
    }


def prepare(scratch: str, *folders: str) -> dict[str, Any]:
    """Make the folders of this node's processes; they hold sockets, so nobody else may look."""
    for folder in (scratch, *folders):
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    return {}


def sweep(scratch: str, run: str) -> dict[str, Any]:
    """KILL what carries the run's id, in rounds, until nothing does or 5 s have passed."""
    killed: dict[int, str] = {}
    deadline = time.monotonic() + 5.0
    while (found := _carriers(run)) and time.monotonic() < deadline:
        for pid in found:
            killed.setdefault(pid, _command(pid))
            _kill(pid)
        time.sleep(0.05)
    folder = Path(scratch)
    if folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid():
        shutil.rmtree(folder, ignore_errors=True)
    left = [f"{pid} {_command(pid)}" for pid in _carriers(run)]
    return {"killed": [f"{pid} {command}" for pid, command in killed.items()], "left": left}


def _carriers(run: str) -> list[int]:
    word = f"INFERLANE_RUN_ID={run}".encode()
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if word in _environ(entry) and _lives(entry)]


def _environ(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _lives(entry: Path) -> bool:
    try:
        state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return int(entry.name) != os.getpid() and state not in "ZX"


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()[:120]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


WORK: dict[str, Callable[..., dict[str, Any]]] = {"report": report, "prepare": prepare, "sweep": sweep}

if __name__ == "__main__":
    name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    print(json.dumps({"node": name, **WORK[sys.argv[1]](*sys.argv[2:])}), flush=True)
