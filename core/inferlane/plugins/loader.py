"""Import one plugin module, hold it against the gate, register it: one line per fault, whatever goes wrong."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any

import msgspec
import pluggy
from pydantic import BaseModel

import inferlane.values
from inferlane import __version__
from inferlane.errors import PluginFault
from inferlane.plugins.boundary import AnswerError, Caller, checked, one_line
from inferlane.plugins.contract import new_manager
from inferlane.plugins.discovery import Candidate
from inferlane.plugins.gate import check_module
from inferlane.plugins.kinds import KINDS
from inferlane.values import Spec, configs


def load_module(candidate: Candidate) -> pluggy.PluginManager:
    """A manager that holds the candidate's module and nothing else. Raises :class:`PluginFault`.

    ``KeyboardInterrupt`` passes; ``SystemExit`` at import is a fault of the plugin like any other.
    """
    module = _import(candidate)
    faults = check_module(module)
    if faults:
        raise PluginFault(
            f"plugin {_name(candidate)} is refused [{candidate.entry_point}]: "
            f"{'; '.join(faults)}{_next_step(candidate)}"
        )
    manager = new_manager()
    try:
        manager.register(module, candidate.target)
    except (pluggy.PluginValidationError, ValueError, TypeError) as fault:
        if manager.is_registered(module):  # older pluggy leaves a refused plugin half registered
            manager.unregister(module)
        raise PluginFault(f"plugin {_name(candidate)} is refused: {one_line(fault)}{_next_step(candidate)}") from fault
    return manager


def make_caller(candidate: Candidate, manager: pluggy.PluginManager) -> Caller:
    """What calls the hooks of the candidate's module, once it is loaded."""
    return Caller(candidate.type, candidate.distribution, candidate.version, manager)


def load_spec(candidate: Candidate, manager: pluggy.PluginManager) -> Spec:
    """The Spec of the candidate's type, checked; raises :class:`PluginFault` when its module lists no such type."""
    facts = KINDS[candidate.kind]
    caller = make_caller(candidate, manager)
    listed = caller.ask_raw(facts.catalogue)
    if listed is None:
        raise PluginFault(
            f"plugin {_name(candidate)} is refused [{candidate.entry_point}]: it does not implement {facts.catalogue}, "
            f"so it adds no {candidate.kind}{_next_step(candidate)}"
        )
    try:
        specs = _check_specs(candidate, listed)
    except AnswerError as fault:
        raise caller.fault(f"hook {facts.catalogue} answered badly: {fault}") from fault
    if candidate.type not in specs:
        names = ", ".join(sorted(specs)) or "nothing"
        raise PluginFault(
            f"plugin {_name(candidate)} is refused [{candidate.entry_point}]: {facts.catalogue} lists {names}, "
            f"but not '{candidate.type}'{_next_step(candidate)}"
        )
    return specs[candidate.type]


def _check_specs(candidate: Candidate, listed: Any) -> dict[str, Spec]:
    facts = KINDS[candidate.kind]
    spec_class: type[Spec] = getattr(inferlane.values, facts.spec)
    base: type[BaseModel] = getattr(configs, facts.config)
    if not isinstance(listed, (list, tuple)):
        raise AnswerError(f"Expected `array`, got `{type(listed).__name__}`")
    specs: dict[str, Spec] = {}
    for position, item in enumerate(listed):
        if not isinstance(item, spec_class):
            raise AnswerError(f"Expected `{facts.spec}`, got `{type(item).__name__}` - at `$[{position}]`")
        model = item.config
        if not (isinstance(model, type) and issubclass(model, base)):
            raise AnswerError(f"Expected a subclass of `{facts.config}` - at `$[{position}].config`")
        bare = checked(facts.catalogue, (msgspec.structs.replace(item, config=None),))[0]
        if bare.type in specs:
            raise AnswerError(f"'{bare.type}' is listed twice - at `$[{position}].type`")
        specs[bare.type] = msgspec.structs.replace(bare, config=model)
    return specs


def _import(candidate: Candidate) -> object:
    name, _, attribute = (part.strip() for part in candidate.target.partition(":"))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what a module prints must not end up in --json output
            found: object = importlib.import_module(name)
            for part in filter(None, attribute.split(".")):
                found = getattr(found, part)
    except (Exception, SystemExit) as fault:
        raise PluginFault(
            f"plugin {_name(candidate)} cannot be imported [{candidate.entry_point}]: {one_line(fault)}"
            f"{_requirement(candidate)}{_import_step(candidate, fault)}"
        ) from fault
    return found


def _name(candidate: Candidate) -> str:
    return f"{candidate.type} ({candidate.label})"


def _requirement(candidate: Candidate) -> str:
    """Explains most import errors after an upgrade of one side."""
    return f"; it requires {candidate.requires}, installed is inferlane {__version__}" if candidate.requires else ""


def _import_step(candidate: Candidate, fault: BaseException) -> str:
    missing = getattr(fault, "name", None) if isinstance(fault, ModuleNotFoundError) else None
    own = candidate.target.partition(":")[0].strip()
    if missing and (own == missing or own.startswith(f"{missing}.")):
        if candidate.builtin:
            return _next_step(candidate)
        return (
            f"; its metadata in {candidate.folder} is stale or its code is gone: "
            f"pip install --force-reinstall {candidate.distribution}, or --disable {candidate.distribution}"
        )
    return _next_step(candidate)


def _next_step(candidate: Candidate) -> str:
    name = candidate.distribution
    if candidate.builtin:  # the core cannot be switched off
        return f"; the installation is damaged: pip install --force-reinstall {name}"
    return f"; upgrade it (pip install -U {name}) or switch it off (--disable {name})"
