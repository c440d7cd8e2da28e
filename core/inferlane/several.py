"""The same work for every variant that a reference means, and what is wrong with them told once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from inferlane.config import LoadedCluster, choose_variants, here, load_cluster, load_variant
from inferlane.errors import InferlaneError, PluginFault, UsageFault
from inferlane.plugins import Plugins
from inferlane.preparation import Prepared, Request, checked, on_site

T = TypeVar("T")

_PLACE = re.compile(r"(.*?):(\d+):(\d+): ")
_NAMED = 4


class Several(NamedTuple, Generic[T]):
    """``done``: reference and result of each variant that holds; a single one is named as the user did. ``fault``:
    everything that is wrong with the others, or with all.
    """

    done: tuple[tuple[str, T], ...]
    names: tuple[str, ...]
    fault: InferlaneError | None = None

    def results(self) -> tuple[tuple[str, T], ...]:
        """What was done; raises if anything is wrong."""
        if self.fault is not None:
            raise self.fault
        return self.done

    def once(self, lines: Iterable[tuple[str, str]]) -> list[str]:
        """Lines with the reference each is about, in order of place: each once, with its variants unless all do."""
        return _once(lines, self.names)


def for_each(request: Request, plugins: Plugins, work: Callable[[str, Prepared], T]) -> Several[T]:
    """``work`` on every variant, by its reference. Raises only for what leaves no variant to look at."""
    chosen = choose_variants(request.recipe, request.unsets)
    single = len(chosen.variants) == 1
    names = tuple(request.recipe if single else f"{chosen.file}:{variant.name}" for variant in chosen.variants)
    done: list[tuple[str, T]] = []
    wrong: list[tuple[str, str]] = [(name, str(fault)) for fault in chosen.faults for name in names]
    kinds: set[type[InferlaneError]] = {UsageFault} if wrong else set()
    cluster: LoadedCluster | None = None

    def keep(fault: InferlaneError, *about: str) -> None:
        kinds.add(PluginFault if isinstance(fault, PluginFault) else UsageFault)
        wrong.extend((name, line) for line in str(fault).splitlines() for name in about)

    try:
        cluster = load_cluster(request.cluster, os.environ, here())
    except InferlaneError as fault:
        keep(fault, *names)
    for name, variant, unsets in zip(names, chosen.variants, chosen.unsets, strict=True):
        try:
            recipe = checked(lambda: load_variant(chosen.file, variant, request.sets, unsets), plugins)  # noqa: B023
            if cluster is not None:
                done.append((name, work(name, on_site(recipe, cluster, plugins))))
        except InferlaneError as fault:
            keep(fault, name)
    faulty = {name for name, _ in wrong}
    return Several(tuple(item for item in done if item[0] not in faulty), names, _fault(wrong, names, kinds))


def _fault(
    wrong: Iterable[tuple[str, str]], names: tuple[str, ...], kinds: set[type[InferlaneError]]
) -> InferlaneError | None:
    if not kinds:
        return None
    kind = UsageFault if UsageFault in kinds else PluginFault
    return kind("\n".join(_once(wrong, names)))


def _once(lines: Iterable[tuple[str, str]], names: tuple[str, ...]) -> list[str]:
    about: dict[str, dict[str, None]] = {}
    for name, line in lines:
        about.setdefault(line, {})[name] = None
    return [
        line if len(those) == len(names) else f"{line} [{_names(list(those))}]"
        for line, those in sorted(about.items(), key=lambda item: _by_place(item[0]))
    ]


def _names(references: list[str]) -> str:
    """The variants alone; the file stands in front of the line."""
    names = [reference.rpartition(":")[2] for reference in references]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _by_place(line: str) -> tuple[bool, str, int, int]:
    match = _PLACE.match(line)
    return (False, match[1], int(match[2]), int(match[3])) if match else (True, "", 0, 0)
