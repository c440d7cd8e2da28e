"""Reading logs: any bytes, bounded, each line once."""

from __future__ import annotations

import random
import re
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

from inferlane.running.folder.directory import RunDirectory
from inferlane.running.logs import followed, logwatch
from inferlane.running.logs.followed import LogFollower, LogWatch
from inferlane.running.logs.logwatch import LogRoom
from inferlane.running.logs.sieve import Sieve, needed_words
from inferlane.running.logs.tails import printable, tail, without_colour
from inferlane.testing.handmade import plan, shell
from inferlane.values import LogCheck


def _watch(lines: list[str], **fields: object) -> LogWatch:
    watch = LogWatch(LogCheck(process="router", **{"pattern": r"added (\S+)", **fields}))  # type: ignore[arg-type]
    for line in lines:
        watch.feed(line)
    return watch


def test_the_reason_survives_odd_bytes_and_a_cut_character(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xe2\x28\xa1\nreason: no memory\n\xe2\x82")
    assert tail(log) == ("�(�", "reason: no memory")


def test_control_characters_cannot_move_a_terminal() -> None:
    assert printable("\x1b[31mred\x1b[0m\x1b]0;title\x07 \x08\x9b \u202eabc") == "red �� �abc"


def test_a_tail_is_bounded_in_lines_and_bytes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 5_000_000 + b"\n" + b"\n".join(b"line %d" % number for number in range(100)))
    assert tail(log, lines=2) == ("line 98", "line 99")
    log.write_bytes(b"\xe2\x82\xac" * 1_000_000)
    (only,) = tail(log)
    assert len(only) <= 400
    assert "�" not in only


def test_a_missing_log_has_no_tail(tmp_path: Path) -> None:
    assert tail(tmp_path / "none") == ()


def test_a_line_that_is_written_in_pieces_comes_once_and_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    follower = LogFollower(log)
    assert follower.lines() == []
    log.write_bytes("one\ncaf\u00e9".encode()[:-1])
    assert follower.lines() == ["one"]
    with log.open("ab") as more:
        more.write("\u00e9".encode()[1:] + b" bar\n")
    assert follower.lines() == ["caf\u00e9 bar"]


def test_a_huge_line_keeps_memory_small_and_the_next_line_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"y" * 8_000_000 + b"\nready\n")
    lines = list(LogFollower(log).drain())
    assert lines[-1] == "ready"
    assert sum(map(len, lines)) < 200_000


def test_the_last_line_of_a_dead_process_needs_no_newline(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"fatal: gone")
    assert list(LogFollower(log).drain()) == ["fatal: gone"]


