"""A rehearsal: the plan run for real on loopback, with twins in place of engines."""

from inferlane.rehearsal.options import RehearsalOptions
from inferlane.rehearsal.orders import orders
from inferlane.rehearsal.programs import Programs
from inferlane.rehearsal.scale import scale_down
from inferlane.rehearsal.swap import Rehearsal, rehearse

__all__ = ["Programs", "Rehearsal", "RehearsalOptions", "orders", "rehearse", "scale_down"]
