"""A real Slurm cluster on this machine for tests: start it, run on its head and nodes, break it, and stop it whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inferlane.running.processes import proc

USERS = ("ada", "bob")
"""Ordinary users of every lab, with homes on the shared file system."""
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "ip", "nsenter", "setpriv", "unshare", "gcc")
_NEEDS = "slurm-wlm munge iproute2 gcc libc6-dev libslurm-dev"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HEAD = "head"
_FIND = ("find", "/dev/shm", "/tmp", "-xdev", "-mindepth", "1")  # noqa: S108 - the places where runs leave things
_CALL_S = 60.0


@dataclass(frozen=True)
class Site:
    """What the site is like. ``gpus``: of each node, 0: the scheduler knows none. ``gres_only``: ``--gpus*`` options
    are refused. ``fabric``: nodes have a second interface ``fab0``. ``accounting``: sacct answers. ``lost_s``: seconds
    until the scheduler calls a silent node lost. ``kill_wait_s``: between its TERM and its KILL.
    """

    nodes: int = 4
    gpus: int = 8
    gres_only: bool = False
    fabric: bool = True
    accounting: bool = False
    containers: bool = True
    lost_s: int = 10
    kill_wait_s: int = 5
    extra: str = ""

    def variables(self) -> dict[str, str]:
        """For up.sh."""
        wanted = {
            "NODES": self.nodes,
            "GPUS": self.gpus,
            "GRES_ONLY": int(self.gres_only),
            "FABRIC": "10.78.0" if self.fabric else "",
            "DBD": int(self.accounting),
            "PYXIS": int(self.containers),
            "SLURMD_TIMEOUT": self.lost_s,
            "MESSAGE_TIMEOUT": max(self.lost_s // 2, 3),
            "KILLWAIT": self.kill_wait_s,
            "EXTRA_CONF": self.extra,
        }
        return {f"SLURMLAB_{name}": str(value) for name, value in wanted.items()}


def missing() -> str | None:
    """Why no lab can be started here."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "needs root on Linux"
    absent = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"{', '.join(absent)} missing: apt-get install {_NEEDS}" if absent else None


