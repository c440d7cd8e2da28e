"""What a supervisor of 512 workers costs, and how much of the time of a run is its own.

    python benchmarks/waiting.py [WORKERS]

The workers are ``sleep`` processes; one server answers for all of them, on as many loopback addresses. Bars: while it
waits, under 10 % of one core and 150 MB; from the last worker's health to the first request of the load client under
2 s; from a worker's crash until everything is gone under 3 s. Exit status 1 if one is missed.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from inferlane.load.spec import LoadSpec
from inferlane.running.processes import proc
from inferlane.testing.handmade import HEAD, health, plan, process
from inferlane.testing.runs import Running, begin
from inferlane.values import Counter, File, Node, Plan, PlannedUpstream, PortBlock

PORT, PUBLIC = 26111, 26112  # nobody else has them on any loopback address
WAIT_S = 20.0

SERVER = r"""
import asyncio, json, signal, sys, time
healthy, asked, served = False, [], {}
def flip(*_):
    global healthy
    healthy = True
async def answer(reader, writer):
    where = writer.get_extra_info("sockname")[0]
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next((int(row.split(":")[1]) for row in head.lower().split("\r\n") if row.startswith("content-length")), 0)
    body = json.loads(await reader.readexactly(length)) if length else {}
    status, text = 200, ""
    if "/health" in head:
        served.setdefault(where, 0)
        status = 200 if healthy else 503
    elif "/metrics" in head:
        text = f"served_total {served.get(where, 0)}\n"
    else:
        if body.get("stream") or len(str(body.get("prompt", ""))) > 100:
            print(f"first request at {time.time():f}", flush=True)
        least = min(served, key=served.get)
        served[least] += 1
        text = json.dumps({"choices": [{"text": "x"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n{text}".encode())
    await writer.drain()
    writer.close()
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, flip)
    servers = [await asyncio.start_server(answer, "0.0.0.0", int(port), backlog=4096) for port in sys.argv[1:]]
    await asyncio.Event().wait()
asyncio.run(main())
"""


def the_plan(workers: int) -> Plan:
    """One worker to a node, all of them named to the gates, and the load client."""
    nodes = tuple(Node(name=f"n{number}") for number in range(workers))
    names = [f"agg-{node.name[1:]}" for node in nodes]
    sleepers = [
        process(name, "sleep", "3600", node=node, ports={"http": PortBlock(first=PORT)})
        for name, node in zip(names, nodes, strict=True)
    ]
    server = process(
        "server", sys.executable, "-c", SERVER, str(PORT), str(PUBLIC), kind="service", phase="before_workers"
    )
    spec = LoadSpec(
        endpoint=f"http://{HEAD.host}:{PUBLIC}",
        model="model",
        results="{run.results}",
        isl=256,
        osl=8,
        concurrencies=(1,),
        requests=1,
    )
    client = process(
        "bench",
        sys.executable,
        "-m",
        "inferlane.load",
        "--spec",
        "{run.files}/bench/load.json",
        kind="benchmark",
        files=(File(name="load.json", text=msgspec.json.encode(spec).decode()),),
    )
    return plan(
        server,
        *sleepers,
        client,
        nodes=nodes,
        gates=tuple(health(name, PORT, node) for name, node in zip(names, nodes, strict=True)),
        endpoint=f"http://{HEAD.host}:{PUBLIC}",
        upstreams=tuple(
            PlannedUpstream(
                process=name,
                role="agg",
                worker=number,
                url=f"http://{node.host}:{PORT}",
                served=Counter(series="served_total"),
            )
            for number, (name, node) in enumerate(zip(names, nodes, strict=True))
        ),
        start_timeout_s=600,
        probe_interval_s=1.0,
        probe_timeout_s=5.0,
    )


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    """The most memory it ever held."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) / 1024


def waiting(run: Running, workers: int) -> tuple[float, float]:
    """Share of a core and memory while everybody waits."""
    run.wait_for("process.start", 60, process=f"agg-{workers - 1}")
    time.sleep(2)
    pid, before, start = run.supervisor(), cpu_seconds(run.supervisor()), time.monotonic()
    time.sleep(WAIT_S)
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - start), peak_mb(pid)


def to_the_first_request(run: Running) -> tuple[float, float]:
    """Seconds from the moment of health until the gates held, and until the load client's first request."""
    healthy = time.time()
    os.kill(run.pid("server"), signal.SIGUSR1)
    held = run.wait_for("generation.start", 60)["t"] - run.wait_for("gate.open")["t"]
    run.until(lambda: "first request at" in run.log("server"), "request", 60)
    return held, float(run.log("server").split("first request at ")[1].split()[0]) - healthy


def until_all_is_gone(run: Running, workers: int) -> float:
    """Seconds from a worker's death to the end of the last process."""
    below = proc.descendants(run.popen.pid)
    start = time.monotonic()
    os.kill(run.pid(f"agg-{workers // 2}"), signal.SIGKILL)
    code, out = run.end(60)
    seconds = time.monotonic() - start
    assert code == 1, out
    assert f"agg-{workers // 2} on n{workers // 2} ended by itself with signal 9" in out, out
    assert not [pid for pid in below if proc.start_time(pid) is not None]
    return seconds


def main(workers: int) -> int:
    """Measure, print, compare."""
    with tempfile.TemporaryDirectory() as room:
        run = begin(the_plan(workers), Path(room) / "a")
        share, peak = waiting(run, workers)
        held, first = to_the_first_request(run)
        run.popen.terminate()
        run.end(60)
        run = begin(the_plan(workers), Path(room) / "b")
        run.wait_for("process.start", 60, process=f"agg-{workers - 1}")
        gone = until_all_is_gone(run, workers)
    print(f"{workers} waiting workers: {share:.1f} % of a core (bar 10), {peak:.0f} MB (bar 150)")
    print(f"last healthy -> first request: {first:.2f} s (bar 2), of it {held:.2f} s between the first and last gate")
    print(f"crash -> all gone: {gone:.2f} s (bar 3)")
    return int(share >= 10 or peak >= 150 or first >= 2 or gone >= 3)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 512))
