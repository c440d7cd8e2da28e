"""``plugins show`` prints what a recipe's author needs."""

from __future__ import annotations

import pytest

from inferlane.cli.main import main
from inferlane.testing.plugin_site import PluginSite

SOURCE = """
from pydantic import Field
from inferlane.api import *
PLUGIN_API = 1
class Config(EngineConfig):
    fast: bool = Field(default=True, description="go fast")
    name: str | None = Field(description="what to call it")
    many: dict[str, int] = Field(default_factory=dict)
@hookimpl
def inferlane_engines():
    return [EngineSpec(type="x", summary="Engine X", config=Config, speaks=("pd", "openai"), install="pip install x",
                       owned_args={"port": "use ports"})]
@hookimpl
def inferlane_engine_command(engine, process):
    return None
"""


def test_show_prints_settings_protocols_hooks_and_arguments(
    plugin_site: PluginSite, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin_site.add_engine("plug-x", "x", SOURCE, version="3.1")

    assert main(["plugins", "show", "engine", "x"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "engine x: Engine X",
        "from plug-x 3.1, plug_x",
        "",
        "settings:",
        "  fast (bool, default True): go fast",
        "  name (str | None, required): what to call it",
        "  many (dict[str, int], default {})",
        "",
        "speaks:",
        "  pd",
        "  openai",
        "",
        "arguments that the plan sets:",
        "  port: use ports",
        "",
        "hooks:",
        "  inferlane_engines",
        "  inferlane_engine_command",
        "",
        "program:",
        "  pip install x",
    ]
