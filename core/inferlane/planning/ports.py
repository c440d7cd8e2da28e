"""One allocator for all port blocks: one interval list per node, first fit from each block's base."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping

from inferlane.values import Port, Problem

HIGHEST = 32767
"""Numbers above belong to the kernel's ephemeral range on most machines; the allocator never picks one."""


class PortClashError(Exception):
    """A block cannot be had; holds the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class PortMap:
    """Ports taken so far. ``shared``: all nodes share one port space."""

    def __init__(self, in_use: Mapping[str, Iterable[int]], shared: bool = False) -> None:
        self._shared = shared
        self._used: dict[str, list[tuple[int, int, str]]] = {}
        self._next: dict[tuple[str, int, int], int] = {}
        for node, numbers in in_use.items():
            taken = self._used.setdefault(self._space(node), [])
            taken.extend((number, number, "another program") for number in numbers)
        for taken in self._used.values():
            taken.sort()

    def _space(self, node: str) -> str:
        return "*" if self._shared else node

    def take(self, node: str, port: Port, owner: str, pinned: int | None = None, where: str = "") -> int:
        """The first number of a free block for ``port`` on ``node``; raises :class:`PortClashError`."""
        space = self._space(node)
        used = self._used.setdefault(space, [])
        fixed = port.pinned or pinned is not None
        want = pinned if pinned is not None else port.base
        start = want if fixed else max(want, self._next.get((space, want, port.width), 0))
        start = self._fit(used, start, port.width, fixed, node, owner, where)
        if not fixed and start + port.width - 1 > HIGHEST:
            message = f"no {port.width} free port(s) from {want} to {HIGHEST} on {node} for {owner}; set a lower number"
            raise PortClashError(Problem(message=message, where=where))
        insort(used, (start, start + port.width - 1, owner))
        if not fixed:
            self._next[space, want, port.width] = start + port.width
        return start

    @staticmethod
    def _fit(
        used: list[tuple[int, int, str]], start: int, width: int, fixed: bool, node: str, owner: str, where: str
    ) -> int:
        index = max(0, bisect_left(used, (start, 0, "")) - 1)
        while index < len(used):
            first, last, holder = used[index]
            index += 1
            if last < start:
                continue
            if first > start + width - 1:
                break
            if fixed:
                message = f"port {start} on {node}: wanted by {owner}, held by {holder}; set another number"
                raise PortClashError(Problem(message=message, where=where))
            start = last + 1
        return start
