"""Which devices of which nodes each worker gets. Totals are checked first, and no device is given twice."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inferlane.values import Group, Node, Problem, Slot


class Wish(msgspec.Struct, frozen=True):
    """One role's wish: its workers, and how many nodes it states (``None`` = shares those of the role before)."""

    group: Group
    nodes: int | None


class Placed(msgspec.Struct, frozen=True):
    """One worker with its share of each of its nodes."""

    group: Group
    worker: int
    slots: tuple[Slot, ...]


def nodes_per_worker(gpus: int, gpus_per_node: int) -> int:
    """How many nodes one worker spans."""
    return max(1, -(-gpus // gpus_per_node))


def check_totals(wishes: Sequence[Wish], gpus_per_node: int, spread: bool = False) -> list[Problem]:
    """Every role must fit the nodes it states, before anything is placed."""
    problems = []
    for wish in wishes:
        group = wish.group
        if group.gpus > gpus_per_node and group.gpus % group.nodes:
            problems.append(
                Problem(
                    where=f"roles.{group.role}.gpus",
                    message=f"{group.gpus} GPUs do not divide over {group.nodes} nodes of {gpus_per_node}; "
                    f"give a worker a multiple of {gpus_per_node}",
                )
            )
        need = _nodes_needed(group, gpus_per_node, spread)
        if wish.nodes is not None and need > wish.nodes:
            problems.append(
                Problem(
                    where=f"roles.{group.role}.nodes",
                    message=f"{group.workers} worker(s) of {group.gpus} GPUs need {need} node(s) of {gpus_per_node}, "
                    f"but {wish.nodes} stated",
                )
            )
        elif wish.nodes is not None and need < wish.nodes:
            problems.append(
                Problem(
                    where=f"roles.{group.role}.nodes",
                    severity="warning",
                    message=f"{wish.nodes} nodes stated, but {group.workers} worker(s) of {group.gpus} GPUs fill only "
                    f"{need}; the others stay empty",
                )
            )
    return problems


def _nodes_needed(group: Group, gpus_per_node: int, spread: bool) -> int:
    if group.nodes > 1 or spread:
        return group.workers * group.nodes
    fit = max(1, gpus_per_node // group.gpus)
    return -(-group.workers // fit)


def place(
    wishes: Sequence[Wish], nodes: Sequence[Node], gpus_per_node: int, spread: bool = False
) -> tuple[list[Placed], list[Problem]]:
    """Pack workers left to right in plan order; a role that shares goes on where the one before ended.

    A role that states its nodes starts on fresh ones. A worker that needs whole nodes never starts on a node that is
    partly used. ``spread`` gives each smaller worker a node of its own.
    """
    placed: list[Placed] = []
    node = offset = reserved = 0
    for wish in wishes:
        group = wish.group
        if wish.nodes is not None:  # a role keeps the nodes it states, also those it leaves empty
            node, offset = max(reserved, node + bool(offset)), 0
            reserved = node + wish.nodes
        for worker in range(group.workers):
            whole = group.gpus >= gpus_per_node or group.nodes > 1
            if offset and (whole or offset + group.gpus > gpus_per_node):
                node, offset = node + 1, 0
            if node + group.nodes > len(nodes):
                return placed, [_short(wishes, wish, nodes, gpus_per_node)]
            share = group.gpus // group.nodes
            positions = tuple(range(offset, offset + share))
            slots = tuple(Slot(node=nodes[node + k], gpus=positions) for k in range(group.nodes))
            placed.append(Placed(group, worker, slots))
            if whole:
                node += group.nodes
                continue
            offset += group.gpus
            if offset == gpus_per_node or spread:
                node, offset = node + 1, 0
    return placed, []


def _short(wishes: Sequence[Wish], wish: Wish, nodes: Sequence[Node], gpus_per_node: int) -> Problem:
    need = sum(w.group.workers * w.group.gpus for w in wishes)
    return Problem(
        where=f"roles.{wish.group.role}",
        message=f"the workers need {need} GPUs, packed without splitting a worker over partly used nodes; "
        f"{len(nodes)} node(s) of {gpus_per_node} are not enough",
    )
