"""Reading metadata: everything that counts, once, sorted, without imports."""

from __future__ import annotations

from pathlib import Path

from inferlane.plugins.discovery import discover
from inferlane.testing.plugin_site import PluginSite


def test_a_candidate_holds_what_messages_need(tmp_path: Path) -> None:
    site = PluginSite(tmp_path)
    site.add_engine("My_Plug", "x", "", version="1.2", requires="Inferlane<0.2,>=0.1; python_version > '3'")

    (candidate,) = discover([str(tmp_path)]).candidates

    assert (candidate.kind, candidate.type, candidate.label) == ("engine", "x", "My_Plug 1.2")
    assert candidate.project == "my-plug"
    assert candidate.requires == "Inferlane<0.2,>=0.1"
    assert candidate.entry_point == "inferlane.engines: x = My_Plug"
    assert candidate.folder == str(tmp_path.resolve())


def test_a_requirement_without_a_version_explains_nothing(tmp_path: Path) -> None:
    PluginSite(tmp_path).add_engine("plug", "x", "", requires="inferlane")

    assert discover([str(tmp_path)]).candidates[0].requires == ""


def test_a_folder_that_is_on_the_path_twice_counts_once(tmp_path: Path) -> None:
    PluginSite(tmp_path / "real").add_engine("plug", "x", "")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    scan = discover([str(tmp_path / "real"), str(tmp_path / "link"), str(tmp_path / "real")])

    assert len(scan.candidates) == 1


def test_the_order_does_not_depend_on_the_path(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        PluginSite(tmp_path / name).add_engine(f"plug-{name}", "x", "")
    folders = [str(tmp_path / name) for name in ("c", "a", "b")]

    forward = [candidate.label for candidate in discover(folders).candidates]
    backward = [candidate.label for candidate in discover(reversed(folders)).candidates]

    assert forward == backward == ["plug-a 1.0", "plug-b 1.0", "plug-c 1.0"]


def test_groups_of_others_and_empty_folders_are_passed_over(tmp_path: Path) -> None:
    PluginSite(tmp_path).add("plug", entry_points={"inferlane.unknown": {"x": "plug"}, "console_scripts": {"y": "z"}})

    scan = discover([str(tmp_path), str(tmp_path / "absent")])

    assert scan.candidates == ()
    assert scan.unreadable == ()


def test_a_record_that_lost_its_name_still_shows_its_claim(tmp_path: Path) -> None:
    PluginSite(tmp_path).add_engine("plug", "x", "")
    (tmp_path / "plug-1.0.dist-info" / "METADATA").unlink()

    scan = discover([str(tmp_path)])

    assert [(candidate.type, candidate.label) for candidate in scan.candidates] == [("x", "unnamed unknown")]
