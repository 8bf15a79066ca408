"""Readable names for the flows of a capture."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence

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

_FLOW = re.compile(r"(?P<source>[^>\s]+)>(?P<destination>[^>\s]+)/(?P<protocol>[a-z0-9]+)")


def is_five_tuple(flow: str) -> bool:
    """Whether a scenario can pick this flow out of its file: `10.0.0.1:5004>10.0.0.2:5004/udp` or `other`."""
    if flow == "other":
        return True
    parts = _FLOW.fullmatch(flow)
    return parts is not None and all(_is_end(parts[end]) for end in ("source", "destination"))


def opposite(flow: str) -> str | None:
    """Return the 5-tuple of the other direction; None where there is no other."""
    parts = _FLOW.fullmatch(flow)
    if parts is None or parts["source"] == parts["destination"]:
        return None
    return f"{parts['destination']}>{parts['source']}/{parts['protocol']}"


def readable_names(flows: Sequence[str]) -> list[str]:
    """Name each 5-tuple by its service, or by protocol and lower port: `ssh`, `http-2`, `udp-5004`.

    Flows of one kind are numbered from 1 in the order given. The names are unique and are names that a
    scenario accepts.
    """
    stems = [_stem(flow) for flow in flows]
    of_kind = Counter(stems)
    seen: Counter[str] = Counter()
    names = []
    for stem in stems:
        seen[stem] += 1
        names.append(stem if of_kind[stem] == 1 else f"{stem}-{seen[stem]}")
    return names


def _stem(flow: str) -> str:
    parts = _FLOW.fullmatch(flow)
    if parts is None:
        return "other"
    protocol = parts["protocol"]
    ports = [port for end in ("source", "destination") if (port := _port(parts[end])) is not None]
    for port in sorted(ports):
        if service := _SERVICES.get((protocol, port)):
            return service
    if ports:
        return f"{protocol}-{min(ports)}"
    if protocol in ("tcp", "udp"):
        return f"{protocol}-fragments"
    return f"ip-{protocol}" if protocol.isdigit() else protocol


def _port(end: str) -> int | None:
    if end.startswith("["):
        _, bracket, port = end.rpartition("]:")
        return int(port) if bracket and port.isdigit() else None
    # Without brackets, more than one colon is an IPv6 address without a port.
    address, colon, port = end.rpartition(":")
    return int(port) if colon and ":" not in address and port.isdigit() else None


def _is_end(end: str) -> bool:
    address = end
    if _port(end) is not None:
        address = end.rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True
