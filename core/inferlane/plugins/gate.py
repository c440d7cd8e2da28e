"""What a module must satisfy before any of its hooks is called."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import pluggy

from inferlane import __version__
from inferlane.api import MIN_PLUGIN_API, PLUGIN_API
from inferlane.plugins.contract import Hook, hooks

PREFIX = "inferlane_"


def check_module(module: object) -> tuple[str, ...]:
    """Every reason to refuse ``module`` as a plugin, one line each; empty when it is fit.

    Looks at marks and signatures only and calls nothing. A module of another plugin API is judged by that alone, since
    its hooks may be those of another contract.
    """
    if not isinstance(module, ModuleType):
        what = "a class" if inspect.isclass(module) else f"an object of type {type(module).__name__}"
        return (f"its entry point names {what}; it must name a module that holds hook implementations",)
    api = _check_api(vars(module).get("PLUGIN_API"))
    if api:
        return (api,)
    manager = pluggy.PluginManager("inferlane")
    marked = {
        name: options
        for name in sorted(vars(module))
        if (options := manager.parse_hookimpl_opts(module, name)) is not None
    }
    faults = list(_look_alikes(module, marked))
    for name, options in marked.items():
        faults += _check_hook(options["specname"] or name, getattr(module, name), options)
    if not marked and not faults:
        faults.append("it implements no hook; mark functions with @inferlane.api.hookimpl")
    return tuple(faults)


def _check_api(api: object) -> str:
    if api is None:
        return f"it does not say which plugin API it was written for; add PLUGIN_API = {PLUGIN_API}"
    if not isinstance(api, int) or isinstance(api, bool):
        return f"PLUGIN_API must be an integer, not {api!r}"
    accepted = f"this inferlane {__version__} accepts {MIN_PLUGIN_API} to {PLUGIN_API}"
    if api > PLUGIN_API:
        return f"it needs plugin API {api}, {accepted}; upgrade the core: pip install -U inferlane"
    if api < MIN_PLUGIN_API:
        return f"it was written for plugin API {api}, {accepted}; upgrade the plugin"
    return ""


def _look_alikes(module: ModuleType, marked: Iterable[str]) -> Iterator[str]:
    """Functions that are named like hooks and would silently never be called."""
    for name in sorted(vars(module)):
        if name.startswith(PREFIX) and name not in marked and inspect.isroutine(getattr(module, name)):
            yield f"{name} is not marked with @inferlane.api.hookimpl, so it would never be called"


def _check_hook(name: str, function: Callable[..., Any], options: Any) -> Iterator[str]:
    hook = hooks().get(name)
    if hook is None:
        if not options["optionalhook"]:
            yield f"unknown hook {name}{suggest(name, hooks())}"
        return
    if options["wrapper"] or options["hookwrapper"]:
        yield f"{name} is a wrapper; hooks of a type have one owner and nothing to wrap"
    yield from _check_signature(hook, function)


def _check_signature(hook: Hook, function: Callable[..., Any]) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
            text = str(parameter).partition(":")[0]
            yield f"{hook.name}: parameter {text} must be a plain positional one"
        elif parameter.default is not parameter.empty:
            yield f"{hook.name}: parameter {parameter.name} must not have a default"
        elif parameter.name not in hook.parameters:
            offered = ", ".join(hook.parameters) or "none"
            hint = suggest(parameter.name, hook.parameters)
            yield f"{hook.name}: unknown parameter {parameter.name}{hint} (it offers: {offered})"


def suggest(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?``, or nothing when no known word is near."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""
