"""A run's folder: its name, what is in it, and how to find it again."""

from __future__ import annotations

import datetime
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inferlane.errors import RunFault, UsageFault
from inferlane.running.folder.files import write_whole
from inferlane.running.leftovers.sweep import OWNER_FILE, owner_record
from inferlane.running.processes import proc
from inferlane.values import Plan

_ID = re.compile(r".+-(\d{8}T\d{6}Z)-[0-9a-f]{4}")
_SAFE_PATH = re.compile(r"[A-Za-z0-9 /._~@+,:=-]+")
FOLDERS = ("logs", "files", "results", "twins")


@dataclass(frozen=True)
class RunDirectory:
    """The folder of one run. ``path`` is absolute."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def files(self) -> Path:
        return self.path / "files"

    @property
    def results(self) -> Path:
        return self.path / "results"

    @property
    def twins(self) -> Path:
        return self.path / "twins"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def verdict(self) -> Path:
        return self.path / "run.json"

    def log(self, process: str) -> Path:
        """The log of one process; ``job``: what a job says itself, unless a process has that name."""
        if process == "job" and not (self.logs / "job.log").exists():
            return self.path / "job.log"
        return self.logs / f"{process}.log"

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run, readable by its owner only."""
        target = self.path / name
        _private(target.parent, self.path)
        write_whole(target, content)


def new_id(name: str, now: datetime.datetime, digits: str) -> str:
    """``<name>-<UTC time>-<4 hex>``; what a path should not hold becomes ``-``."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run"
    return f"{safe[:80]}-{now.astimezone(datetime.UTC):%Y%m%dT%H%M%SZ}-{digits}"


def create(outputs: Path, name: str) -> RunDirectory:
    """Make a new run folder below ``outputs``. Raises ``RunFault`` if that cannot be written or has odd characters."""
    outputs = outputs.expanduser().absolute()
    if not _SAFE_PATH.fullmatch(str(outputs)):
        allowed = "letters, digits, spaces and /._~@+,:=-"
        raise RunFault(f"{outputs}: the path of an output folder may hold {allowed} only; choose one with -o")
    for _ in range(16):
        path = outputs / new_id(name, datetime.datetime.now(datetime.UTC), secrets.token_hex(2))
        try:
            outputs.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
            for folder in FOLDERS:
                (path / folder).mkdir(mode=0o700)
        except FileExistsError:
            if not outputs.is_dir():
                raise RunFault(f"{outputs} is not a folder; choose another with -o") from None
            continue
        except OSError as error:
            raise RunFault(f"cannot write to {outputs}: {error.strerror}; choose another folder with -o") from error
        return RunDirectory(path)
    raise RunFault(f"{outputs}: no free run name")


def record_owner(run: RunDirectory, guardian: int, scratch: Path, name: str = "", began: str = "") -> None:
    """Record which guardian owns the run, and that this process supervises it, in its folder and in the scratch folder;
    with what ``run.json`` needs if the supervisor cannot write it.
    """
    supervisor = {"pid": os.getpid(), "start": proc.start_time(os.getpid())}
    of_run = {"run": run.id, "scratch": str(scratch), "name": name, "began": began}
    record = {**owner_record(guardian), "supervisor": supervisor, **of_run}
    content = json.dumps(record).encode() + b"\n"
    run.write(OWNER_FILE, content)
    try:
        write_whole(scratch / OWNER_FILE, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunFault(f"cannot write to {scratch}: {reason}; make room in {scratch.parent}") from error


def write_files(run: RunDirectory, plan: Plan) -> None:
    """Write each process's own files, for their owner only."""
    for process in plan.processes:
        for file in process.files:
            target = run.files / process.name / file.name
            if not target.resolve().is_relative_to(run.files.resolve()):
                raise RunFault(f"{process.name}: the file {file.name!r} is outside of the run folder")
            _private(target.parent, run.path)
            write_whole(target, file.text.encode())


def _private(folder: Path, top: Path) -> None:
    """Make ``folder`` and what is missing above it, below ``top``, for their owner only whatever the umask is."""
    for missing in reversed([path for path in (folder, *folder.parents) if path.is_relative_to(top)]):
        missing.mkdir(mode=0o700, exist_ok=True)


def write_orders(run: RunDirectory, orders: Mapping[str, bytes]) -> None:
    """Write what each twin is told."""
    for name, content in orders.items():
        write_whole(run.twins / f"{name}.json", content)


def all_runs(outputs: Path) -> list[RunDirectory]:
    """Runs below ``outputs``, oldest first."""
    if not outputs.is_dir():
        return []
    found = [(match[1], entry) for entry in outputs.iterdir() if (match := _ID.fullmatch(entry.name))]
    return [
        RunDirectory(entry.absolute())
        for _, entry in sorted(found, key=lambda item: (item[0], item[1].name))
        if _is_run(entry)
    ]


def _is_run(folder: Path) -> bool:
    """Whether something keeps it or kept it, on this machine or as a job."""
    kept = (OWNER_FILE, "run.json", "job.json")
    return any(os.path.exists(folder / name) for name in kept)  # noqa: PTH110 - Path.exists raises in others' folders


def exact(reference: str, outputs: Path) -> RunDirectory | None:
    """The run whose path or whole id this is."""
    for path in (Path(reference).expanduser(), outputs / reference):
        if _is_run(path):
            return RunDirectory(path.absolute())
    return None


def find(reference: str | None, outputs: Path) -> RunDirectory:
    """A run by path, by id, by the unique start of an id, or the latest one. Raises ``UsageFault``."""
    if reference is None:
        runs = all_runs(outputs)
        if not runs:
            raise UsageFault(f"no runs in {outputs}; name a run's folder, or its parent with -o")
        return runs[-1]
    named = exact(reference, outputs)
    if named is not None:
        return named
    matching = [run for run in all_runs(outputs) if run.id.startswith(reference)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageFault(f"{reference} may be any of {', '.join(run.id for run in matching)}; name one")
    raise UsageFault(f"no run {reference} in {outputs}; `inferlane status` lists the runs there (another folder: -o)")
