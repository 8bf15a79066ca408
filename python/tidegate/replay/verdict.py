"""Need of a link for protection: FIFO and the suggestion compared on the same packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from tidegate import _tidegate
from tidegate.replay.brief import brief
from tidegate.replay.buffer import needed
from tidegate.replay.outcome import FlowOutcome
from tidegate.replay.plan import CapturedFlow, Plan
from tidegate.show import plural, quantity

RESOLUTION = 1.002
"""Least ratio of two delays that differ: histograms have bins of 0.1 %."""

_NOTEWORTHY = 1e-3
"""Part of their throughput at or above which the cost to other flows is reported."""

_NAMED = 6
"""Flows that a sentence names before it counts."""


@dataclass(frozen=True)
class Verdict:
    """Conclusion of a replay.

    Attributes:
        kind: `nothing-to-protect`, `no-scheduler-needed`, `reservations-help`, `nothing-reserved`,
            or `not-compared` when FIFO and the suggestion were not both played.
        sentences: The verdict in words: the answer first, then the flows that are left out and why,
            those that do worse than under FIFO, and those that pay.
        hurt: The flow that FIFO hurts most: the protected one with the largest share of packets
            late or lost; if all of these keep their targets, the one that loses the largest share
            of its packets. None when nothing is lost or late, or FIFO was not played.
        worse: Protected flows that lose more packets under the suggestion than under FIFO, or have
            a longer p99.
        paid: Part of their bytes that flows without a reservation lose to those with one, 0 to 1;
            None when it is not known.
    """

    kind: str
    sentences: tuple[str, ...]
    hurt: str | None
    worse: tuple[str, ...]
    paid: float | None


def judge(
    plan: Plan, fifo: Sequence[FlowOutcome] | None, suggestion: Sequence[FlowOutcome] | None, scheduler: str
) -> Verdict:
    """Compare the outcomes of a plan's flows under FIFO and under the suggestion.

    Args:
        plan: The plan that was played.
        fifo: The outcomes under FIFO, in the order of `plan.flows`; None if it was not played.
        suggestion: The outcomes with the suggested reservations; None if they were not played.
        scheduler: The scheduler that the reservations are for.
    """
    protected = plan.protected
    under_fifo = {one.name: one for one in fifo or ()}
    under_plan = {one.name: one for one in suggestion or ()}
    hurt, hurts = _hurt_most(plan, under_fifo)
    if not protected:
        sentence = (
            "nothing that crosses the link looks like a call, a video, a shell or a game: nothing to "
            "protect; name flows with --protect"
        )
        return Verdict("nothing-to-protect", (sentence, *hurts), hurt, (), None)
    left_out = [
        f"{flow.name} is left out: {_left_out(flow, plan)}" for flow in protected if flow.reserve is None
    ]
    if fifo is None or suggestion is None:
        sentence = f"no verdict: it takes fifo and {scheduler}, and both were not played"
        return Verdict("not-compared", (sentence, *left_out), hurt, (), None)
    pairs = {flow.name: (under_fifo[flow.name], under_plan[flow.name]) for flow in protected}
    worse = tuple(name for name, (before, after) in pairs.items() if _is_worse(before, after))
    worse_for = [_worse(name, *pairs[name]) for name in worse]
    if all(before.on_target for before, _ in pairs.values()):
        answer = f"FIFO keeps {_targets(protected)}: no scheduler needed"
        return Verdict("no-scheduler-needed", (answer, *worse_for, *hurts), hurt, worse, None)
    reserved = [flow for flow in protected if flow.reserve is not None]
    beside = "; ".join(hurts) or "FIFO keeps their targets, too"
    if not reserved:
        answer = (
            f"nothing is reserved: no flow fits on this link, and FIFO does not keep {_targets(protected)}"
        )
        return Verdict("nothing-reserved", (answer, *hurts, *left_out, *worse_for), hurt, worse, None)
    needs = _list([f"{flow.name} needs {brief(flow.reserve, 'bit/s')}" for flow in reserved])
    paid, pays = _payers(plan, under_fifo, under_plan)
    targets = _targets(reserved) if len(reserved) > 1 else brief(reserved[0].target, "s")
    answer = f"{needs} to keep {targets}; {beside}; {pays}"
    return Verdict("reservations-help", (answer, *left_out, *worse_for), hurt, worse, paid)


def _hurt_most(plan: Plan, fifo: Mapping[str, FlowOutcome]) -> tuple[str | None, list[str]]:
    """Name the flow that FIFO hurts most, and say how much."""
    late = {
        flow.name: 1.0 - (fifo[flow.name].within or 0.0)
        for flow in plan.protected
        if flow.name in fifo and not fifo[flow.name].on_target
    }
    if late:
        name = max(late, key=lambda one: late[one])
        words = f"under FIFO {brief(late[name], 'share')} of the packets of {name} are late or lost"
        loser = max(late, key=lambda one: fifo[one].loss)
        if loser != name and fifo[loser].loss >= _NOTEWORTHY:
            words += f" and {loser} loses most, {brief(fifo[loser].loss, 'share')}"
        return name, [words]
    lost = [
        (fifo[flow.name].loss, flow.name)
        for flow in plan.flows
        if flow.name in fifo and _tells(flow) and fifo[flow.name].loss >= _NOTEWORTHY
    ]
    if not lost:
        return None, []
    share, name = max(lost, key=lambda one: one[0])
    return name, [f"under FIFO {name} loses most, {brief(share, 'share')} of its packets"]


def _tells(flow: CapturedFlow) -> bool:
    """Return whether a flow is long enough for its shares to say something."""
    return flow.packets >= _tidegate.MIN_PACKETS


def _is_worse(before: FlowOutcome, after: FlowOutcome) -> bool:
    later = (after.delay_p99 or 0.0) > (before.delay_p99 or 0.0) * RESOLUTION
    return after.loss > before.loss or later


def _worse(name: str, before: FlowOutcome, after: FlowOutcome) -> str:
    loses = [quantity(one.loss, "share") for one in (after, before)]
    p99 = [quantity(one.delay_p99, "s") for one in (after, before)]
    kept = "within its target" if after.on_target else "beyond its target"
    return (
        f"{name} ends worse than under FIFO, {kept}: p99 {p99[0]} instead of {p99[1]}, "
        f"{loses[0]} lost instead of {loses[1]}"
    )


def _payers(
    plan: Plan, fifo: Mapping[str, FlowOutcome], suggestion: Mapping[str, FlowOutcome]
) -> tuple[float, str]:
    """Sum what flows without a reservation lose, and say so; the largest loser by share is named."""
    others = [flow.name for flow in plan.flows if flow.reserve is None]
    before = sum(fifo[name].received_bytes for name in others)
    lost = before - sum(suggestion[name].received_bytes for name in others)
    if lost <= 0:
        return 0.0, "the others lose no throughput"
    paid = lost / before
    if paid < _NOTEWORTHY:
        return paid, f"the others pay less than {brief(_NOTEWORTHY, 'share')} of their throughput"
    words = f"the others pay {brief(paid, 'share')} of their throughput"
    shares = {
        flow.name: 1.0 - suggestion[flow.name].received_bytes / fifo[flow.name].received_bytes
        for flow in plan.flows
        if flow.reserve is None and _tells(flow) and fifo[flow.name].received_bytes
    }
    most = max(shares, key=lambda name: shares[name], default=None)
    if most is not None and len(others) > 1 and shares[most] > 0:
        words += f", {most} {brief(shares[most], 'share')} of its own"
    return paid, words


def _targets(flows: Sequence[CapturedFlow]) -> str:
    """`20 ms for voice and ssh, and 100 ms for video`."""
    by_target: dict[float, list[str]] = {}
    for flow in flows:
        by_target.setdefault(flow.target or 0.0, []).append(flow.name)
    return _list([f"{brief(target, 's')} for {_list(names)}" for target, names in sorted(by_target.items())])


def _list(words: Sequence[str]) -> str:
    if len(words) > _NAMED:
        return f"{', '.join(words[:_NAMED])} and {len(words) - _NAMED} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _left_out(flow: CapturedFlow, plan: Plan) -> str:
    needs, target = brief(flow.needs, "bit/s"), brief(flow.target, "s")
    most = brief(plan.rate * _tidegate.RESERVABLE_PERCENT / 100, "bit/s")
    match flow.reason:
        case "few-packets":
            return f"it has only {plural(flow.packets, 'packet')}"
        case "short-life":
            least = f"{_tidegate.MIN_LIFE:g} s, or for less than {_tidegate.MIN_LIFE_PERCENT} % of the file"
            return f"it lives for less than {least}"
        case "link-too-slow" if flow.best_p99 is None:
            return f"its mean rate is more than the {most} that may be reserved"
        case "link-too-slow":
            return (
                f"{target} cannot be promised; if all of the {most} that may be reserved were its own, 99 % "
                f"of its packets would be through within {brief(flow.best_p99, 's')}"
            )
        case "no-room":
            return (
                f"{target} needs {needs}, and of {most} that may be reserved the others have "
                f"{brief(plan.reserved, 'bit/s')}"
            )
        case _:
            held = [one for one in plan.flows if one.reserve is not None or one.reason == "no-buffer"]
            enough = needed(list(map(asdict, held)), plan.buffer or "0B", plan.longest_packet)
            return f"{target} takes a queue of {enough} beside the others, and it holds {plan.buffer}"
