"""Direction of a capture: the packets that cross the link."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate import _tidegate
from tidegate.replay.names import Address, FiveTuple

Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network

DIRECTIONS = ("up", "down")
"""From the inside to the outside, and back, as a gate has them."""

# RFC 1918, 6598, 3927, 4193, 4291: addresses that are not routed on the Internet.
_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        (
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",
            "169.254.0.0/16",
            "fc00::/7",
            "fe80::/10",
        ),
    )
)
_BROADCAST = ipaddress.ip_address("255.255.255.255")


@dataclass(frozen=True)
class Direction:
    """A direction, and how it was found.

    Attributes:
        way: `up` or `down`; None when everything crosses the link.
        inside: Prefixes of the inside; empty when they are not known.
        why: The evidence, in words.
        crosses: Whether each flow crosses the link, in the order given.
    """

    way: str | None
    inside: tuple[str, ...]
    why: str
    crosses: tuple[bool, ...]


def find(
    flows: Sequence[FiveTuple | None],
    sizes: Sequence[int],
    *,
    inside: Sequence[str] | None = None,
    way: str | None = None,
) -> Direction:
    """Find the direction in which a capture's packets cross a link.

    Args:
        flows: Its flows; None for what has no addresses.
        sizes: Bytes of each.
        inside: Prefixes of the inside, as `192.168.0.0/16`; without them they are found.
        way: `up` or `down`; by default the direction that carries more bytes.

    Raises:
        TidegateError: A prefix or the direction is none, or nothing goes that way.
    """
    if way is not None and way not in DIRECTIONS:
        raise _tidegate.TidegateError(f"a direction is `up` or `down`, found `{way}`")
    known = {flow for flow in flows if flow is not None}
    if not known:
        return Direction(None, (), "it has no addresses", (True,) * len(flows))
    if inside:
        prefixes, why = tuple(map(_prefix, inside)), "as --inside says"
    elif private := _private(known):
        prefixes, why = private, "private addresses are taken for the inside"
    elif not {flow.source for flow in known} & {flow.destination for flow in known}:
        why = "it holds one direction only, and the lower ports are taken for the outside"
        return Direction(way or _by_ports(flows, sizes), (), why, (True,) * len(flows))
    else:
        prefixes, why = (_busiest(flows, sizes),), "the host with the most bytes is taken for the inside"
    ways = [None if flow is None else _way(flow, prefixes) for flow in flows]
    carried = {
        one: sum(size for size, each in zip(sizes, ways, strict=True) if each == one) for one in DIRECTIONS
    }
    chosen = way or max(DIRECTIONS, key=lambda one: carried[one])
    if not carried[chosen]:
        shown = ", ".join(map(str, prefixes))
        raise _tidegate.TidegateError(
            f"no flow of the capture goes {chosen}: none {'from' if chosen == 'up' else 'to'} an address in "
            f"{shown}\n"
            "  help: name the addresses on the inside of the link with --inside"
        )
    return Direction(chosen, tuple(map(str, prefixes)), why, tuple(each == chosen for each in ways))


def _prefix(text: str) -> Prefix:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise _tidegate.TidegateError(f"--inside takes prefixes such as 192.168.0.0/16: {error}") from None


def _way(flow: FiveTuple, inside: Sequence[Prefix]) -> str | None:
    """`up` from an address inside to one that is not, `down` back; None for what does not cross."""
    if _is_to_many(flow.destination):
        return None
    source, destination = (_is_in(address, inside) for address in (flow.source, flow.destination))
    if source == destination:
        # Both ends have one address on the loopback interface; the service's port is the lower one.
        both = flow.source == flow.destination and source and len(flow.ports) == 2
        return ("up" if flow.ports[0] > flow.ports[1] else "down") if both else None
    return "up" if source else "down"


def _is_to_many(address: Address) -> bool:
    """Return whether an address is of multicast or broadcast, which does not leave its network."""
    return address.is_multicast or address == _BROADCAST


def _is_in(address: Address, prefixes: Sequence[Prefix]) -> bool:
    return any(address.version == prefix.version and address in prefix for prefix in prefixes)


def _private(flows: Iterable[FiveTuple]) -> tuple[Prefix, ...]:
    """Return the private prefixes in use, if private addresses talk to others at all; else nothing."""
    used: Counter[Prefix] = Counter()
    crosses = False
    for flow in flows:
        if _is_to_many(flow.destination):
            continue
        ends = [
            next((prefix for prefix in _PRIVATE if _is_in(address, (prefix,))), None)
            for address in (flow.source, flow.destination)
        ]
        used.update(prefix for prefix in ends if prefix is not None)
        crosses |= (ends[0] is None) != (ends[1] is None)
    return tuple(prefix for prefix, _ in used.most_common()) if crosses else ()


def _by_ports(flows: Sequence[FiveTuple | None], sizes: Sequence[int]) -> str:
    """Take the lower port for the outside: `up` when most bytes go there."""
    up = sum(
        size if flow.ports[0] > flow.ports[1] else -size
        for flow, size in zip(flows, sizes, strict=True)
        if flow is not None and len(set(flow.ports)) == len(("source", "destination"))
    )
    return "up" if up > 0 else "down"


def _busiest(flows: Sequence[FiveTuple | None], sizes: Sequence[int]) -> Prefix:
    """Return the host with the most bytes, clients first."""
    busiest: Counter[Address] = Counter()
    asks: Counter[Address] = Counter()
    for flow, size in zip(flows, sizes, strict=True):
        if flow is None or _is_to_many(flow.destination):
            continue
        for address, port, other in (
            (flow.source, flow.source_port, flow.destination_port),
            (flow.destination, flow.destination_port, flow.source_port),
        ):
            busiest[address] += size
            if port is not None and other is not None and port > other:
                asks[address] += size
    host = max(busiest, key=lambda address: (busiest[address], asks[address]))
    return ipaddress.ip_network(host)
