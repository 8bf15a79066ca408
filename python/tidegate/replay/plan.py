"""What a capture holds, flow by flow, and what its flows should reserve on a link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate import _tidegate
from tidegate.replay.names import is_five_tuple, opposite, readable_names

SPEEDS = (0.001, 1000.0)
"""The slowest and the fastest playback that a scenario allows."""
REPEATS = (1, 1_000_000)
"""How often a scenario allows a file to be played."""

LIVED = "fewer than 10 packets, or a life below 1 s or 10 % of the file"
"""Which flows get no reservation, whatever room there is."""


@dataclass(frozen=True)
class CapturedFlow:
    """One flow of a capture as it is played back, and what it should reserve.

    Attributes:
        name: Its name in the scenario.
        flow: Its name in the file: the 5-tuple of a capture, `all` for a list of times and sizes.
        packets: Packets in one pass of the file.
        bytes: Bytes in one pass of the file.
        mean_rate: Mean rate r over its own life, in bit/s; None when all its packets have one time.
        burst: Its workahead W in bytes: the longest backlog at an ideal server of rate r.
        peak_rate: Peak rate in bit/s, from the gaps between its packets.
        reserve: What it should reserve, in bit/s; None for a datagram flow.
        reason: Why: `target` (the smallest that promises the target), `mean-rate` (r promises it already),
            or none because of `few-packets`, `short-life` or `no-room`.
        promised_p99: The 99th percentile of the delay that the reservation promises, in s.
    """

    name: str
    flow: str
    packets: int
    bytes: int
    mean_rate: int | None
    burst: int | None
    peak_rate: int | None
    reserve: int | None
    reason: str
    promised_p99: float | None


@dataclass(frozen=True)
class Plan:
    """A capture, and reservations for it on one link.

    Attributes:
        file: The capture.
        rate: Rate of the link, in bit/s.
        speed: Speed of playback.
        repeat: How often it is played.
        flows: Its flows, those with most bytes first.
        packets: Packets of all flows in one pass.
        bytes: Bytes of all flows in one pass.
        span: From the first packet to the last one of one pass, in s, as played back.
        reordered: Packets of a capture that were put in order of time.
        asked: The delay in s that 99 % of each reserved flow's packets were to keep.
        target: The delay in s that the promises keep: `asked`, or more when that does not fit.
        outcome: `met`, `relaxed`, `mean-rates-do-not-fit` or `nothing-to-reserve`.
        reserved: Sum of the reservations, in bit/s.
        longest_packet: Longest packet, in bytes.
        by_flow: Whether a scenario can name the flows one by one (not so the free names of a CSV file).
    """

    file: Path
    rate: int
    speed: float
    repeat: int
    flows: tuple[CapturedFlow, ...]
    packets: int
    bytes: int
    span: float
    reordered: int
    asked: float
    target: float
    outcome: str
    reserved: int
    longest_packet: int
    by_flow: bool

    @property
    def reserves(self) -> bool:
        """Whether a scenario can reserve for its flows: it names them one by one, or there is only one."""
        return self.by_flow or len(self.flows) == 1

    @property
    def conversations(self) -> int:
        """Pairs of flows that are each other's opposite direction."""
        known = {flow.flow for flow in self.flows} if self.by_flow else set()
        return sum(opposite(flow) in known for flow in known) // 2

    @property
    def period(self) -> float:
        """From one pass of the file to the next, in s: its span and one mean gap."""
        return self.span * (1.0 + 1.0 / max(self.packets - 1, 1))

    @property
    def lasts(self) -> float:
        """From the first packet to the last one of all passes, in s."""
        return (self.repeat - 1) * self.period + self.span

    @property
    def mean_rate(self) -> float | None:
        """Mean rate of the whole file, in bit/s; None when all its packets have one time."""
        return self.bytes * 8 / self.span if self.span > 0 else None


def plan(file: Path, rate: int, *, target: float, speed: float = 1.0, repeat: int = 1) -> Plan:
    """Read a capture or trace and suggest reservations for its flows on a link of `rate` bit/s.

    Args:
        file: A pcap or pcapng capture, a list of `time size` lines, or a CSV file; `.gz` too.
        rate: Rate of the link in bit/s.
        target: Delay in s that 99 % of each reserved flow's packets should keep.
        speed: Speed of playback, 0.001 to 1000.
        repeat: How often the file is played, 1 to 1000000.

    Raises:
        TidegateError: The file cannot be used, or an argument is out of its range.
    """
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise _tidegate.TidegateError(f"a speed is from 0.001 to 1000, found {speed:g}")
    if not REPEATS[0] <= repeat <= REPEATS[1]:
        raise _tidegate.TidegateError(f"a file is played from 1 to 1000000 times, found {repeat}")
    # Playing a file at speed s over a link of rate C is, but for the unit of time, playing it at speed 1
    # over a link of rate C/s. Rounding the rate down makes the promise longer, so it still holds.
    slowed = int(rate / speed)
    if slowed < 1:
        raise _tidegate.TidegateError(f"at speed {speed:g} a link of {rate} bit/s is too slow to plan for")
    found = _tidegate.suggest(file, slowed, target * speed)
    found["flows"].sort(key=lambda flow: -flow["bytes"])
    originals = [flow["flow"] for flow in found["flows"]]
    by_flow = all(is_five_tuple(flow) for flow in originals)
    names = readable_names(originals) if by_flow else _names_in_list(originals)
    return Plan(
        file=file,
        rate=rate,
        speed=speed,
        repeat=repeat,
        flows=tuple(_played(*each, speed) for each in zip(names, found["flows"], strict=True)),
        packets=found["packets"],
        bytes=found["bytes"],
        span=found["span"] / speed,
        reordered=found["reordered"],
        asked=target,
        target=found["target"] / speed,
        outcome=found["outcome"],
        reserved=sum(_sped_up(flow["reserve"], speed) or 0 for flow in found["flows"]),
        longest_packet=round(found["longest_packet"] * slowed / 8),
        by_flow=by_flow,
    )


def _names_in_list(flows: list[str]) -> list[str]:
    """Return the names that a scenario gives to the flows of a `trace` called `trace`."""
    return ["trace"] if len(flows) == 1 else [f"trace/{flow}" for flow in flows]


def _sped_up(rate: int | None, speed: float) -> int | None:
    return None if rate is None else math.ceil(rate * speed)


def _played(name: str, seen: dict[str, Any], speed: float) -> CapturedFlow:
    promised = seen["promised_p99"]
    return CapturedFlow(
        name=name,
        flow=seen["flow"],
        packets=seen["packets"],
        bytes=seen["bytes"],
        mean_rate=_sped_up(seen["mean_rate"], speed),
        burst=seen["workahead"],
        peak_rate=_sped_up(seen["peak_rate"], speed),
        reserve=_sped_up(seen["reserve"], speed),
        reason=seen["reason"],
        promised_p99=None if promised is None else promised / speed,
    )
