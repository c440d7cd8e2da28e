"""The device pool: opaque words, counted, within an outer mask."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferlane.errors import UsageFault
from inferlane.running.processes.devices import device_pool, found_devices

MASK = "SOME_VISIBLE_DEVICES"


def test_identifiers_are_words_and_are_counted() -> None:
    pool = device_pool(None, {MASK: "GPU-aaaa,GPU-bbbb,MIG-cccc,MIG-dddd"}, MASK)
    assert pool.words == ("GPU-aaaa", "GPU-bbbb", "MIG-cccc", "MIG-dddd")
    assert pool.masked


def test_an_outer_mask_shrinks_what_was_asked_for() -> None:
    assert device_pool("0,1", {MASK: "1"}, MASK).words == ("1",)


def test_numbers_are_positions_where_the_mask_holds_identifiers() -> None:
    assert device_pool("1,MIG-c", {MASK: "GPU-a,GPU-b,MIG-c"}, MASK).words == ("GPU-b", "MIG-c")


def test_an_empty_mask_leaves_nothing() -> None:
    assert device_pool(None, {MASK: ""}, MASK, found=("0", "1")).words == ()
    assert device_pool(None, {MASK: "-1"}, MASK, found=("0", "1")).words == ()


def test_without_mask_and_wish_the_machine_decides() -> None:
    pool = device_pool(None, {}, MASK, found=("0", "1"))
    assert (pool.words, pool.masked) == (("0", "1"), False)


def test_a_word_said_twice_is_refused() -> None:
    with pytest.raises(UsageFault, match="named twice"):
        device_pool("0,0", {}, MASK)


def test_devices_are_found_by_the_table(tmp_path: Path) -> None:
    for node, count in enumerate((0, 304, 304)):
        folder = tmp_path / "topology" / str(node)
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"cpu_cores_count 4\nsimd_count {count}\n")
    sources = [{"pattern": "/dev/none[0-9]*"}, {"pattern": "/topology/*/properties", "property": "simd_count"}]
    assert found_devices(tmp_path, sources) == ("0", "1")
