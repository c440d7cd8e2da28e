"""The pluggy markers of the project."""

import pluggy

hookspec = pluggy.HookspecMarker("inferlane")
hookimpl = pluggy.HookimplMarker("inferlane")
