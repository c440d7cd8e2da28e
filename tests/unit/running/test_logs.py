"""Reading logs: any bytes, bounded, each line once."""

from __future__ import annotations

from pathlib import Path

from inferlane.running.followed import LogFollower, LogWatch
from inferlane.running.tails import printable, tail
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
