"""Readable names for the flows of a capture."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# The services that office and campus captures are full of; anything else is named by its port.
_SERVICES = {
    ("tcp", 21): "ftp",
    ("tcp", 22): "ssh",
    ("tcp", 25): "smtp",
    ("tcp", 53): "dns",
    ("tcp", 80): "http",
    ("tcp", 143): "imap",
    ("tcp", 443): "https",
    ("tcp", 445): "smb",
    ("tcp", 502): "modbus",
    ("tcp", 853): "dns-tls",
    ("tcp", 993): "imaps",
    ("tcp", 3389): "rdp",
    ("tcp", 5201): "iperf3",
    ("tcp", 8080): "http",
    ("udp", 53): "dns",
    ("udp", 67): "dhcp",
    ("udp", 123): "ntp",
    ("udp", 137): "netbios",
    ("udp", 161): "snmp",
    ("udp", 443): "quic",
    ("udp", 500): "ike",
    ("udp", 514): "syslog",
    ("udp", 1900): "ssdp",
    ("udp", 3478): "stun",
    ("udp", 5060): "sip",
    ("udp", 5353): "mdns",
}

OTHERS = "others"
"""The name of flows that are played together."""

_LONGEST = 48
"""Characters of a free name that are kept: a scenario accepts 64."""

_FLOW = re.compile(r"(?P<source>[^>\s]+)>(?P<destination>[^>\s]+)/(?P<protocol>[a-z0-9]+)")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class FiveTuple:
    """A flow's addresses, ports and protocol.

    Attributes:
        source: Address of its sender.
        destination: Address of its receiver.
        source_port: Its port; None where the protocol has none, or it is not known.
        destination_port: Port of its receiver; None with `source_port`.
        protocol: Name or IANA number of its protocol.
    """

    source: Address
    destination: Address
    source_port: int | None
    destination_port: int | None
    protocol: str

    @classmethod
    def read(cls, flow: str) -> FiveTuple | None:
        """Read a flow such as `10.0.0.1:5004>10.0.0.2:5004/udp`; None for other text, as `other`."""
        parts = _FLOW.fullmatch(flow)
        if parts is None:
            return None
        try:
            (source, source_port), (destination, destination_port) = map(
                _end, (parts["source"], parts["destination"])
            )
        except ValueError:
            return None
        return cls(source, destination, source_port, destination_port, parts["protocol"])

    @property
    def reverse(self) -> FiveTuple:
        """The flow that goes the other way."""
        return FiveTuple(
            self.destination, self.source, self.destination_port, self.source_port, self.protocol
        )

    @property
    def ports(self) -> tuple[int, ...]:
        """Its ports, as far as it has any."""
        return tuple(port for port in (self.source_port, self.destination_port) if port is not None)

    @property
    def service_port(self) -> int | None:
        """The port that stands for a service, where a client's is another one each time."""
        known = [port for port in sorted(self.ports) if port < 1024 or (self.protocol, port) in _SERVICES]
        return known[0] if known and self.source_port != self.destination_port else None


def is_five_tuple(flow: str) -> bool:
    """Return whether a scenario can select such a flow: `10.0.0.1:5004>10.0.0.2:5004/udp` or `other`."""
    return flow == "other" or FiveTuple.read(flow) is not None


def readable_names(flows: Sequence[str]) -> list[str]:
    """Name each 5-tuple by its service, or by protocol and lower port: `ssh`, `http-2`, `udp-5004`.

    A flow with a free name keeps it, as far as a scenario accepts it. Flows of one kind are
    numbered from 1 in the order given. The names are unique and are names that a scenario accepts.
    """
    stems = [_stem(flow) for flow in flows]
    of_kind = Counter(stems)
    taken = {OTHERS, *(stem for stem, count in of_kind.items() if count == 1)}
    seen: Counter[str] = Counter()
    names = []
    for stem in stems:
        name = stem
        while of_kind[stem] > 1 or stem == OTHERS:
            seen[stem] += 1
            name = f"{stem}-{seen[stem]}"
            if name not in taken:
                break
        taken.add(name)
        names.append(name)
    return names


def _stem(flow: str) -> str:
    parts = FiveTuple.read(flow)
    if parts is None:
        return re.sub(r"[^A-Za-z0-9_]+", "-", flow)[:_LONGEST].strip("-") or "flow"
    for port in sorted(parts.ports):
        if service := _SERVICES.get((parts.protocol, port)):
            return service
    if parts.ports:
        return f"{parts.protocol}-{min(parts.ports)}"
    if parts.protocol in ("tcp", "udp"):
        return f"{parts.protocol}-fragments"
    return f"ip-{parts.protocol}" if parts.protocol.isdigit() else parts.protocol


def _end(text: str) -> tuple[Address, int | None]:
    """Read an address with a port, `10.0.0.1:80` or `[::1]:80`, or without one."""
    address, port = text, None
    # Without brackets, more than one colon is an IPv6 address without a port.
    if text.startswith("[") or text.count(":") == 1:
        address, _, number = text.rpartition(":")
        address, port = address.removeprefix("[").removesuffix("]"), int(number)
    return ipaddress.ip_address(address), port