class Lab:
    """``folder``: seen by all nodes and users. ``env``: PATH with the cluster's commands first. ``addresses``: those
    that the scheduler uses, on eth0; ``fabric``: those on fab0.
    """

    def __init__(self, scripts: Path, base: Path, site: Site, checkout: Path) -> None:
        self._scripts = scripts
        self._base = base
        self.site = site
        self.folder = base / "shared"
        self.nodes = tuple(f"node-{number:02}" for number in range(1, site.nodes + 1))
        self.addresses = {name: f"10.77.0.{10 + number}" for number, name in enumerate(self.nodes, 1)}
        self.fabric = {name: f"10.78.0.{10 + number}" for number, name in enumerate(self.nodes, 1) if site.fabric}
        self._namespaces: set[str] = set()
        self._seen = tuple(dict.fromkeys((str(checkout), sys.prefix, sys.base_prefix)))
        programs = f"{base / 'bin'}:{Path(sys.executable).parent}:{_PATH}"
        self.env = {"PATH": programs, "HOME": "/root", "USER": "root", "LANG": "C.UTF-8"}

    def up(self) -> None:
        """Start. Raises ``RuntimeError`` with what the script said."""
        env = {
            **os.environ,
            "PATH": _PATH,
            "SLURMLAB_DIR": str(self._base),
            "SLURMLAB_SHARE": " ".join(self._seen),
            "SLURMLAB_IMAGE_DIRS": " ".join(self._seen),
            "SLURMLAB_USERS": " ".join(USERS),
            "SLURMLAB_OWNER": str(os.getpid()),
            **self.site.variables(),
        }
        done = _call([str(self._scripts / "up.sh")], env, None, 90)
        if done.returncode:
            raise RuntimeError(f"the lab did not start: {done.stderr}{done.stdout}")
        self._namespaces = {self._namespace(name, "net") for name in (_HEAD, *self.nodes)}

    def down(self) -> list[str]:
        """Stop, and tell what is left some seconds later: nothing should be. The kernel may still be at its work."""
        deadline = time.monotonic() + 10
        while True:
            done = _call([str(self._scripts / "down.sh")], {"PATH": _PATH, "SLURMLAB_DIR": str(self._base)}, None, 60)
            left = [done.stderr.strip()] if done.stderr.strip() else []
            left += self._remains()
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        shutil.rmtree(self._base, ignore_errors=bool(left))
        return left

    def _remains(self) -> list[str]:
        left = [f"process {pid}: {_command(pid)}" for pid in proc.pids() if _link(pid, "net") in self._namespaces]
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        left += [f"mount {line}" for line in mounts if str(self._base) in line]
        group = Path("/sys/fs/cgroup/freezer") / f"lab{str(self._base).replace('/', '_')}"
        left += [f"control group {group}"] if group.exists() else []
        return left

    def run(
        self,
        argv: Sequence[str],
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = _CALL_S,
    ) -> subprocess.CompletedProcess[str]:
        """A command on the head (the login node) to its end. Nothing of this process's environment goes along."""
        return _call(self._on_head(argv, user, cwd), self._environ(user, env), None, timeout)

    def start(
        self,
        argv: Sequence[str],
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.Popen[str]:
        """The same without waiting; signals to it reach the command itself."""
        return subprocess.Popen(
            self._on_head(argv, user, cwd),
            env=self._environ(user, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def on(self, node: str, argv: Sequence[str], timeout: float = _CALL_S) -> subprocess.CompletedProcess[str]:
        """A command on a node, as root."""
        enter = ("nsenter", "-t", str(self._pid(node)), "-n", "-u", "-m", "-p", "--")
        return _call([*enter, *argv], dict(self.env), None, timeout)

    def fault(self, name: str, node: str = _HEAD) -> None:
        """power-off, power-on, cable-out, cable-in, slurmd-kill, slurmd-start of a node; ctld-kill, ctld-start.

        Raises ``RuntimeError``.
        """
        done = _call([str(self._base / "bin/lab-fault"), name, node], dict(self.env), None, _CALL_S)
        if done.returncode:
            raise RuntimeError(f"fault {name} of {node}: {done.stderr}")

    def processes(self, node: str) -> tuple[str, ...]:
        """Commands that run on a node, besides the node's own two. A node without power has none."""
        try:
            first, space = self._pid(node), self._namespace(node, "pid")
        except OSError:
            return ()
        found = []
        for pid in proc.pids():
            about = proc.stat(pid)
            if about is None or pid == first or _link(pid, "pid") != space or about.state in "ZX":
                continue
            command = _command(pid)
            own = about.parent == first and command.split(" ")[0].rpartition("/")[2] in ("slurmd", "sleep")
            found += [] if own or not command else [f"{pid} {command}"]
        return tuple(found)

    def clients(self) -> tuple[str, ...]:
        """Commands that were started on the head from outside and still run."""
        net, pids = self._namespace(_HEAD, "net"), self._namespace(_HEAD, "pid")
        about = proc.stat(self._pid(_HEAD))
        found = [pid for pid in proc.pids() if _link(pid, "net") == net and _link(pid, "pid") != pids]
        return tuple(f"{pid} {_command(pid)}" for pid in found if _command(pid) and about and pid != about.parent)

    def left(self, seconds: float = 15.0) -> list[str]:
        """What still runs, is queued, or lies in a node's /tmp and /dev/shm after at most ``seconds``."""
        deadline = time.monotonic() + seconds
        while (found := self._left()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def _left(self) -> list[str]:
        found = [f"client {line}" for line in self.clients()]
        found += [f"{node}: {line}" for node in self.nodes for line in self.processes(node)]
        if found:
            return found
        jobs = self.run(["squeue", "-h", "-o", "%i %j %T"])
        found = [f"job {line}" for line in jobs.stdout.splitlines()] + jobs.stderr.splitlines()
        for node in self.nodes:
            listed = self.on(node, _FIND)
            found += [f"{node}: {line}" for line in listed.stdout.splitlines() if not self._ours(line)]
        return found

    def _ours(self, line: str) -> bool:
        """A folder that leads to a shared one."""
        return any(f"{seen}/".startswith(f"{line}/") for seen in (*self._seen, str(self._base)))

    def ready(self, seconds: float = 60.0) -> None:
        """Bring every node back to idle after a fault. Raises ``RuntimeError`` that shows what they are instead."""
        deadline = time.monotonic() + seconds
        while True:
            rows = self.run(["sinfo", "-h", "-N", "-o", "%N %t"]).stdout.split("\n")
            bad = [row for row in rows if row and row.split()[1] != "idle"]
            if len([row for row in rows if row]) == len(self.nodes) and not bad:
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"nodes are not ready: {rows}")
            for row in bad:
                name, state = row.split()
                if state.startswith(("down", "drain")) and not state.endswith("*"):
                    self.run(["scontrol", "update", f"nodename={name}", "state=resume"])
            time.sleep(0.3)

    def _pid(self, name: str) -> int:
        return int((self._base / "run" / f"{name}.pid").read_text().split()[0])

    def _namespace(self, name: str, kind: str) -> str:
        return str(Path(f"/proc/{self._pid(name)}/ns/{kind}").readlink())

    def _environ(self, user: str | None, env: Mapping[str, str] | None) -> dict[str, str]:
        who = {"USER": user, "LOGNAME": user, "HOME": str(self.folder / "home" / user)} if user else {}
        return {**self.env, **who, **(env or {})}

    def _on_head(self, argv: Sequence[str], user: str | None, cwd: Path | None) -> list[str]:
        enter = ["nsenter", "-t", str(self._pid(_HEAD)), "-n", "-u", "-m", "--"]
        become = [f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        place = cwd or (self.folder / "home" / user if user else self.folder)
        return [*enter, "setpriv", *become, "env", "-C", str(place), *argv]


def _call(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None, seconds: float
) -> subprocess.CompletedProcess[str]:
    """With output in files: what a command leaves in the background does not hold the caller."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        done = subprocess.run(
            argv, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=seconds, check=False
        )
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(argv), done.returncode, out.read(), err.read())


def _command(pid: int) -> str:
    return proc.command_of(pid)


def _link(pid: int, kind: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""


@contextlib.contextmanager
def running(scripts: Path, checkout: Path, site: Site) -> Iterator[Lab]:
    """A lab while this lasts. Raises ``RuntimeError`` if it does not start, or does not end whole."""
    base = Path(tempfile.mkdtemp(prefix="slurmlab-", dir="/var/tmp"))
    lab = Lab(scripts, base, site, checkout)
    try:
        lab.up()
        yield lab
    finally:
        if left := lab.down():
            raise RuntimeError("the lab has left: " + "; ".join(left))
