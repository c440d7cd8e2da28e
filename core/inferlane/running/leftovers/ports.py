"""Who still listens on the addresses of a run after its end."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

from inferlane.running.leftovers.addresses import Listener, listeners
from inferlane.running.processes import proc

_SETTLE_S = 1.0


def still_held(addresses: Collection[str], seconds: float = _SETTLE_S) -> list[str]:
    """``address:port, held by PID COMMAND`` for each listener on exactly these addresses, once ``seconds`` have passed:
    the kernel closes the sockets of a killed process a moment later.
    """
    deadline = time.monotonic() + seconds
    while found := [item for item in listeners() if item.address in addresses]:
        if time.monotonic() >= deadline:
            return [f"port {item.address}:{item.port}, held by {_holder(item)}" for item in found]
        time.sleep(0.02)
    return []


def _holder(listener: Listener) -> str:
    wanted = f"socket:[{listener.inode}]"
    for pid in proc.pids():
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
        if any(_link(pid, name) == wanted for name in names):
            return f"{pid} {proc.command_of(pid)}"
    return "a process that cannot be seen"


def _link(pid: int, name: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/fd/{name}").readlink())
    except OSError:
        return ""
