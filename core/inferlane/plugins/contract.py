"""The hook specifications as a table: names, parameters, answer types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, get_type_hints

import msgspec
import pluggy

from inferlane.hookspecs import MODULES


class Hook(msgspec.Struct, frozen=True):
    """One hook of the contract. ``firstresult``: called on the owner of a type only, and answers with one value."""

    name: str
    module: ModuleType
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    firstresult: bool

    @property
    def answer(self) -> Any:
        """The annotated return type, resolved."""
        return get_type_hints(self.function)["return"]


def new_manager() -> pluggy.PluginManager:
    """A plugin manager that knows every hook of the contract."""
    manager = pluggy.PluginManager("inferlane")
    for module in MODULES:
        manager.add_hookspecs(module)
    return manager


@functools.cache
def hooks() -> Mapping[str, Hook]:
    """Every hook by name, in the order in which the contract lists them."""
    manager = pluggy.PluginManager("inferlane")
    table: dict[str, Hook] = {}
    for module in MODULES:
        for name, function in vars(module).items():
            options = manager.parse_hookspec_opts(module, name)
            if options is not None:
                parameters = tuple(inspect.signature(function).parameters)
                table[name] = Hook(name, module, function, parameters, bool(options["firstresult"]))
    return table
