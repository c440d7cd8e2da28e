"""Secrets that processes write are overwritten in place, and nothing else is."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from urllib.parse import quote

import pytest

from inferlane.running.folder import scrub
from inferlane.running.folder.directory import FOLDERS, RunDirectory
from inferlane.running.folder.scrub import Scrubber

TOKEN = "hf_A1b2C3d4"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    return RunDirectory(tmp_path)


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as out:
        out.write(content)


def test_a_value_is_covered_as_it_comes_and_every_other_byte_stays(run: RunDirectory) -> None:
    log = run.log("agg-0")
    before = b"\xff\0key=" + TOKEN.encode() + b"; next " + TOKEN.encode() * 2 + b"\n"
    log.write_bytes(before)
    Scrubber(run, [TOKEN]).tick()
    assert log.read_bytes() == before.replace(TOKEN.encode(), b"*" * len(TOKEN))


@pytest.mark.parametrize("piece", [1, 3, 16])
def test_a_value_that_is_written_and_read_in_pieces_is_found(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(scrub, "_PIECE", piece)
    dice, log, scrubber = random.Random(piece), run.log("agg-0"), Scrubber(run, [TOKEN, "other-word"])
    text = "".join(dice.choice([TOKEN, "x", "hf_A1b2", "other-word", "\n"]) for _ in range(300)).encode()
    at = 0
    while at < len(text):
        step = dice.randint(1, 9)
        _append(log, text[at : at + step])
        scrubber.tick()
        at += step
    scrubber.finish()
    assert log.read_bytes() == text.replace(TOKEN.encode(), b"*" * 11).replace(b"other-word", b"*" * 10)


@pytest.mark.parametrize(
    "spell", [json.dumps, lambda value: json.dumps(value, ensure_ascii=False), quote, lambda v: quote(v, safe=""), repr]
)
def test_each_usual_spelling_is_found(run: RunDirectory, spell: object) -> None:
    secret = 'pä/s"s wörd\n'
    run.log("agg-0").write_text(f"x {spell(secret)} y\n")  # type: ignore[operator]
    Scrubber(run, [secret]).finish()
    assert set(run.log("agg-0").read_text()) <= set("x \"'*y\n")


def test_a_longer_secret_is_covered_whole_where_another_is_its_beginning(run: RunDirectory) -> None:
    run.log("agg-0").write_text("word-1 word-1-and-more")
    Scrubber(run, ["word-1", "word-1-and-more"]).finish()
    assert run.log("agg-0").read_text() == "****** ***************"


def test_results_and_whatever_processes_left_in_the_folder_are_searched_in_the_end(run: RunDirectory) -> None:
    deep = run.results / "a" / "b"
    deep.mkdir(parents=True)
    paths = [deep / "out.json", run.path / "core.dump", run.path / "run.log", run.files / "config"]
    for path in paths:
        path.write_text(f'{{"args": "{TOKEN}"}}')
    (deep / "out.json").chmod(0o400)
    said = Scrubber(run, [TOKEN]).finish()
    assert {path.read_text() for path in paths} == {'{"args": "***********"}'}
    assert (deep / "out.json").stat().st_mode & 0o777 == 0o400
    assert said[0].startswith("processes wrote values of secrets, which were overwritten with *: core.dump (1)")


def test_files_elsewhere_are_left_alone(run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("linked", "hard"):
        (elsewhere / name).write_text(TOKEN)
    (run.results / "link").symlink_to(elsewhere / "linked")
    os.link(elsewhere / "hard", run.results / "hard")
    os.mkfifo(run.results / "pipe")
    (line,) = Scrubber(run, [TOKEN]).finish()
    assert (elsewhere / "linked").read_text() == (elsewhere / "hard").read_text() == TOKEN
    assert line == "could not be searched for secrets, look before you share: results/hard"


def test_a_value_that_results_are_made_of_is_taken_out_of_logs_only(run: RunDirectory) -> None:
    for path in (run.log("agg-0"), run.results / "out.json"):
        path.write_text('{"tokens": 12345}')
    Scrubber(run, ["12345"]).finish()
    assert run.log("agg-0").read_text() == '{"tokens": *****}'
    assert json.loads((run.results / "out.json").read_text()) == {"tokens": 12345}


def test_the_time_of_the_last_word_of_a_process_is_kept(run: RunDirectory) -> None:
    log = run.log("agg-0")
    log.write_text(TOKEN)
    os.utime(log, ns=(1_000_000_000, 5_000_000_000))
    Scrubber(run, [TOKEN]).tick()
    assert log.stat().st_mtime_ns == 5_000_000_000
    assert log.read_text() == "*" * len(TOKEN)


def test_a_log_that_is_cut_or_replaced_is_searched_again(run: RunDirectory) -> None:
    log, scrubber = run.log("agg-0"), Scrubber(run, [TOKEN])
    for length in (100, 10):
        log.write_text("x" * length + TOKEN)
        scrubber.tick()
        assert log.read_text() == "x" * length + "*" * len(TOKEN)
    log.write_text("x" * 50 + TOKEN)  # longer again: only the last look can know
    scrubber.finish()
    assert log.read_text() == "x" * 50 + "*" * len(TOKEN)


def test_one_look_takes_a_bounded_time_and_the_rest_is_done_in_the_end(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "_PATIENCE_S", -1.0)
    run.log("agg-0").write_text(TOKEN)
    scrubber = Scrubber(run, [TOKEN])
    scrubber.tick()
    assert run.log("agg-0").read_text() == TOKEN
    scrubber.finish()
    assert run.log("agg-0").read_text() == "*" * len(TOKEN)


def test_without_secrets_nothing_is_even_read(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    run.log("agg-0").write_text("words")
    monkeypatch.setattr(os, "listdir", None)
    monkeypatch.setattr(os, "walk", None)
    scrubber = Scrubber(run, [])
    scrubber.tick()
    assert scrubber.finish() == ()
