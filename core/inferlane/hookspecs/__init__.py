"""The hook specifications, one module per kind. ``inferlane plugins hooks`` prints them.

Rules for every hook: plain positional parameters, annotated, no defaults and no ``*``; an implementation names the
parameters it wants; hooks compute and the core acts (no I/O, no clock, no randomness, no environment). Behaviour hooks
are ``firstresult`` and are called on the owner of the type only. ``None`` means the default, anything else is checked.
"""

from inferlane.hookspecs import accelerators, benchmarks, common, engines, launchers, routers, services

MODULES = (engines, routers, services, accelerators, benchmarks, launchers, common)

__all__ = ["MODULES"]
