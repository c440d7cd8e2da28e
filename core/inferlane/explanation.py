"""One prepared recipe as a plan: for an allocation or for none, and with its origins if asked."""

from __future__ import annotations

from collections.abc import Callable

from inferlane.errors import UsageFault
from inferlane.planning import Shape, bind
from inferlane.planning.allocation import Allocation
from inferlane.preparation import Prepared, Request
from inferlane.values import Plan


def plan_on(
    prepared: Prepared, request: Request, allocation: Callable[[str | None], Allocation] | None, explain: str | None
) -> tuple[Plan, str]:
    """The plan, and where it comes from: of all (``""``), of what ``explain`` names, or, for ``None``, no text.

    ``allocation``: given the network interface, the nodes whose shape is planned for and whose addresses are bound.
    """
    shape, known = Shape(), dict[str, str]()
    if allocation is not None:
        given = allocation(prepared.site.network_interface)
        gpus_per_node = prepared.hidden.resources.gpus_per_node or 0
        shape, known = given.shape(gpus_per_node), dict(given.known(gpus_per_node))
    if explain is None:
        return bind(prepared.plan(shape), known), ""
    from inferlane.planning.explain import Origins
    from inferlane.provenance import Provenance

    provenance = Provenance(prepared, request)
    origins = Origins(provenance.place, provenance.spelled, provenance.replaced)
    made = prepared.plan(shape, origins)
    try:
        text = origins.text(made, explain, known)
    except UsageFault:
        place = prepared.resolved.source.origin(explain)
        if place is None:
            raise
        shapes = "it shapes the plan; no argument, variable, port or gate is it"
        text = f"where it comes from\n  {explain}  <- {place}: {shapes}"
    return bind(made, known), text
