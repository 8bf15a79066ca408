"""One sentence on why a packet was late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.explain.journey import WAITING, Hop
from tidegate.show import quantity

_HARDLY_WAITED = 0.1
"""Below this share of its delay, waiting did not make a packet late."""
_MAINLY = 0.5
"""From this share of the bytes on, a flow or a group is to blame."""
_KEPT_BACK = {
    "credit cells": "behind credit cells",
    "no credit": "without credit",
    "flow ceiling": "under its own ceiling",
    "class ceiling": "under the ceiling of its class",
    "port ceiling": "under the ceiling of the port",
    "slot": "for a slot of its own",
    "not eligible": "until its scheduler let it go",
    "no opportunity": "until the link could send",
}
"""Causes of delay besides packets."""
_WORTH_SAYING = 0.1
"""From this share of a wait on, what kept a packet back is said beside the packets."""
_ROUNDING = 1e-6
"""Greatest difference of two equal times: rates are rounded to ticks a byte."""
_TOO_FAST = 1.05
"""From so many times its reservation on the average, a flow that states no bucket sends too
fast."""


@dataclass(frozen=True)
class Sender:
    """The flow whose packet was late.

    Attributes:
        flow: Its name.
        reserve: Its reserved rate in bit/s; None for a datagram flow.
        bucket: Time of its reservation for the bucket that it states, in s: its average interval,
            or the burst of an envelope that is no faster than its reservation. None when it states
            none.
        mean_rate: Its mean rate in bit/s.
        groups: The group of every flow of the scenario.
    """

    flow: str
    reserve: int | None
    bucket: float | None
    mean_rate: float
    groups: Mapping[str, str]


@dataclass(frozen=True)
class Sent:
    """Figures of a packet from which its flow is judged.

    Attributes:
        bytes: Its size.
        delay: Its end-to-end delay, in s.
        ahead: Time of the reservation for what its flow had sent ahead of it, the packet included,
            in s: the workahead of Pincheira 1994, section 2.1, at the first port. None for a
            datagram flow.
    """

    bytes: int
    delay: float
    ahead: float | None


def verdict(sent: Sent, hops: Sequence[Hop], sender: Sender) -> str:
    """Say in one sentence why a packet was late."""
    waited = sum(one.wait for one in hops)
    # Before the first port, an envelope is part of the source.
    held = max(hops, key=_shaped)
    if _shaped(held) > waited and _shaped(held) >= _HARDLY_WAITED * sent.delay:
        return f"its own shaper at {held.link} held it for {quantity(_shaped(held), 's')}"
    if waited < _HARDLY_WAITED * sent.delay:
        rest, whole = quantity(sent.delay - waited, "s"), quantity(sent.delay, "s")
        return f"hardly waited: {rest} of its {whole} are transmission and propagation"
    worst = max(hops, key=lambda one: one.wait)
    text = f"waited {quantity(worst.wait, 's')} at {worst.link}"
    kept = next((cause for cause in worst.causes if cause.kind in WAITING), None)
    if kept is None or kept.seconds < _WORTH_SAYING * worst.wait:
        return f"{text} {_behind(worst, sender)}{_because(sent, worst, sender)}"
    share = f"{quantity(kept.seconds / worst.wait, 'share')} of it {_KEPT_BACK[kept.kind]}"
    if kept.seconds < _MAINLY * worst.wait:
        return f"{text} {_behind(worst, sender)}, {share}{_because(sent, worst, sender)}"
    # A flow that something else kept back is not blamed for its own traffic.
    return f"{text}, {share}" if worst.packets_before == 0 else f"{text}, {share}, {_behind(worst, sender)}"


def _shaped(hop: Hop) -> float:
    """Return how long a shaper held a packet, where that is part of its delay."""
    return next((cause.seconds for cause in hop.causes if cause.kind == "shaper"), 0.0)


def _behind(hop: Hop, sender: Sender) -> str:
    if hop.packets_before == 0:
        return "for the packet in service"
    count = "1 packet" if hop.packets_before == 1 else f"{hop.packets_before} packets"
    first = hop.before[0]
    if first.bytes >= _MAINLY * hop.bytes_before:
        return f"behind {count}, {_of(first.packets, hop.packets_before)} {_whose(first.flow, sender)}"
    by_group: dict[str, list[int]] = {}
    for one in hop.before:
        sums = by_group.setdefault(sender.groups.get(one.flow, one.flow), [0, 0, 0])
        for at, amount in enumerate((one.packets, one.bytes, 1)):
            sums[at] += amount
    group, (packets, size, flows) = max(by_group.items(), key=lambda item: item[1][1])
    if size >= _MAINLY * hop.bytes_before and flows > 1:
        return f"behind {count}, {_of(packets, hop.packets_before)} of {flows} flows of {group}"
    second = hop.before[1]
    return f"behind {count}, {first.packets} of them of {first.flow} and {second.packets} of {second.flow}"


def _of(part: int, whole: int) -> str:
    return "all of them" if part == whole and whole > 1 else f"{part} of them" if whole > 1 else "which is"


def _whose(flow: str, sender: Sender) -> str:
    return "its own" if flow == sender.flow else f"of {flow}"


def _because(sent: Sent, hop: Hop, sender: Sender) -> str:
    """Say what the flow's own contract has to do with it, where stamps are times of the contract.

    Only what the flow sent is held against it, as its first port saw it: at later ports its packets
    stand closer together because of others.
    """
    if hop.stamp == "datagram":
        return "; it has no reservation, so flows with one and earlier datagrams went first"
    if hop.lead is None or sender.reserve is None or sent.ahead is None:
        return ""
    rate = quantity(sender.reserve, "bit/s")
    own = sent.bytes * 8 / sender.reserve
    ahead = quantity(sent.ahead, "s")
    if sent.ahead <= own * (1 + _ROUNDING):
        return (
            f"; its flow kept to its reservation of {rate}, at which a packet of {sent.bytes} B takes {ahead}"
        )
    burst = f"what it had sent takes {ahead} at that rate"
    if sender.bucket is not None:
        if sent.ahead <= max(sender.bucket, own) * (1 + _ROUNDING):
            return f"; its flow kept to its reservation of {rate} with a burst within its bucket: {burst}"
        bucket = quantity(sender.bucket, "s")
        return f"; its own flow sent faster than its reservation of {rate}: {burst}, and its bucket {bucket}"
    times = sender.mean_rate / sender.reserve
    if times >= _TOO_FAST:
        return (
            f"; its own flow sent faster than its reservation of {rate}, {times:.3g} times as fast: {burst}"
        )
    return f"; its flow, which states no bucket, sent a burst ahead of its reservation of {rate}: {burst}"
