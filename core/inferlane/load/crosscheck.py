"""Whether what a level reports can be true: what was counted in one place against what was counted in another.

Pure: each check takes :class:`Facts` and returns its faults, one line each with the numbers; none when all agree.
"""

from __future__ import annotations

import msgspec

TOLERANCE = 0.01
SLACK_S = 0.1
"""Times may differ by this share and this many seconds, and no more: they come from one monotonic clock."""

CLOCK_SHARE, CLOCK_S = 0.01, 1.0


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a level counted and timed.

    ``asked``: requests, ``None`` = as many as fit into the time. ``finished``: the level came to its own end.
    ``logged``: lines that are in the request log. ``counted``: completed requests whose tokens the server counted;
    ``tokens_asked``, ``tokens`` are those of these requests only. ``request_s``: sum of the times of completed
    requests. ``last_end_s``: when the last of them ended, since the level began. ``backwards``: requests whose first
    token came after the last.
    """

    asked: int | None
    finished: bool
    sent: int
    completed: int
    failed: int
    cancelled: int
    logged: int
    concurrency: int
    peak: int
    counted: int
    tokens_asked: int
    tokens: int
    seconds: float
    request_s: float
    last_end_s: float
    backwards: int


def faults(facts: Facts, min_output_share: float) -> list[str]:
    """All that can not be true, or is not what was asked for; ``min_output_share`` of 0 accepts any length."""
    return [*tokens(facts, min_output_share), *counts(facts), *durations(facts)]


def counts(facts: Facts) -> list[str]:
    """Asked = sent + not sent; sent = completed + failed + cancelled = lines of the log; in flight as allowed."""
    found = []
    ended = facts.completed + facts.failed + facts.cancelled
    if facts.asked is not None and (facts.sent > facts.asked or (facts.finished and facts.sent != facts.asked)):
        found.append(f"{facts.asked} requests were asked for and {facts.sent} sent")
    if facts.sent != ended:
        parts = f"{facts.completed} done + {facts.failed} failed + {facts.cancelled} cancelled"
        found.append(f"{facts.sent} requests were sent and {ended} are accounted for ({parts})")
    if facts.logged != facts.sent:
        found.append(f"the request log has {facts.logged} lines for {facts.sent} requests")
    if facts.finished and facts.cancelled:
        found.append(f"the level ended by itself with {facts.cancelled} requests cut off")
    if facts.peak > facts.concurrency:
        found.append(f"{facts.peak} requests were in flight at once, {facts.concurrency} are allowed")
    return found


def tokens(facts: Facts, min_share: float) -> list[str]:
    """Answers have the length that was asked for, on average, where the server counted them."""
    if not facts.counted or not facts.tokens_asked or facts.tokens >= min_share * facts.tokens_asked:
        return []
    came, asked = facts.tokens / facts.counted, facts.tokens_asked / facts.counted
    return [
        f"answers had {came:.1f} tokens on average, {asked:.1f} were asked for"
        f" ({facts.tokens / facts.tokens_asked:.1%}, and min_output_share wants {min_share:.0%})"
    ]


def durations(facts: Facts) -> list[str]:
    """Requests fit into the level: end to end, one by one and all together."""
    found = []
    room = facts.seconds * facts.peak
    if facts.request_s > room * (1 + TOLERANCE) + SLACK_S:
        found.append(
            f"the requests took {facts.request_s:.3f} s together, and {facts.peak} in flight for"
            f" {facts.seconds:.3f} s are at most {room:.3f} s"
        )
    if facts.backwards:
        found.append(f"the first token of {facts.backwards} requests came after their last")
    if facts.last_end_s > facts.seconds * (1 + TOLERANCE) + SLACK_S:
        found.append(f"a request ended after {facts.last_end_s:.3f} s of a level that took {facts.seconds:.3f} s")
    return found


def clock_trouble(off_s: float, seconds: float, what: str) -> str:
    """A warning when the wall clock moved by ``off_s`` against the monotonic one in ``seconds``; else nothing."""
    if abs(off_s) <= max(CLOCK_S, CLOCK_SHARE * seconds):
        return ""
    way = "forward" if off_s > 0 else "back"
    return (
        f"the wall clock went {way} by {abs(off_s):.3f} s against the monotonic one during {what} ({seconds:.1f} s):"
        " durations are right, times of day are not"
    )
