"""Hooks of services: what runs beside the workers, when it is ready, and what others are told of it."""
# mypy: disable-error-code="empty-body"

from collections.abc import Sequence

from inferlane.hookspecs.markers import hookspec
from inferlane.values import Command, Export, Fleet, Gate, Process, Run, ServiceLayout, ServiceSpec
from inferlane.values.configs import ServiceConfig


@hookspec
def inferlane_services() -> Sequence[ServiceSpec]:
    """The service types this module implements."""


@hookspec(firstresult=True)
def inferlane_service_layout(service: ServiceConfig, fleet: Fleet) -> ServiceLayout | None:
    """Where instances run, their ports and folders, in which phase they start. ``None`` = one process on the head."""


@hookspec(firstresult=True)
def inferlane_service_command(service: ServiceConfig, process: Process, run: Run) -> Command | None:
    """The command of one instance. ``None`` is an error. Not asked for external services."""


@hookspec(firstresult=True)
def inferlane_service_gates(service: ServiceConfig, process: Process, run: Run) -> Sequence[Gate] | None:
    """When this instance is ready. A gate names the phase it blocks, so readiness in two stages is two gates.

    ``None`` = no gate. Also asked for external services.
    """


@hookspec(firstresult=True)
def inferlane_service_exports(service: ServiceConfig, process: Process, run: Run) -> Export | None:
    """What ``process`` (a worker, router, benchmark or another service) is told of this service.

    Asked once per receiver; find the instance meant for it in ``run.services``. ``None`` = nothing.
    """
