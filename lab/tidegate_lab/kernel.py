"""The kernel's queueing disciplines in the gate's place: at the box's outer interface, behind a bridge.

They charge a frame its length with the Ethernet header, as a gate without `overhead` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate import TidegateError
from tidegate_lab.net import GATE_OUTSIDE, Net

FRAME = 1514
"""The longest frame, in bytes: one of them may leave ahead of its time."""


@dataclass(frozen=True)
class HtbClass:
    """A class of HTB that may borrow up to the link's rate.

    Attributes:
        rate: Its own rate in bit/s.
        priority: Order in which classes are offered unused capacity, the lowest first.
        packets: Room in its queue.
        port: Port of its packets; None for any.
        source: Source address of its packets; None for any. A class with neither gets all packets
            of no other class.
    """

    rate: int
    priority: int
    packets: int
    port: int | None = None
    source: str | None = None


def htb(net: Net, rate: int, classes: Sequence[HtbClass], burst: int = FRAME) -> None:
    """Put HTB where a gate would be; `burst` bytes may leave ahead of their time."""
    net.bridge()
    rest = next((ix for ix, one in enumerate(classes) if not _match(one)), len(classes) - 1)
    _tc(net, f"qdisc add dev {GATE_OUTSIDE} root handle 1: htb default {10 + rest}")
    bursts = f"burst {burst} cburst {burst}"
    _tc(net, f"class add dev {GATE_OUTSIDE} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit {bursts}")
    for ix, one in enumerate(classes):
        _tc(
            net,
            f"class add dev {GATE_OUTSIDE} parent 1:1 classid 1:{10 + ix} htb rate {one.rate}bit "
            f"ceil {rate}bit prio {one.priority} quantum {FRAME} {bursts}",
        )
        _tc(net, f"qdisc add dev {GATE_OUTSIDE} parent 1:{10 + ix} pfifo limit {one.packets}")
        if match := _match(one):
            _tc(
                net,
                f"filter add dev {GATE_OUTSIDE} parent 1: protocol ip prio 1 u32 {match} flowid 1:{10 + ix}",
            )


def _match(one: HtbClass) -> str:
    """Return the `u32` match of a class's packets; nothing for the packets of no other class."""
    port = [] if one.port is None else [f"match ip dport {one.port} 0xffff"]
    source = [] if one.source is None else [f"match ip src {one.source}/32"]
    return " ".join(port + source)


def has_cake() -> bool:
    """Return whether the kernel has CAKE."""
    with Net() as net:
        try:
            _tc(net, f"qdisc add dev {GATE_OUTSIDE} root cake")
        except TidegateError:
            return False
    return True


def cake(net: Net, rate: int) -> None:
    """Put CAKE where a gate would be, fair among hosts inside and then among their flows."""
    net.bridge()
    _tc(net, f"qdisc add dev {GATE_OUTSIDE} root cake bandwidth {rate}bit dual-srchost besteffort")


def tbf(net: Net, rate: int, packets: int) -> None:
    """Put a token bucket where a gate would be."""
    net.bridge()
    _tc(net, f"qdisc add dev {GATE_OUTSIDE} root tbf rate {rate}bit burst {FRAME} limit {packets * FRAME}")


def _tc(net: Net, words: str) -> None:
    net.command(net.name("box"), "tc", *words.split())
