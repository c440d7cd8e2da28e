"""All levels of a sweep, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, TextIO

import aiohttp  # noqa: TID253 - only ever imported in the load client's own process

from inferlane.load.calibrate import calibrate
from inferlane.load.client import Outcome, Target, complete, session, target
from inferlane.load.lag import LagMeter, Saturation
from inferlane.load.level import End, Level, Stop
from inferlane.load.prompts import Ask, Lengths, asks
from inferlane.load.request_log import RequestLog
from inferlane.load.results import Unwritable, forget, write_point
from inferlane.load.say import say
from inferlane.load.spec import LoadSpec
from inferlane.load.tally import Tally
from inferlane.load.verdict import Seen, counted, point


class Sweep:
    """Runs the levels of ``spec`` and writes one result file for each, whatever becomes of it."""

    def __init__(self, spec: LoadSpec, stop: Stop, out: TextIO) -> None:
        self._spec = spec
        self._stop = stop
        self._out = out
        self._target: Target = target(spec.endpoint, spec.model, spec.use_chat_template)
        self._wall, self._began = time.time(), time.monotonic()
        self.points: list[Mapping[str, Any]] = []

    async def run(self) -> None:
        """Run until the last level, the first invalid one, a result that cannot be kept, or a signal.

        Raises :class:`Unwritable` when not even a level can be begun.
        """
        lengths: Lengths | None = None
        forget(self._spec)
        for concurrency in self._spec.concurrencies:
            async with session(concurrency, self._spec.reuse_http_connections) as http:
                if lengths is None:
                    lengths = await self._calibrate(http, concurrency)
                point = self._keep(concurrency, await self._level(http, concurrency, lengths))
            self.points.append(point)
            for warning in point["warnings"]:
                self._say(f"concurrency {concurrency}: warning: {warning}")
            over = self._stop.signal or point["end"] == "broken"
            if over or (not point["valid"] and self._spec.stop_on_invalid):
                return

    def _keep(self, concurrency: int, point: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            write_point(self._spec, concurrency, point)
        except Unwritable as fault:
            reason = "; ".join(filter(None, (str(fault), point["reason"])))
            return {**point, "valid": False, "reason": reason, "end": "broken"}
        return point

    async def _calibrate(self, http: aiohttp.ClientSession, concurrency: int) -> Lengths:
        limit = self._spec.stall_limit(concurrency)
        lengths = await self._stop.race(calibrate(self._spec, http, self._target, limit)) or Lengths()
        self._say(f"prompt length: {lengths.source}; {lengths.per_word:.3f} tokens per word + {lengths.fixed:.1f}")
        return lengths

    async def _level(self, http: aiohttp.ClientSession, concurrency: int, lengths: Lengths) -> Mapping[str, Any]:
        spec, tally = self._spec, Tally()
        warmup, ready = await self._warm_up(http, concurrency, lengths)
        wanted = spec.measured(concurrency)
        log, meter = RequestLog(spec, concurrency), LagMeter()
        level = self._batch(http, concurrency, tally, log, warm_up=False)
        end, lag = ready, Saturation()
        if ready == "finished":
            work = asks(spec, lengths, f"{spec.seed}/{concurrency}", wanted)
            meter.start()
            async with self._progress(concurrency, level, tally, log, wanted):
                end = await level.run(work, self._stop)
            lag = await meter.stop()
        fault = level.fault
        try:
            log.close()
        except Unwritable as full:
            end, fault = "broken", fault or str(full)
        monotonic = time.monotonic() - self._began
        seen = Seen(
            started_at_unix=level.started_at_unix,
            ended_at_unix=level.ended_at_unix,
            end=end,
            fault=fault,
            warmed_up=ready == "finished",
            warmup=warmup,
            asked=wanted,
            sent=level.sent,
            peak_in_flight=level.peak,
            seconds=level.seconds,
            sweep_s=monotonic,
            sweep_off_s=time.time() - self._wall - monotonic,
            log=log.path.name,
            logged=log.lines(),
            lengths=lengths,
            lag=lag,
        )
        told = ", ".join(f"{name} {count}" for name, count in counted(tally, seen).items())
        self._say(f"concurrency {concurrency}: {told}")
        return point(spec, concurrency, tally, seen)

    async def _warm_up(
        self, http: aiohttp.ClientSession, concurrency: int, lengths: Lengths
    ) -> tuple[Mapping[str, Any], End]:
        """Under the same limit as the level, and never part of its numbers."""
        spec, tally = self._spec, Tally()
        wanted = spec.warmup(concurrency)
        level = self._batch(http, concurrency, tally, None, warm_up=True)
        end: End = "finished"
        if self._stop.signal:
            end = "stopped"
        elif wanted:
            async with self._progress(concurrency, level, tally, None, wanted):
                end = await level.run(asks(spec, lengths, f"{spec.seed}/{concurrency}/warm-up", wanted), self._stop)
        if tally.failed:
            self._say(f"concurrency {concurrency}: {tally.failed} of {level.sent} warm-up requests failed")
        told = {
            "requests": wanted,
            "concurrency": concurrency,
            "req_rate": spec.warmup_req_rate,
            "completed": tally.completed,
            "failed": tally.failed,
            "errors": dict(tally.errors),
            "outstanding": tally.cancelled,
            "peak_in_flight": level.peak,
            "seconds": level.seconds,
        }
        return told, end

    def _batch(
        self, http: aiohttp.ClientSession, concurrency: int, tally: Tally, log: RequestLog | None, *, warm_up: bool
    ) -> Level:
        spec = self._spec
        limit = spec.request_limit(concurrency)

        async def send(ask: Ask) -> Outcome:
            return await complete(http, self._target, ask, limit)

        def record(ask: Ask, started: float, outcome: Outcome) -> None:
            tally.add(ask, outcome, started)
            if log is not None:
                log.add(ask, started, outcome)

        return Level(
            concurrency,
            send,
            record,
            stall_s=spec.stall_limit(concurrency),
            rate=spec.warmup_req_rate if warm_up else spec.req_rate,
            duration_s=None if warm_up else spec.duration_seconds,
            seed=f"{spec.seed}/{concurrency}",
        )

    @contextlib.asynccontextmanager
    async def _progress(
        self, concurrency: int, level: Level, tally: Tally, log: RequestLog | None, wanted: int | None
    ) -> AsyncIterator[None]:
        """Say every few seconds how far a batch is."""
        what = "warm-up" if log is None else "measured"
        began = time.perf_counter()

        async def tell() -> None:
            while True:
                await asyncio.sleep(self._spec.progress_s)
                seconds = time.perf_counter() - began
                done = f"{tally.completed}/{wanted}" if wanted is not None else str(tally.completed)
                rest = f"{tally.failed} failed, {level.in_flight} in flight, {seconds:.0f} s"
                pace = f"{tally.tokens_out / seconds:.0f} tok/s"
                self._say(f"concurrency {concurrency} {what}: {done} done, {rest}, {pace}")
                if log is not None:
                    try:
                        log.flush()
                    except Unwritable as full:
                        level.fail(full)

        task = asyncio.create_task(tell())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _say(self, text: str) -> None:
        say(text, self._out)
