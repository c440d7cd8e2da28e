"""The examination behind ``inferlane doctor``: every plugin is loaded, each isolated from the others."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from inferlane import __version__
from inferlane.errors import PluginFault
from inferlane.plugins.discovery import Candidate
from inferlane.plugins.facade import Owner, in_type_order
from inferlane.plugins.first_party import first_party_table
from inferlane.plugins.registry import Plugins, conflict_text
from inferlane.plugins.states import Entry

Level = Literal["ok", "off", "warning", "bad"]
LIBRARIES = ("pluggy", "pydantic", "msgspec", "click")


@dataclass(frozen=True, slots=True)
class Health:
    """One line of the report. ``bad`` concerns this project itself, ``warning`` somebody else's plugin."""

    level: Level
    subject: str
    detail: str = ""


def examine(plugins: Plugins) -> tuple[Health, ...]:
    """Environment, then metadata, then each type, then what the loaded plugins find on this machine."""
    own = frozenset(first_party_table())
    report = [*_environment(), *_metadata(plugins)]
    conflicts: dict[tuple[str, str], list[Entry]] = {}
    for entry in plugins.entries():
        if entry.state == "conflict":
            conflicts.setdefault((entry.candidate.kind, entry.candidate.type), []).append(entry)
        else:
            report.append(_examine_entry(plugins, entry, own))
    report += [Health("warning", _subject(rivals[0].candidate), conflict_text(rivals)) for rivals in conflicts.values()]
    for owner in in_type_order(plugins.loaded()):
        report += _ask(owner, own)
    return tuple(report)


def _environment() -> Iterator[Health]:
    yield Health("ok", "interpreter", f"{sys.executable} ({platform.python_version()}), prefix {sys.prefix}")
    yield Health("ok", "inferlane", f"{__version__}, {Path(__file__).resolve().parents[1]}")
    for library in LIBRARIES:
        try:
            yield Health("ok", library, version(library))
        except PackageNotFoundError:
            yield Health("bad", library, "has no installed metadata; reinstall it")


def _metadata(plugins: Plugins) -> Iterator[Health]:
    if not any(entry.candidate.builtin for entry in plugins.entries()):
        yield Health("bad", "built-in types", "none found: inferlane has no installed metadata; pip install inferlane")
    for line in plugins.unreadable():
        yield Health("warning", "metadata", line)
    for switch in plugins.idle_switches():
        yield Health("warning", switch.origin, "matches no installed type or distribution")


def _examine_entry(plugins: Plugins, entry: Entry, own: frozenset[str]) -> Health:
    candidate = entry.candidate
    subject = _subject(candidate)
    if entry.state == "disabled":
        return Health("off", subject, f"switched off {entry.reason}")
    if entry.state != "ok":
        return Health("warning", subject, f"{entry.state}: {entry.reason}")
    try:
        plugins.owner(candidate.kind, candidate.type)
    except PluginFault as fault:
        return Health(_level(candidate.builtin, candidate.project, own), subject, str(fault))
    return Health("ok", subject, candidate.target)


def _ask(owner: Owner, own: frozenset[str]) -> Iterator[Health]:
    """What a plugin finds on this machine says nothing about the installation, so it is a warning at most."""
    subject = f"{owner.type} ({owner.distribution} {owner.version})"
    try:
        findings = owner.doctor()
    except PluginFault as fault:
        yield Health(_level(owner.builtin, owner.distribution, own), subject, str(fault))
        return
    for finding in findings:
        detail = " ".join(finding.detail.split())
        yield Health("ok" if finding.ok else "warning", f"{subject}: {finding.check}", detail)


def _level(builtin: bool, project: str, own: frozenset[str]) -> Level:
    return "bad" if builtin or project in own else "warning"


def _subject(candidate: Candidate) -> str:
    return f"{candidate.kind} {candidate.type} ({candidate.label})"
