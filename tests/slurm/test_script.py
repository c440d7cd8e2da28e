"""The job script on a real cluster: hostile values, and frozen files inside of it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slurm

QUICKSTART = str(Path(__file__).parents[2] / "examples/quickstart.yaml")
ODD = "a b; $(touch pwned) `touch pwned` 'q' \"d\" \\ # ${HOME} %j"
JSON = '{"k": "v w", "l": [1, 2]}'


def test_hostile_values_arrive_as_they_are_and_do_nothing(tool: Callable[..., Any]) -> None:
    site = tool("ada")
    words = [f"sbatch_directives.job-name={json.dumps(ODD)}", f"slurm.account={json.dumps(ODD)}"]
    words += [f"environment.ODD_A={json.dumps(ODD)}", f"environment.ODD_J={json.dumps(JSON)}"]
    sets = [part for word in words for part in ("--set", word)]
    following = site.start("run", QUICKSTART, "--serve", *sets)
    try:
        site.until("run.ready")
        names = site.lab.run(["squeue", "--noheader", "--format=%j"]).stdout
        read = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a ^ODD_ | sort -u"
        seen = site.lab.on("node-02", ["sh", "-c", read]).stdout
    finally:
        site.call("cancel")
        following.communicate(timeout=60)
    assert names.rstrip("\n") == ODD
    assert seen == f"ODD_A={ODD}\nODD_J={JSON}\n"
    assert not list(site.outputs.rglob("pwned"))
    for node in site.lab.nodes:
        assert site.lab.on(node, ["find", "/tmp", "/root", str(site.lab.folder), "-name", "pwned"]).stdout == ""


def test_frozen_files_travel_inside_the_script_where_no_file_system_is_shared(tool: Callable[..., Any]) -> None:
    """Each node of a lab, and its head, has a /tmp of its own."""
    site = tool("ada", runtime_config_transport="embedded")
    site.outputs = Path(f"/tmp/embedded-{secrets.token_hex(4)}")
    try:
        done = site.call("run", QUICKSTART)
        said = site.lab.on("node-01", ["sh", "-c", f"cat {site.outputs}/*/run.json"]).stdout
        log = site.lab.on("node-01", ["sh", "-c", f"cat {site.outputs}/*/job.log; ls /tmp"]).stdout
        assert said, done.stderr + log
        verdict = json.loads(said)
        assert (done.returncode, verdict["verdict"], verdict["summary"]["requests"]) == (0, "success", 80), log
        modes = site.lab.on("node-01", ["sh", "-c", f"stat -c %a {site.outputs}/* {site.outputs}/*/frozen/*"]).stdout
        assert modes.split() == ["700", *["600"] * 4]
    finally:
        for node in site.lab.nodes:
            site.lab.on(node, ["rm", "-rf", str(site.outputs)])
        site.lab.run(["rm", "-rf", str(site.outputs)])
