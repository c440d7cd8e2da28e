"""Which services run: those the recipe declares, and those that engines, routers or services ask for."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from inferlane.config import parse_block
from inferlane.errors import Refused
from inferlane.planning.layout_check import check_layout
from inferlane.plugins import Plugins, Service
from inferlane.values import Fleet, Node, Problem, ServiceLayout, ServiceRequest
from inferlane.values.configs import ServiceConfig

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names of services become names of processes, logs and folders."""

IMPLIED = "services"
"""The recipe path of a service that no item of the recipe declares."""

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


class ServiceUse(msgspec.Struct, frozen=True):
    """One service of the run. ``where``: its recipe path."""

    name: str
    owner: Service
    config: ServiceConfig
    layout: ServiceLayout
    where: str


def collect_services(
    declared: Iterable[Mapping[str, Any]], wanted: Iterable[ServiceRequest], fleet: Fleet, plugins: Plugins
) -> list[ServiceUse]:
    """Declared services in order, then implied ones, to a fixed point. A declared (or external) service of the asked
    type meets the request; two different option sets for one implied type are refused.
    """
    uses: dict[str, ServiceUse] = {}
    asked: dict[str, ServiceRequest] = {}
    requests = list(wanted)
    for index, block in enumerate(declared):
        use = None if switched_off(block) else _use(block, f"services[{index}]", fleet, plugins)
        if use is None or not use.config.enabled:
            continue
        _add(uses, use)
        requests += use.layout.services
    types = {use.owner.type for use in uses.values()}
    while requests:
        request = requests.pop(0)
        if request.type in asked:
            if asked[request.type].options != request.options:
                raise Refused([Problem(where="services", message=_differ(request, asked[request.type]))])
            continue
        if request.type in types:
            continue
        asked[request.type] = request
        use = _use({"type": request.type, **request.options}, IMPLIED, fleet, plugins)
        _add(uses, use)
        requests += use.layout.services
    return list(uses.values())


def switched_off(block: Mapping[str, Any]) -> bool:
    """A service that the recipe leaves out needs no plugin either."""
    return block.get("enabled") is False


def external_node(use: ServiceUse) -> Node:
    """The node that stands for the host of an external service."""
    return Node(name="x_" + re.sub(r"[^a-z0-9]", "_", use.name.lower()))


def external_addresses(uses: Iterable[ServiceUse]) -> dict[str, str]:
    """The address tokens of external services: their hosts are in the recipe, so nobody else has to know them."""
    known: dict[str, str] = {}
    for use in uses:
        if use.config.external is None:
            continue
        node, host = external_node(use).name, _host(use, use.config.external)
        if known.get(f"{node}.ip", host) != host:
            message = f"'{use.name}' differs from another external service by signs only; name it differently"
            raise Refused([Problem(where=f"{use.where}.name", message=message)])
        known |= {f"{node}.{word}": host for word in ("ip", "name")}
        known[f"{node}.host"] = f"[{host}]" if ":" in host else host
    return known


def _host(use: ServiceUse, text: str) -> str:
    bare = text.removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        if _HOST.fullmatch(text):
            return text
    message = (
        f"{text!r} is not a host name or address; the port is not part of it (ports: {{{use.owner.type}.NAME: N}})"
    )
    raise Refused([Problem(where=f"{use.where}.external", message=message)])


def _add(uses: dict[str, ServiceUse], use: ServiceUse) -> None:
    if not NAME.fullmatch(use.name):
        message = f"{use.name!r} cannot be a file name; use letters, digits, '.', '_' and '-', a letter or digit first"
        raise Refused([Problem(where=f"{use.where}.name", message=message)])
    if use.name in uses:
        other = uses[use.name]
        declared = other if use.where == IMPLIED else use
        message = f"two services are called '{use.name}', of types '{other.owner.type}' and '{use.owner.type}'"
        raise Refused([Problem(where=f"{declared.where}.name", message=f"{message}; give them different names")])
    uses[use.name] = use


def _use(block: Mapping[str, Any], where: str, fleet: Fleet, plugins: Plugins) -> ServiceUse:
    owner = plugins.service(str(block.get("type", "generic")))
    config = parse_block(owner.parse, {"type": owner.type, **block}, where)
    layout = owner.layout(config, fleet)
    check_layout(owner, layout)
    return ServiceUse(config.name or owner.type, owner, config, layout, where)


def _differ(one: ServiceRequest, other: ServiceRequest) -> str:
    return (
        f"the parts of this run ask for different '{one.type}' services: {dict(one.options)} and {dict(other.options)}"
    )
