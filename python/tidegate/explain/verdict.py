"""One sentence on why a packet was late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.explain.journey import Hop
from tidegate.show import quantity

_HARDLY_WAITED = 0.1
"""Below this share of its delay, waiting did not make a packet late."""
_MAINLY = 0.5
"""From this share of the bytes on, a flow or a group is to blame."""
_TOO_FAST = 1.5
"""From so many times a packet's time at the reservation on, a stamp says that its flow sent too fast."""


@dataclass(frozen=True)
class Sender:
    """The flow whose packet was late.

    Attributes:
        flow: Its name.
        reserve: What it reserves, in bit/s; None for a datagram flow.
        packet_bytes: Mean size of its packets.
        groups: The group of every flow of the scenario.
    """

    flow: str
    reserve: int | None
    packet_bytes: float
    groups: Mapping[str, str]


def verdict(delay: float, hops: Sequence[Hop], sender: Sender) -> str:
    """Say in one sentence why a packet with this delay, in s, was late."""
    waited = sum(one.wait for one in hops)
    if waited < _HARDLY_WAITED * delay:
        rest, whole = quantity(delay - waited, "s"), quantity(delay, "s")
        return f"hardly waited: {rest} of its {whole} are transmission and propagation"
    worst = max(hops, key=lambda one: one.wait)
    wait = quantity(worst.wait, "s")
    return f"waited {wait} at {worst.link} {_behind(worst, sender)}{_because(worst, sender)}"


def _behind(hop: Hop, sender: Sender) -> str:
    if hop.packets_before == 0:
        return "for the packet in service" if hop.queue else "although the link was free"
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


def _because(hop: Hop, sender: Sender) -> str:
    if hop.stamp == "datagram":
        return "; it has no reservation, so flows with one and earlier datagrams went first"
    if hop.lead is None or sender.reserve is None:
        return ""
    rate = quantity(sender.reserve, "bit/s")
    own = sender.packet_bytes * 8 / sender.reserve
    if hop.lead > _TOO_FAST * own:
        return (
            f"; its own flow sent faster than its reservation of {rate}: "
            f"its stamp was {quantity(hop.lead, 's')} ahead of real time"
        )
    return f"; it may wait so long: a packet's time at its reservation of {rate} is {quantity(own, 's')}"
