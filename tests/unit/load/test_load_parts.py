"""Numbers, prompts, limits and caps of the load client, without a server."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from inferlane.errors import UsageFault
from inferlane.load.client import Outcome
from inferlane.load.level import Level, Stop
from inferlane.load.prompts import Ask, Lengths, Prompts, asks, counter, fit
from inferlane.load.results import table
from inferlane.load.spec import LoadSpec, capped
from inferlane.load.stats import Distribution


def spec(**settings: object) -> LoadSpec:
    given = {"endpoint": "http://x", "model": "m", "results": "/r", "isl": 100, "osl": 10, "concurrencies": (4,)}
    return LoadSpec(**(given | settings))  # type: ignore[arg-type]


def test_percentiles_are_exact_on_known_data() -> None:
    seen = Distribution(value * 1000 for value in range(1, 101)).summary()
    assert seen == {"mean": 50.5, "median": 50.5, "p90": 90.1, "p95": 95.05, "p99": 99.01, "max": 100.0}


def test_percentiles_count_repeated_samples() -> None:
    kept = Distribution([1000] * 98)
    kept.add(2000)
    kept.add(9000)
    assert kept.summary()["p99"] == pytest.approx(2.07)
    assert len(kept) == 100


def test_one_sample_is_every_percentile_and_none_is_none() -> None:
    assert set(Distribution([7000]).summary().values()) == {7.0}
    assert set(Distribution().summary().values()) == {None}


def test_two_counted_texts_give_slope_and_overhead() -> None:
    lengths = fit((25, 100), (55, 205), "server")
    assert (lengths.per_word, lengths.fixed) == (2.0, 5.0)
    assert lengths.words(105) == 50
    assert fit((1, 1), (3, 3), "server").words(9) == 3


def test_the_same_seed_gives_the_same_prompts_with_own_beginnings() -> None:
    first, again, other = Prompts("a", 100), Prompts("a", 100), Prompts("b", 100)
    texts = [first.text(100) for _ in range(50)]
    assert texts == [again.text(100) for _ in range(50)]
    assert texts[0] != other.text(100)
    assert {len(text.split()) for text in texts} == {100}
    assert len({tuple(text.split()[:8]) for text in texts}) == 50


def test_lengths_stay_within_the_range_ratio() -> None:
    drawn = list(asks(spec(random_range_ratio=0.8), Lengths(), "s", 300))
    assert {ask.isl for ask in drawn} == set(range(80, 101))
    assert {ask.osl for ask in drawn} == {8, 9, 10}
    assert all(len(ask.prompt.split()) == ask.isl for ask in drawn)


def test_a_range_ratio_of_zero_still_asks_for_a_token() -> None:
    drawn = asks(spec(random_range_ratio=0.0, osl=2), Lengths(), "s", None)
    assert {ask.osl for ask in itertools.islice(drawn, 50)} == {1, 2}


def test_limits_grow_with_the_shape_and_can_be_set() -> None:
    large = spec(isl=8192, osl=1024)
    assert large.stall_limit(1024) > large.stall_limit(4) > spec().stall_limit(4) > 300
    assert large.request_limit(4) == 2 * large.stall_limit(4)
    assert spec(stall_timeout_s=5, request_timeout_s=7).stall_limit(4) == 5


def test_caps_of_a_rehearsal() -> None:
    small = capped(spec(isl=8192, osl=1024, concurrencies=(64, 256, 512), duration_seconds=3600, tokenizer="/t"))
    assert (small.isl, small.osl, small.concurrencies, small.duration_seconds) == (64, 16, (64, 128), 60)
    assert small.tokenizer is None
    assert small.measured(128) == 1000
    assert capped(spec()).measured(128) == 1000
    assert capped(spec(num_prompts_mult=100)).measured(4) == 400


def test_a_tokenizer_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageFault, match=r"tokenizer /nowhere: no such file"):
        counter("/nowhere")


def test_a_tokenizer_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageFault, match="neither 'tokenizers' nor 'transformers' is installed"):
        counter(str(tmp_path))


def _asks(number: int) -> list[Ask]:
    return [Ask(index, "p", 1, 1) for index in range(number)]


def test_a_level_keeps_exactly_its_concurrency_in_flight() -> None:
    kinds: list[str] = []

    async def send(ask: Ask) -> Outcome:
        await asyncio.sleep(0.001)
        return Outcome()

    async def run() -> Level:
        level = Level(5, send, lambda ask, started, outcome: kinds.append(outcome.kind), stall_s=5)
        assert await level.run(_asks(23), Stop()) == "finished"
        return level

    level = asyncio.run(run())
    assert (level.peak, level.sent, level.in_flight) == (5, 23, 0)
    assert kinds == [""] * 23


def test_a_slow_arrival_rate_is_no_stall() -> None:
    async def send(ask: Ask) -> Outcome:
        return Outcome()

    async def run() -> str:
        level = Level(5, send, lambda ask, started, outcome: None, stall_s=0.05, rate=10, seed="3")
        return await level.run(_asks(6), Stop())

    assert asyncio.run(run()) == "finished"


def test_a_stop_cancels_what_is_open_and_records_it() -> None:
    kinds: list[str] = []

    async def send(ask: Ask) -> Outcome:
        await asyncio.sleep(60)
        return Outcome()

    async def run() -> str:
        stop = Stop()
        level = Level(3, send, lambda ask, started, outcome: kinds.append(outcome.kind), stall_s=60)
        asyncio.get_running_loop().call_later(0.05, stop.set, 15)
        return await level.run(_asks(9), stop)

    assert asyncio.run(run()) == "stopped"
    assert kinds == ["cancelled"] * 3


def test_a_fault_of_the_client_itself_is_not_counted_as_a_failed_request() -> None:
    async def send(ask: Ask) -> Outcome:
        raise RuntimeError("bug")

    async def run() -> None:
        await Level(1, send, lambda ask, started, outcome: None, stall_s=5).run(_asks(2), Stop())

    with pytest.raises(RuntimeError, match="bug"):
        asyncio.run(run())


def test_a_result_that_cannot_be_kept_ends_the_level_at_once() -> None:
    sent = 0

    async def send(ask: Ask) -> Outcome:
        nonlocal sent
        sent += 1
        return Outcome()

    def record(ask: Ask, started: float, outcome: Outcome) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(Level(1, send, record, stall_s=5).run(_asks(50), Stop()))
    assert sent < 5


def test_the_table_shows_unknown_numbers_as_a_dash() -> None:
    text = table([{"valid": False, "max_concurrency": 4, "completed": 0, "median_ttft_ms": None}])
    header, row = text.splitlines()
    assert header.split()[0] == "conc"
    assert row.split()[0] == "4"
    assert row.endswith("NO")
    assert len(header) == len(row)
