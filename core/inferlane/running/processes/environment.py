"""The exact environment of each process: a small base, what the plan sets, nothing of the login shell besides."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from inferlane.errors import RunFault
from inferlane.planning.secrets import PREFIX, fill
from inferlane.running.folder.secrets import REFERENCE
from inferlane.running.leftovers.sweep import RUN_DIR, RUN_ID
from inferlane.values import Plan, PlannedProcess

BASE = ("PATH", "HOME", "USER", "LANG", "LC_*", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


def base_environment(launcher: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """What every process inherits: ``BASE`` and the names (or ``PREFIX_*``) of ``pass_environment``; never proxies.

    The folder of our own interpreter ends PATH, so that programs installed beside us are found.
    """
    patterns = (*BASE, *passed)
    env = {
        name: value
        for name, value in launcher.items()
        if name.lower() not in _PROXIES
        and not name.startswith(PREFIX)
        and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }
    own = str(Path(sys.executable).parent)
    env["PATH"] = f"{env['PATH']}:{own}" if env.get("PATH") else f"/usr/local/bin:/usr/bin:/bin:{own}"
    return env


def proxies_asked_for(passed: Collection[str]) -> tuple[str, ...]:
    """Names of ``pass_environment`` that are never passed; the caller says so."""
    return tuple(name for name in passed if name.lower() in _PROXIES)


def process_environment(
    process: PlannedProcess, base: Mapping[str, str], launcher: Mapping[str, str], run_id: str, folder: Path
) -> dict[str, str]:
    """Base, then the plan's, then the device mask, without the names it removes. ``${NAME}`` is read from ``launcher``.

    Raises ``RunFault`` that names a variable that is not set.
    """
    planned = {**process.env, **process.mask}
    env = {name: value for name, value in base.items() if name not in process.unset}
    for name, value in planned.items():
        env[name] = _resolved(process.name, name, value, launcher)
    env[RUN_ID] = run_id
    env[RUN_DIR] = str(folder)
    return env


def _resolved(process: str, name: str, value: str, launcher: Mapping[str, str]) -> str:
    reference = REFERENCE.fullmatch(value)
    if reference is None:
        return fill(value, launcher)
    found = launcher.get(reference[1])
    if found is None:
        raise RunFault(f"{process}: {name} refers to ${{{reference[1]}}}, which is not set here; export {reference[1]}")
    return found


def environments(
    plan: Plan, launcher: Mapping[str, str], passed: Collection[str], run_id: str, folder: Path
) -> dict[str, dict[str, str]]:
    """Every process's environment, before anything starts; raises one ``RunFault`` with a line per fault."""
    base = base_environment(launcher, passed)
    found: dict[str, dict[str, str]] = {}
    faults: list[str] = []
    for process in plan.processes:
        try:
            found[process.name] = process_environment(process, base, launcher, run_id, folder)
        except RunFault as fault:
            faults.append(str(fault))
    if faults:
        raise RunFault("\n".join(faults))
    return found


def revealed(plan: Plan, secrets: Mapping[str, str]) -> Plan:
    """The plan with the values of hidden arguments and files, for whoever starts processes and never to be written.

    Our own programs are not told: what they are given can be read in the process list, and they have no use for it.
    """
    return replace(plan, processes=tuple(_revealed(process, secrets) for process in plan.processes))


def _revealed(process: PlannedProcess, secrets: Mapping[str, str]) -> PlannedProcess:
    texts = [fill(file.text, secrets) for file in process.files]
    files = tuple(
        file if text == file.text else replace(file, text=text, secret=True)
        for file, text in zip(process.files, texts, strict=True)
    )
    if _is_ours(process):
        return replace(process, files=files)
    return replace(process, files=files, args=tuple(fill(word, secrets) for word in process.args))


def _is_ours(process: PlannedProcess) -> bool:
    """Stand-ins and the load client: none of them needs a secret that is meant for a real program."""
    python, *words = process.program
    return python == sys.executable and words[:1] == ["-m"] and words[1].partition(".")[0].startswith("inferlane")
