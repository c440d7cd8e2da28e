"""One worker that writes a log of 1 GB in a minute, with a secret in each line: what it costs the supervisor.

    python benchmarks/log_flood.py [SECONDS]

Bars: under 40 % of one core and 150 MB, and its end is noticed within a second.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from inferlane.running.folder.events import read_events
from inferlane.running.processes import proc
from inferlane.testing.handmade import plan, process
from inferlane.testing.runs import begin
from inferlane.values import Gate, LogCheck

FLOOD = r"""
import os, sys, time
seconds, rate = float(sys.argv[1]), 1_000_000_000 // 60
line = b"INFO 2026-01-01 00:00:00 engine: step of no interest, 12 running, " + os.environ["HF_TOKEN"].encode() + b"\n"
piece = line * (rate // 50 // len(line))
begin, number = time.monotonic(), 0
while time.monotonic() < begin + seconds:
    os.write(1, piece)
    number += 1
    time.sleep(max(0.0, begin + number / 50 - time.monotonic()))
os.write(1, b"left at %f\n" % time.time())
sys.exit(3)
"""


def main(seconds: float) -> None:
    """Measure and print."""
    gate = Gate(name="never", before="traffic", checks=(LogCheck(process="agg-0", pattern=r"registered (\S+)"),))
    fatal = (r"CRITICAL: \w+", r"(?i)device\s+lost")
    argv = (sys.executable, "-c", FLOOD, str(seconds))
    made = plan(
        process("agg-0", *argv, env={"HF_TOKEN": "hf_A1b2C3d4"}, fatal_log=fatal), gates=(gate,), start_timeout_s=600
    )
    with tempfile.TemporaryDirectory() as room:
        run = begin(made, Path(room) / "run")
        run.wait_for("process.start")
        pid, start, used, peak = run.supervisor(), time.monotonic(), 0.0, 0
        while run.popen.poll() is None:
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                rows = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                break
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            if proc.start_time(run.pid("agg-0")) is not None:
                used = cpu / (time.monotonic() - start)
            peak = next((int(row.split()[1]) for row in rows if row.startswith("VmHWM")), peak)
            time.sleep(0.2)
        code, out = run.end(120)
        log = run.folder / "logs" / "agg-0.log"
        end = next(event for event in read_events(run.folder / "events.jsonl") if event["event"] == "process.end")
        left = float(log.read_bytes()[-40:].rsplit(b"left at ", 1)[1])
        noticed = datetime.fromisoformat(end["wall"]).timestamp() - left
        size = log.stat().st_size
        covered = b"A1b2" not in log.read_bytes()
    warned = "; ".join(line for line in out.splitlines() if "faster than" in line)
    print(f"log {size / 1e6:.0f} MB in {seconds:.0f} s; exit {code}; every secret covered: {covered} {warned}".rstrip())
    print(f"supervisor: {100 * used:.0f} % of a core, {peak / 1024:.0f} MiB at most; end noticed after {noticed:.2f} s")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