def test_colour_codes_inside_a_match_do_not_matter(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\x1b[2mnow\x1b[0m added \x1b[32ma:1\x1b[0m\n")
    assert _watch(LogFollower(log).lines(), values=("a:1",)).verdict().ready


def test_each_value_must_have_been_seen_and_the_missing_is_named() -> None:
    assert _watch(["added a:1", "added a:1"], values=("a:1", "b:1"), at_least=2).verdict().missing == ("b:1",)


def test_a_later_line_takes_a_value_back() -> None:
    gone = r"removed (\S+)"
    assert not _watch(["added a:1", "removed a:1"], values=("a:1",), gone=gone).verdict().ready
    assert _watch(["added a:1", "removed a:1", "added a:1"], values=("a:1",), gone=gone).verdict().ready


def test_lines_are_counted() -> None:
    assert not _watch(["added a"], at_least=2).verdict().ready
    assert _watch(["added a", "added b"], at_least=2).verdict().ready


def test_a_bar_that_moves_by_returns_is_seen_while_it_moves_and_shown_as_it_stands(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"10%\r20%\rready: a\r")
    assert list(LogFollower(log).drain(at_end=False)) == ["10%", "20%"]
    assert list(LogFollower(log).drain()) == ["10%", "20%", "ready: a"]
    assert LogFollower(log).lines(at_end=True) == ["ready: a"]


def test_line_breaks_of_two_characters_are_one_even_when_they_come_apart(tmp_path: Path) -> None:
    log = tmp_path / "log"
    follower = LogFollower(log)
    log.write_bytes(b"one\r")
    assert follower.lines() == []
    with log.open("ab") as more:
        more.write(b"\ntwo\r\n")
    assert follower.lines() == ["one", "two"]


def test_a_log_that_is_cut_by_somebody_is_read_from_its_new_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old line that is long\npart")
    follower = LogFollower(log)
    assert follower.lines() == ["old line that is long"]
    log.write_bytes(b"new\n")
    assert follower.lines() == ["new"]


def test_a_log_that_is_removed_is_told_of_and_its_successor_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\n")
    follower = LogFollower(log)
    assert follower.lines() == ["one"]
    keeper = log.open("rb")  # its number stays taken
    log.unlink()
    assert follower.lines() == []
    assert follower.lost
    log.write_bytes(b"two, longer than before\n")
    keeper.close()
    assert follower.lines() == ["two, longer than before"]
    assert not follower.lost


def test_two_gibibytes_on_one_line_take_little_memory_and_the_reason_after_them_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out:
        out.truncate(2 << 30)  # a hole: it reads as NUL bytes and takes no room
        out.seek(0, 2)
        out.write(b"\nreason: no memory\n\xe2\x82")
    tracemalloc.start()
    try:
        lines = list(LogFollower(log).drain())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert lines[1] == "reason: no memory"
    assert tail(log)[-1] == "reason: no memory"
    assert peak < 16 << 20


LINE = 'step 7 added a:1 "x.y" (z) Error 12'


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"added (\S+)", {"added "}),
        (r"^step \d+", {"step "}),
        (r"(?:added|removed) \S+", {"added", "removed"}),
        (r"(?i)ERROR \d+", {"error "}),
        (r"""a:1 "x\.y" \(z\)""", {'a:1 "x.y" (z)'}),
        (r"\w+ (?P<n>7) (?:a(?:dd)+ed)?", {" "}),
        (r"E?r+or{1,2} 1(?=2)", {" 1"}),
        (r"(?<!x)added", {"added"}),
        (r"(?i:ERROR)", None),
        (r"\d+$", None),
        (r"added|\d", None),
    ],
)
def test_what_no_match_can_do_without_is_found_in_a_pattern(pattern: str, words: set[str] | None) -> None:
    found = needed_words(pattern)
    assert (found and found.words) == words
    assert re.search(pattern, LINE)
    assert list(Sieve([pattern]).lines(f"a\n{LINE}\n")).count(LINE) == 1


WORDS = ["a", "bb", "c d", "", "É", "\x1b[1m", "ſ", "\0", "b\rb", "#"]
PATTERNS = ["bb", "a$", "^c", "(?i)BB", "(?i)S", "[ab]+#", "b(?!b)", "#a|c d", "a.*a", "^$", r"\W\b", "(a|b)(a|c)"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("seed", range(5))
def test_searching_many_lines_at_once_finds_what_a_search_of_each_line_finds(pattern: str, seed: int) -> None:
    dice = random.Random(seed)
    lines = ["".join(dice.choices(WORDS, k=dice.randint(0, 5))) for _ in range(200)]
    wanted = [line for line in lines if re.search(pattern, line)]
    assert [line for line in Sieve([pattern]).lines("\n".join(lines)) if re.search(pattern, line)] == wanted


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_line_across_the_border_of_two_reads_is_seen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(followed, "PIECE", size)
    log = tmp_path / "log"
    lines = [f"line {number} \u00e9\u20ac" for number in range(100)]
    log.write_text("\n".join(lines) + "\n")
    assert list(LogFollower(log).drain()) == lines


def test_an_unfinished_escape_sequence_does_not_swallow_the_next_lines() -> None:
    assert without_colour("\x1b]0;title\nreason\x07\n") == "0;title\nreason\x07\n"


class Room:
    """A log room over one worker, with a gate that waits for two names and a pattern that is fatal."""

    def __init__(self, folder: Path, fatal: tuple[str, ...] = ("^FATAL: (.*)$",)) -> None:
        self.run = RunDirectory(folder)
        self.run.logs.mkdir()
        check = LogCheck(process="agg-0", pattern=r"^added (\S+)$", gone=r"removed (\S+)", values=("a:1", "b:1"))
        never = LogCheck(process="agg-0", pattern="cannot register")
        made = plan(shell("agg-0", "true", fatal_log=fatal))
        self.said: list[str] = []
        self.gates = SimpleNamespace(watches={check: LogWatch(check)}, fails={"names": [LogWatch(never)]})
        self.room = LogRoom(made, self.run, self.gates, self.said.append)
        self.check = check

    def write(self, text: bytes) -> None:
        with self.run.log("agg-0").open("ab") as log:
            log.write(text)

    def ready(self) -> bool:
        return self.gates.watches[self.check].verdict().ready


NOISE = b"INFO 2026-01-01 a step of no interest, added nothing FATAL\n" * 2000


def test_gates_and_fatal_lines_keep_their_meaning_among_much_else(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.write(NOISE + b"added a:1\n" + NOISE + b"\x1b[32madded\x1b[0m b:1\r\n" + NOISE)
    assert room.room.read() is None
    assert room.ready()
    room.write(b"removed a:1\n")
    room.room.read()
    assert not room.ready()
    room.write(b"not FATAL: here\nFATAL: bad \xff news\n" + NOISE)
    assert room.room.read() == ("agg-0", None, "FATAL: bad \ufffd news")


def test_of_two_fatal_lines_the_first_is_told(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.write(NOISE + b"cannot register\nFATAL: later\n")
    assert room.room.read() == ("agg-0", "names", "cannot register")


def test_a_reader_that_falls_behind_says_so_once_and_reads_it_all_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logwatch, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(logwatch, "_FAR_BEHIND", 1 << 20)
    room = Room(tmp_path)
    room.write(NOISE * 40 + b"FATAL: at last")
    assert [room.room.read() for _ in range(2)] == [None, None]
    (line,) = room.said
    assert "warning: agg-0 writes its log faster than it can be read" in line
    room.room.finish("agg-0")
    assert room.room.read() == ("agg-0", None, "FATAL: at last")


def test_no_log_keeps_the_others_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logwatch, "_PATIENCE_S", 0.0)
    run = RunDirectory(tmp_path)
    run.logs.mkdir()
    made = plan(*(shell(f"agg-{number}", "true", fatal_log=("FATAL",)) for number in range(2)))
    run.log("agg-0").write_bytes(NOISE.replace(b"FATAL", b"") * 100)
    run.log("agg-1").write_bytes(b"FATAL\n")
    room = LogRoom(made, run, SimpleNamespace(watches={}, fails={}))
    assert any(room.read() for _ in range(3))


def test_a_log_that_somebody_removed_is_told_of_once(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.write(b"one\n")
    room.room.read()
    room.run.log("agg-0").unlink()
    room.room.read()
    room.room.read()
    (line,) = room.said
    assert "somebody removed" in line
