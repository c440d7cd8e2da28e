"""One drill: start it, let happen what was composed, and compare what came of it with what may have."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.composition import BUILT_IN, Composition, Item, compose
from tests.soak.oracle import KILLS, LOST, STOPS, Outcome, allowed
from tests.soak.plans import build, real_router, tells_silence

from inferlane.running.cancelling import cancel_run
from inferlane.running.folder.directory import RunDirectory
from inferlane.running.leftovers.sweep import scratch_base
from inferlane.running.outcome import EXIT_CODES
from inferlane.running.processes import proc
from inferlane.testing.handmade import served, shell
from inferlane.testing.leftovers import watching
from inferlane.testing.records import record_faults
from inferlane.testing.runs import Running, begin

LONGEST_S = 60.0
_SIGNALS = {
    "killed": signal.SIGKILL,
    "dies_late": signal.SIGKILL,
    "spare_dies": signal.SIGKILL,
    "gives_up": signal.SIGUSR1,
    "leaves": signal.SIGUSR1,
    "falls_mute": signal.SIGUSR2,
    "stopped": signal.SIGSTOP,
    "wedged": signal.SIGSTOP,
}
_ORDER = ("start", "loading", "ready", "traffic", "teardown")
_TOLD = ("run.cause", "teardown.start", "run.end")


@dataclass
class Result:
    """What came of a drill. ``faults``: one line for each thing that must not be."""

    name: str
    made: Composition
    verdict: str = ""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    room: Path | None = None

    def line(self) -> str:
        word = "BAD" if self.faults else "ok "
        return f"{self.name:<12} {word} {self.seconds:5.1f} s  {self.verdict:<34} {self.made}"


def drill(name: str, base: Path) -> Result:
    """Run the drill of that name; its folder is kept only if something is wrong."""
    made = compose(name, real_router(), tells_silence())
    result = Result(name, made, room=base / name.replace("/", "-"))
    assert result.room is not None
    memory = scratch_base() / f"soak-{name.replace('/', '-')}-{os.getpid()}"
    began = time.monotonic()
    try:
        with watching() as left_by:
            run = begin(build(made, memory), result.room, made.grace)
            out = _happen(run, made, result)
            result.seconds = time.monotonic() - began
            _next_command(run, result)
            result.faults += left_by(run)
            for path in memory.parent.glob(f"{memory.name}-*"):
                result.faults.append(f"shared memory {path}")
                path.unlink()
    except Exception as error:  # a fault of the drill must not hide that of another
        result.faults.append(f"the drill itself failed: {error!r}")
    else:
        (result.room / "output.txt").write_text(out)
    if not result.faults:
        shutil.rmtree(result.room)
        result.room = None
    return result


def _happen(run: Running, made: Composition, result: Result) -> str:
    items = [item for item in (*made.faults, made.ending) if item is not None and item.kind not in BUILT_IN]
    waiting = sorted(items, key=lambda item: _ORDER.index(item.moment))
    in_time: list[Item] = []
    deadline = time.monotonic() + LONGEST_S
    while run.popen.poll() is None and waiting and time.monotonic() < deadline:
        if not _reached(run, waiting[0]):
            time.sleep(0.01)
            continue
        item = waiting.pop(0)
        told = any(run.has(event) for event in _TOLD)
        with contextlib.suppress(ProcessLookupError, ValueError, KeyError):  # it is over already
            if _inject(run, item) and not told:
                in_time.append(item)
    try:
        code, out = run.end(max(1.0, deadline - time.monotonic()))
    except Exception:
        result.faults.append(f"it did not end within {LONGEST_S:g} s")
        with contextlib.suppress(Exception):
            run.kill("guardian", "supervisor")
        code, out = run.end(20)
    _judge(run, made, in_time, code, out, result)
    return out


def _reached(run: Running, item: Item) -> bool:
    if item.moment == "start":
        return run.has_owner()
    if item.moment == "loading":
        return run.has("process.start", **({"process": item.target} if item.target else {})) is not None
    if item.moment == "traffic":
        return run.has("process.start", process="bench") is not None
    return run.has("run.ready" if item.moment == "ready" else "teardown.start") is not None


def _inject(run: Running, item: Item) -> bool:
    """Whether it was done."""
    if item.kind in KILLS:
        return run.kill(*KILLS[item.kind])
    if item.kind == "cancel":
        folder = RunDirectory(run.folder)
        threading.Thread(target=cancel_run, args=(folder, LONGEST_S), daemon=True).start()
        time.sleep(0.1)
        return True
    if item.kind in STOPS:
        for number in range(item.times):
            time.sleep(0.05 if number else 0)
            run.popen.send_signal(STOPS[item.kind])
        return True
    event = run.has("process.start", process=item.target)
    pid = int(event["pid"]) if event is not None else 0
    start = proc.start_time(pid) if pid else None
    if start is None or run.has("process.end", process=item.target):
        return False
    return proc.signal_verified(pid, start, _SIGNALS[item.kind])


def _judge(run: Running, made: Composition, in_time: list[Item], code: int, out: str, result: Result) -> None:
    expected = allowed(made, in_time, run.killed)
    folder = run.folder
    lost = {"guardian", "supervisor"} <= run.killed
    document = run.verdict() if (folder / "run.json").exists() else None
    found = LOST if document is None else _outcome(document)
    result.verdict = " ".join(
        str(part) for part in (found.verdict, found.kind, found.process, found.own) if part is not None
    )
    matching = [one for one in expected if (one.verdict, one.kind, one.process, one.own) == _key(found)]
    if not matching:
        result.faults.append(f"it ended as {found}, allowed are {sorted(map(str, expected))}")
    wanted = -signal.SIGKILL if "guardian" in run.killed else EXIT_CODES.get(found.verdict)  # type: ignore[call-overload]
    if code != wanted:
        result.faults.append(f"exit code {code}, not {wanted}")
    if document is not None:
        tail = "\n".join((document["cause"] or {}).get("log_tail", ()))
        said = [one.words for one in matching if one.words]
        result.faults += [f"{words!r} is not in the cause" for words in said if words not in tail]
        if "guardian" not in run.killed:
            result.faults += [f"{words!r} was not shown" for words in said if words not in out]
        result.faults += [] if document["clean"] else [f"not clean: {document['left']}"]
    result.faults += ["a traceback was shown"] if "Traceback (most" in out.split("last lines of", 1)[0] else []
    result.faults += record_faults(folder, "supervisor" in run.killed, lost)


def _key(found: Outcome) -> tuple[str, str | None, str | None, int | None]:
    return found.verdict, found.kind, found.process, found.own


def _outcome(document: dict[str, object]) -> Outcome:
    cause = document["cause"]
    if not isinstance(cause, dict):
        return Outcome(str(document["verdict"]))
    own = -cause["signal"] if cause.get("signal") else cause.get("exit_code")
    return Outcome(str(document["verdict"]), cause["kind"], cause.get("process"), own)


def _next_command(run: Running, result: Result) -> None:
    """Of a run whose guardian and supervisor were both killed, the next run on the machine clears away what is left."""
    if {"guardian", "supervisor"} <= run.killed and result.room is not None:
        code, out = begin(served(shell("bench", "true", kind="benchmark")), result.room / "next").end(30)
        result.faults += [] if code == os.EX_OK else [f"the next run ended with {code}: {out}"]
