"""What every twin does before it serves: read its orders, check flags and device mask, take its ports."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from inferlane.errors import EXIT_FAILED, EXIT_USAGE, InferlaneError
from inferlane.flags import load_flag_table
from inferlane.twins.faults import Fault, parse_fault
from inferlane.twins.orders import VARIABLE, Orders, read_orders

BACKLOG = 1024


class StartError(Exception):
    """Why a twin does not start: one line, and its exit status."""

    def __init__(self, message: str, status: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.status = status


class OneLineParser(argparse.ArgumentParser):
    """A parser that takes no abbreviations and tells a fault in one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog=prog, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def say(line: str) -> None:
    """A line of the twin's log."""
    print(line, flush=True)


def warn(line: str) -> None:
    """A line on stderr."""
    print(line, file=sys.stderr, flush=True)


def guarded(name: str, main: Callable[[], int]) -> NoReturn:
    """Run a twin's main function and exit with its status; a ``StartError`` is told in one line."""
    try:
        status = main()
    except StartError as fault:
        warn(f"{name}: {fault}")
        status = fault.status
    sys.exit(status)


def own_orders(environ: Mapping[str, str]) -> Orders | None:
    """The orders that ``INFERLANE_TWIN`` points at; ``None`` if it is not set."""
    path = environ.get(VARIABLE)
    if not path:
        return None
    try:
        return read_orders(Path(path))
    except (OSError, msgspec.MsgspecError) as error:
        raise StartError(f"{VARIABLE}: can not read {path}: {error}") from error


def prepare(orders: Orders | None, args: Sequence[str], environ: Mapping[str, str] | None = None) -> dict[int, Held]:
    """Check the command line and the mask, then take all held ports. Raises ``StartError``."""
    if orders is None:
        return {}
    check_flags(orders, args)
    check_mask(orders, os.environ if environ is None else environ)
    return hold_ports(orders)


def ordered_fault(orders: Orders, able: Collection[str] | None = None) -> Fault:
    """The fault of the orders. Raises ``StartError`` if it is no known word, or not one of ``able`` (``None``: all)."""
    try:
        fault = parse_fault(orders.fault)
    except ValueError as error:
        raise StartError(str(error)) from error
    if able is not None:
        check_able(fault, able)
    return fault


def check_able(fault: Fault, able: Collection[str]) -> None:
    """A fault that this twin cannot have must not pass for one that struck. Raises ``StartError``."""
    if fault.kind and fault.kind not in able:
        raise StartError(
            f"fault {fault.kind} is none that this twin can have; it can have {', '.join(able)}", EXIT_USAGE
        )


def room_wait_s(orders: Orders | None) -> float:
    """How long a decode waits for its prefill: the option ``room_wait_s`` of the orders, or 5 s."""
    text = orders.options.get("room_wait_s", "5") if orders else "5"
    try:
        return float(text)
    except ValueError as error:
        raise StartError(f"option room_wait_s: '{text}' is not a number") from error


def check_flags(orders: Orders, args: Sequence[str]) -> None:
    """Read ``args`` by the engine's table; a fault ends a strict twin with status 2, else each is a line on stderr."""
    if orders.flags is None:
        return
    try:
        faults = load_flag_table(orders.flags).check(args)
    except InferlaneError as error:
        raise StartError(str(error)) from error
    if faults and orders.strict_flags:
        raise StartError("; ".join(fault.message for fault in faults), EXIT_USAGE)
    for fault in faults:
        warn(f"warning: {fault.message}")


def check_mask(orders: Orders, environ: Mapping[str, str]) -> None:
    """Each device variable must be exactly what the plan says, and the others absent."""
    wrong = [
        f"{name} is {_shown(environ.get(name))}, the plan says '{value}'"
        for name, value in orders.mask.items()
        if environ.get(name) != value
    ]
    wrong += [f"{name} is '{environ[name]}', the plan removes it" for name in orders.absent if name in environ]
    if wrong:
        raise StartError("device mask is not the planned one: " + "; ".join(wrong))


def _shown(value: str | None) -> str:
    return "not set" if value is None else f"'{value}'"


class Held(socket.socket):
    """A listening socket that knows the name of its port block."""

    block: str = ""


def hold_ports(orders: Orders) -> dict[int, Held]:
    """Listen on each number of each held block; raises ``StartError`` for the first that can not be had."""
    held: dict[int, Held] = {}
    try:
        for name, block in orders.ports.items():
            for number in range(block.first, block.first + block.width) if block.held else ():
                if number in held:
                    raise StartError(f"port {number} is in two blocks, {held[number].block} and {name}")
                held[number] = listen(orders.host, number, name)
    except StartError:
        for taken in held.values():
            taken.close()
        raise
    return held


def listen(host: str, port: int, name: str) -> Held:
    """Listen on one port; raises ``StartError`` if it is in use or the address is not ours."""
    held = Held(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    held.block = name
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.setblocking(False)
    try:
        held.bind((host, port))
        held.listen(BACKLOG)
    except OSError as error:
        held.close()
        text = error.strerror if error.errno in errno.errorcode and error.strerror else str(error)
        raise StartError(f"port {port} ({name}) on {host}: {text}") from error
    return held


def serving_socket(orders: Orders | None, held: dict[int, Held], host: str, port: int, name: str) -> Held:
    """Take the socket to serve ``port`` on out of ``held``; with orders it must be one of the planned ports."""
    if (taken := held.pop(port, None)) is not None:
        return taken
    if orders is not None and orders.ports:
        planned = ", ".join(f"{key} {block.first}" for key, block in orders.ports.items() if block.held) or "none"
        raise StartError(
            f"the command line says {name} port {port}, which the plan did not give it (it has: {planned})"
        )
    return listen(host, port, name)
