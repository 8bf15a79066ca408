"""Why a flow's slowest packets were late: runs a replication again and follows them."""

from __future__ import annotations

import difflib
import os
from dataclasses import asdict, dataclass
from typing import Any

from tidegate import _tidegate, inputs, policies
from tidegate.explain.journey import Before, Cause, Hop, causes, hop
from tidegate.explain.verdict import Sender, Sent, verdict
from tidegate.results import Results

__all__ = ["Before", "Cause", "Explanation", "Hop", "Packet", "explain"]

_SLICE = 200_000


@dataclass(frozen=True)
class Packet:
    """One of a flow's slowest packets; of a multicast flow one of its slowest copies.

    Attributes:
        sequence: Its number within its flow, from 0.
        to: The node that received it.
        bytes: Its size.
        sent: When it left its source, or was let go by the envelope there, in s from the start of
            the run.
        delay: From then until its last bit was in at the destination, in s.
        waited: The queueing delay in it, in s.
        ahead: Time of its flow's reservation for what the flow had sent ahead of it, the packet
            included, in s: a packet's time for a flow that keeps to it packet by packet. None for a
            datagram flow.
        causes: Parts of its delay, the longest first: they add up to it.
        hops: Its wait at each link, with causes.
        verdict: Why it was late, in one sentence.
    """

    sequence: int
    to: str
    bytes: int
    sent: float
    delay: float
    waited: float
    ahead: float | None
    causes: tuple[Cause, ...]
    hops: tuple[Hop, ...]
    verdict: str


@dataclass(frozen=True)
class Explanation:
    """A flow's slowest packets, the slowest first.

    Attributes:
        flow: Its name.
        group: The group that it is a member of.
        reserve: Its reserved rate in bit/s, at most over time; None for a datagram flow.
        bucket: Time of its reservation for the bucket that it states, in s: its `interval`, or the
            burst of an envelope that is no faster than its reservation. None when it states none.
        replication: The replication that was run again: the one with the flow's largest delay.
        seed: Its seed.
        destinations: Number of its destinations; the packets are the slowest of all their copies.
        same_outcome: Whether the run gave the outcome that the results hold.
        changed_files: Files that the scenario names and that are not what they were when it was
            run.
        version: Version of tidegate that made the results.
        packets: The packets; none when none of the flow's packets arrived.
    """

    flow: str
    group: str
    reserve: int | None
    bucket: float | None
    replication: int
    seed: int
    destinations: int
    same_outcome: bool
    changed_files: tuple[str, ...]
    version: str
    packets: tuple[Packet, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return asdict(self)


def explain(results: Results | str | os.PathLike[str], flow: str, *, packets: int = 3) -> Explanation:
    """Run a replication again and find out why packets of `flow` were late.

    Args:
        results: Results, or a directory that holds them.
        flow: Name of a flow, or of a group: then of the member with the largest delay.
        packets: Number of the slowest packets to explain, at least 1.

    Raises:
        TidegateError: There is no such flow, or the results or their scenario cannot be read.
    """
    if packets < 1:
        raise _tidegate.TidegateError(f"the number of packets must be at least 1, not {packets}")
    if not isinstance(results, Results):
        results = Results.load(results)
    row = _slowest_row(results, flow)
    replication, name = row["replication"], row["flow"]
    scenario = results.scenario()
    run = _tidegate.Run(scenario, row["seed"], replication, watch=(name, packets))
    while not run.advance(_SLICE):
        pass
    terms = run.terms() or {"reserve": None, "bucket": None}
    sender = Sender(
        flow=name,
        reserve=terms["reserve"],
        bucket=terms["bucket"],
        mean_rate=row["sent_bytes"] * 8 / (results.duration - results.warmup),
        groups=dict(zip(*(results.flows.column(key).to_pylist() for key in ("flow", "group")), strict=True)),
    )
    slowest = run.slowest()
    known = {*scenario.schedulers} <= {*policies.ORDERED_STAMPS}
    return Explanation(
        flow=name,
        group=row["group"],
        reserve=sender.reserve,
        bucket=sender.bucket,
        replication=replication,
        seed=row["seed"],
        destinations=max((journey["destinations"] for journey in slowest), default=1),
        same_outcome=run.fingerprint == results.fingerprints[replication],
        changed_files=inputs.changed(results.inputs, results.base_dir),
        version=results.version,
        packets=tuple(_packet(journey, sender, known) for journey in slowest),
    )


def _packet(journey: dict[str, Any], sender: Sender, known: bool) -> Packet:
    delay = journey["delay"]
    hops = tuple(hop(met, delay, stamp_is_known=known) for met in journey["hops"])
    took = {"earlier transmissions": journey["earlier"]}
    for one in hops:
        for cause in one.causes:
            took[cause.kind] = took.get(cause.kind, 0.0) + cause.seconds
    return Packet(
        sequence=journey["sequence"],
        to=journey["to"],
        bytes=journey["bytes"],
        sent=journey["arrived"] - delay,
        delay=delay,
        waited=sum(one.wait for one in hops),
        ahead=journey["ahead"],
        causes=causes(took, delay),
        hops=hops,
        verdict=verdict(Sent(journey["bytes"], delay, journey["ahead"]), hops, sender),
    )


def _slowest_row(results: Results, name: str) -> dict[str, Any]:
    """Return the row of `flows` with the largest delay among those of the flow or group."""
    table = results.flows
    every = table.to_pylist()
    for key in ("flow", "group"):
        if rows := [row for row in every if row[key] == name]:
            return max(rows, key=lambda row: row["delay_max"] or 0.0)
    names = [*table["flow"].unique().to_pylist(), *table["group"].unique().to_pylist()]
    near = difflib.get_close_matches(name, dict.fromkeys(names), n=3)
    if near:
        help_ = f"did you mean {' or '.join(f'`{one}`' for one in near)}?"
    else:
        help_ = f"its flows are {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
    raise _tidegate.TidegateError(f"{results.scenario_name}: there is no flow `{name}`\n  help: {help_}")
