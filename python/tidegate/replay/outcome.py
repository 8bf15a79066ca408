"""Outcome of each flow of a capture under a scheduler, compared with what was promised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.replay.plan import CapturedFlow, Plan

PROMISED_PERCENT = 99
"""Percent of a protected flow's packets that targets and promises are about."""

Bins = list[tuple[float, int]]
"""Delays in s: lower edge, packets."""


@dataclass(frozen=True)
class FlowOutcome:
    """One flow under one scheduler.

    Attributes:
        name: The flow's name in the scenario.
        sent: Packets that it sent.
        loss: Share of them that was dropped, 0 to 1.
        received_bytes: Bytes that arrived.
        throughput: Those over the duration of the run, in bit/s, as in `tidegate run`.
        delay_mean: Mean delay of the packets that arrived, in s; None when none did.
        delay_p99: 99th percentile of the same, to 0.1 %; None for a flow that is played together
            with others.
        delay_max: The largest of them.
        within: Share of the packets sent that arrived within the flow's target, 0 to 1; a packet
            that was dropped never did. None for a flow that is not protected.
        on_target: Whether that share is at least 99 %; None likewise.
        kept: Whether 99 % of the packets sent arrived within the promised delay; None without a
            promise.
    """

    name: str
    sent: int
    loss: float
    received_bytes: int
    throughput: float
    delay_mean: float | None
    delay_p99: float | None
    delay_max: float | None
    within: float | None
    on_target: bool | None
    kept: bool | None


def read_outcomes(plan: Plan, tables: Mapping[str, Any]) -> tuple[FlowOutcome, ...]:
    """Read the outcome of one run.

    Args:
        plan: The plan that was played.
        tables: The run's tables, by name.
    """
    rows = {row["flow"]: row for row in tables["flows"].to_pylist()}
    # A flow that is played alone is a group; where there are many flows, only groups have
    # quantiles.
    groups = (tables["groups"].column(name).to_pylist() for name in ("group", "delay_p99"))
    p99 = dict(zip(*groups, strict=True))
    bins = _delays_by_group(tables["histogram"])
    return tuple(
        _outcome(flow, rows[flow.name], None, [])
        if flow.together
        else _outcome(flow, rows[flow.name], p99[flow.name], bins[flow.name])
        for flow in plan.flows
    )


def _outcome(flow: CapturedFlow, row: Mapping[str, Any], p99: float | None, bins: Bins) -> FlowOutcome:
    sent = row["sent_packets"]

    def within(delay: float) -> int:
        # A bin counts when its lower edge does: delays are known to 0.1 %, and none is called late
        # that was not.
        return sum(count for lower, count in bins if lower <= delay)

    def keeps(delay: float | None) -> bool | None:
        return None if delay is None else within(delay) * 100 >= sent * PROMISED_PERCENT

    return FlowOutcome(
        name=flow.name,
        sent=sent,
        loss=row["missed_copies"] / row["due_copies"] if sent else 0.0,
        received_bytes=row["received_bytes"],
        throughput=row["throughput"],
        delay_mean=row["delay_mean"],
        delay_p99=p99,
        delay_max=row["delay_max"],
        within=None if flow.target is None else within(flow.target) / sent,
        on_target=keeps(flow.target),
        kept=keeps(flow.promised_p99),
    )


def _delays_by_group(histogram: Any) -> defaultdict[str, Bins]:
    bins: defaultdict[str, Bins] = defaultdict(list)
    columns = (histogram.column(name).to_pylist() for name in ("group", "metric", "lower", "count"))
    for group, metric, lower, count in zip(*columns, strict=True):
        if metric == "delay":
            bins[group].append((lower, count))
    return bins
