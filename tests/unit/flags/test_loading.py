"""Tables as files of a package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from inferlane.errors import PluginFault
from inferlane.flags import load_flag_table


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "flagged_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "flagged_package", raising=False)
    return folder


def test_a_table_is_read_from_a_package(package: Path) -> None:
    table = {"program": "serve", "version": "1", "flags": [{"names": ["--port", "-p"], "type": "int"}]}
    (package / "table.json").write_text(json.dumps(table))
    loaded = load_flag_table("flagged_package:table.json")
    assert loaded.version == "1"
    assert (loaded.usual("-p"), loaded.usual("--port=1"), loaded.usual("--prot")) == ("--port", "--port", None)
    assert loaded.check(["--port", "x"])


@pytest.mark.parametrize("resource", ["no_such_package:table.json", "flagged_package:none.json", "flagged_package"])
def test_a_missing_table_is_told_in_one_line(package: Path, resource: str) -> None:
    with pytest.raises(PluginFault, match=f"flag table {resource}: can not be read") as caught:
        load_flag_table(resource)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_table_is_told_in_one_line(package: Path) -> None:
    (package / "table.json").write_text('{"program": "serve"}')
    with pytest.raises(PluginFault, match="not a flag table"):
        load_flag_table("flagged_package:table.json")
