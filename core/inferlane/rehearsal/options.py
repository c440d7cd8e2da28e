"""What a user may say about a rehearsal."""

from __future__ import annotations

from msgspec import field

from inferlane.values import Text, Value


class RehearsalOptions(Value, frozen=True, kw_only=True):
    """``tokens_per_s``: pace of the twins' streams, 0 = as fast as they go. ``load_s``: seconds until a twin is
    healthy. ``faults``: process name to a fault word of :class:`inferlane.twins.orders.Orders`. ``full``: no scaling
    down. ``run_benchmark``: run the recipe's own benchmark command instead of a synthetic load.
    """

    tokens_per_s: float = 500.0
    load_s: float = 0.0
    faults: Text = field(default_factory=dict)
    full: bool = False
    run_benchmark: bool = False
