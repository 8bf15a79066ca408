"""Largest delays of runs beside the bounds of the scenario.

The bounds are those of `tidegate bound`: docs/bounds.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.results import Results
    from tidegate.source import LoadedScenario

TICK = 1e-11
"""Seconds by which a transmission may be longer than at the exact rate: times are whole ticks."""

ROUNDING = 1e-12
"""Relative error of a time or a bound as a 64-bit number, with room."""


@dataclass(frozen=True)
class Compared:
    """A flow's largest delay beside its bound.

    Attributes:
        flow: Its name.
        group: The group that it is a member of.
        delay_max: Its largest delay in all replications, in s; None where nothing arrived.
        bound: Bound on its delay, in s; None if it has none.
        reason: Why it has none; None if it has one.
        exceeds: Whether the delay is above the bound by more than the rounding of times.
    """

    flow: str
    group: str
    delay_max: float | None
    bound: float | None
    reason: str | None
    exceeds: bool

    @property
    def share(self) -> float | None:
        """The delay as a share of the bound; None without one of them."""
        if self.delay_max is None or not self.bound:
            return None
        return self.delay_max / self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        names = ("flow", "group", "delay_max", "bound", "reason")
        return {name: getattr(self, name) for name in names} | {"share": self.share}


def bounds(scenario: LoadedScenario) -> list[dict[str, Any]]:
    """Return the bounds of a scenario's flows, in their order: entries of `tidegate bound --json`."""
    flows: list[dict[str, Any]] = json.loads(scenario.bounds_json())["flows"]
    return flows


def beside(flows: Sequence[Mapping[str, Any]], results: Results) -> list[Compared]:
    """Return the largest delay of each flow beside its bound, in the order of the bounds."""
    largest: dict[str, float] = {}
    table = results.flows.arrow
    for name, delay in zip(table["flow"].to_pylist(), table["delay_max"].to_pylist(), strict=True):
        if delay is not None:
            largest[name] = max(delay, largest.get(name, 0.0))
    slack = results.packet_hops * TICK
    return [compare(flow, largest.get(flow["flow"]), slack) for flow in flows]


def compare(flow: Mapping[str, Any], delay_max: float | None, slack: float) -> Compared:
    """Compare a flow's largest delay with its bound, which rounding may exceed by `slack` seconds."""
    bound = flow["delay"]
    exceeds = delay_max is not None and bound is not None and delay_max > bound * (1 + ROUNDING) + slack
    return Compared(flow["flow"], flow["group"], delay_max, bound, flow["reason"], exceeds)


def complaint(compared: Sequence[Compared]) -> str | None:
    """Return the message about flows above their bounds; None if there are none."""
    above = [one for one in compared if one.exceeds]
    if not above:
        return None
    first = max(above, key=lambda one: one.share or 0.0)
    more = f" ({len(above) - 1} more are above theirs)" if len(above) > 1 else ""
    return (
        f"{first.flow} took {first.delay_max:.9g} s, above its bound of {first.bound:.9g} s{more}: "
        "the bound or the scheduler is wrong"
    )
