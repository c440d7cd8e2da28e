"""What is wrong with mounts: each is written as one word, ``host:container[:options]``, in a list with commas."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from inferlane.config.paths import Path
from inferlane.config.translate import Complaint

TAKEN = {"/model": "the model (model.path)", "/logs": "the logs"}
"""Container paths that the plan mounts itself, and what for."""


def container_path(target: str) -> str:
    """Where a mount lands, in one spelling: ``/data/:ro`` is ``/data``."""
    return posixpath.normpath(target.partition(":")[0])


def mount_faults(
    tables: Mapping[str, Mapping[str, str]], lists: Mapping[str, Sequence[str]] | None = None
) -> Iterator[Complaint]:
    """The faults of all mounts of one file. ``tables``: host to container, by their key; ``lists``: whole mounts."""
    taken = dict(TAKEN)
    mounts: list[tuple[Path, str, str]] = [
        ((key, host), host, target) for key, table in tables.items() for host, target in table.items()
    ]
    for key, items in (lists or {}).items():
        for index, item in enumerate(items):
            host, _, target = item.partition(":")
            mounts.append(((key, index), host, target))
    for path, host, target in mounts:
        fault = _fault(host, target)
        inside = container_path(target)
        if fault is None and inside in taken:
            fault = f"{inside} in the container is taken already, by {taken[inside]}; choose another place for '{host}'"
        if fault is not None:
            yield Complaint(path, fault)
        taken.setdefault(inside, f"{path[0]} from '{host}'")


def _fault(host: str, target: str) -> str | None:
    inside, colon, options = target.partition(":")
    for text in (host, target):
        if "," in text:
            return f"'{text}' holds a comma, which separates mounts; mount a folder without one in its name"
    if ":" in host:
        return f"'{host}' holds a colon, which separates host and container; write only the host path before the value"
    if not host or not inside:
        return f"'{host}:{target}' has an empty side; write the host path and the path in the container"
    if not inside.startswith(("/", "$", "{")):
        return f"'{inside}' is not an absolute path in the container; write /{inside}"
    if colon and (not options or ":" in options or "/" in options.partition("=")[0]):
        return f"'{options}' is no list of mount options; write host, container path and at most options such as ro"
    return None
