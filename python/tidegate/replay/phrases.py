"""Sentences that a reader of a replay's figures must know."""

from __future__ import annotations

from tidegate.replay import CapturedFlow, Plan, Replay
from tidegate.show import plural, quantity

_NAMED = 5
"""Flows that are not protected and are named with the reason."""

_REASONS = {
    "target": "for the target",
    "mean-rate": "mean is enough",
    "unprotected": "",
    "few-packets": "few packets",
    "short-life": "short life",
    "link-too-slow": "link too slow",
    "no-room": "no room",
    "no-buffer": "no buffer",
}


def sentences(played: Replay) -> list[str]:
    """Say what was played, what was left out, and what the figures take for granted."""
    plan = played.plan
    said = [_crossing(played)]
    if plan.cut is not None:
        said.append(f"the file is cut off in {plan.cut}: the part before it is played")
    said += plan.mended
    if plan.reordered:
        said.append(
            f"{plural(plan.reordered, 'packet')} of the file stood out of order and were sorted by time"
        )
    said.append("a replay is open loop: the recorded senders do not slow down when packets are late or lost")
    if plan.buffer is None:
        said.append("the queue has no limit: while more comes than the link carries, it grows")
    else:
        sized = " (the promises need that much, 100 ms of the link are less)" if plan.sized else ""
        said.append(f"the queue holds {plan.buffer}{sized}: beyond that, what would be sent last is dropped")
    if plan.protected:
        said.append("W is the longest backlog at an ideal server of rate r")
    if plan.reserved:
        share = quantity(plan.reserved / plan.rate, "share")
        said.append(f"reserved: {quantity(plan.reserved, 'bit/s')}, {share} of the link")
    if together := len(plan.flows) - len(plan.alone):
        said.append(
            f"{plural(together, 'flow')} that are not protected, those with least bytes, are played together"
        )
    if plan.protected or not plan.unnamed:
        said += _not_protected(plan)
    return said


def _not_protected(plan: Plan) -> list[str]:
    """List the largest of the flows that are taken for bulk, with the reason."""
    others = [flow for flow in plan.flows if flow.target is None]
    named = [f"{flow.name} ({flow.judged})" for flow in others[:_NAMED]]
    if more := len(others) - len(named):
        named.append(f"{more} more (--json has all)")
    return [f"not protected: {'; '.join(named)}"] if named else []


def _crossing(played: Replay) -> str:
    plan = played.plan
    if plan.direction is None:
        return f"everything in the file crosses the link: {plan.direction_why}"
    inside = f"the inside ({', '.join(plan.inside)})" if plan.inside else "the inside"
    left = f"; {plural(plan.other_packets, 'other packet')} ({size(plan.other_bytes)}) not played"
    way = "from" if plan.direction == "up" else "to"
    return (
        f"only what goes {plan.direction}, {way} {inside}, crosses the link: {plan.direction_why}"
        f"{left if plan.other_packets else ''}"
    )


def reason(flow: CapturedFlow) -> str:
    """Say in two words why a flow has its reservation, or none."""
    return _REASONS[flow.reason]


def size(count: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} B"
