"""One line for each measured request, kept whole on a disk that runs full."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from inferlane.load.client import Outcome
from inferlane.load.prompts import Ask
from inferlane.load.results import Unwritable, folder, stem
from inferlane.load.spec import LoadSpec

BATCH = 1 << 16


class RequestLog:
    """One JSON line per measured request, in the order they ended. What fails raises :class:`Unwritable`.

    After a failure nothing more is written, and the file ends with the last line that fitted in whole.
    """

    def __init__(self, spec: LoadSpec, concurrency: int) -> None:
        self.path: Path = folder(spec) / f"requests_{stem(spec, concurrency)}.jsonl"
        self._batch = bytearray()
        self._broken: Unwritable | None = None
        self._kept = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise Unwritable(self.path, error) from None

    def add(self, ask: Ask, started: float, outcome: Outcome) -> None:
        """Append one request; ``started`` in seconds since the level began."""
        line = {
            "index": ask.index,
            "status": outcome.kind or "ok",
            "message": outcome.message,
            "started_s": round(started, 6),
            "isl": ask.isl,
            "osl": ask.osl,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "estimated": outcome.estimated,
            "finish_reason": outcome.finish_reason,
            "ttft_ms": _ms(outcome.ttft_us),
            "tpot_ms": _ms(outcome.tpot_us),
            "e2el_ms": _ms(outcome.e2e_us),
            "max_itl_ms": _ms(max(outcome.gaps_us, default=None)),
        }
        if self._broken is None:
            self._batch += msgspec.json.encode(line) + b"\n"
        if len(self._batch) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Hand what was added to the system."""
        if self._broken is not None:
            raise self._broken
        batch = bytes(self._batch)
        self._batch.clear()
        written = 0
        try:
            while written < len(batch):
                written += os.write(self._file, batch[written:])
        except OSError as error:
            self._broken = Unwritable(self.path, error)
            self._kept += batch.rfind(b"\n", 0, written) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._kept)
            raise self._broken from None
        self._kept += written

    def close(self) -> None:
        """Write the rest, down to the disk, and close."""
        try:
            self.flush()
            os.fsync(self._file)
        except OSError as error:
            raise Unwritable(self.path, error) from None
        finally:
            os.close(self._file)

    def lines(self) -> int:
        """How many lines are in the file, read back from it."""
        try:
            with self.path.open("rb") as file:
                return sum(block.count(b"\n") for block in iter(lambda: file.read(BATCH), b""))
        except OSError as error:
            raise Unwritable(self.path, error) from None


def _ms(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000
