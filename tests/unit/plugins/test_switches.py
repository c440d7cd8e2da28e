"""Which plugins a switch leaves out."""

from __future__ import annotations

import pytest

from inferlane.plugins.switches import Switch, normalise, read_switches


@pytest.mark.parametrize("name", ["My-Plugin", "my_plugin", "MY.PLUGIN", "my--_.plugin"])
def test_spellings_of_one_project_are_equal(name: str) -> None:
    assert normalise(name) == "my-plugin"


def test_a_type_is_matched_as_it_is_written() -> None:
    assert Switch("x_y", "").hits("x_y", "plug")
    assert not Switch("x-y", "").hits("x_y", "plug")


def test_a_star_spares_the_built_ins_and_a_name_does_not() -> None:
    assert not Switch("*", "").hits("local", "inferlane")
    assert Switch("*", "").hits("local", "inferlane-extra")
    assert Switch("inferlane", "").hits("local", "inferlane")


def test_the_command_line_comes_before_the_environment_and_empty_names_are_skipped() -> None:
    switches = read_switches(["a", " "], True, {"INFERLANE_DISABLE_PLUGINS": " b ,,c"})

    assert [switch.origin for switch in switches] == [
        "--no-plugins",
        "--disable a",
        "INFERLANE_DISABLE_PLUGINS=b",
        "INFERLANE_DISABLE_PLUGINS=c",
    ]
