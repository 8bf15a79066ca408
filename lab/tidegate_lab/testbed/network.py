"""Builds the network of a plan: namespaces, cables, delays and queueing disciplines. Runs in the guest.

A link's egress carries HTB with one class at the link's rate and hardly any burst: a packet leaves it
when its first bit leaves a line of this rate. The queueing discipline of the port stands below it.
At the far end netem adds the time of the packet's own bits and the propagation delay. So a packet
comes out there when its last bit is in.
"""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CLONE_NEWNET = 0x40000000
NETNS = "/run/netns"
FLIGHT = 10_000_000
"""Packets for which netem has room: more than are ever on a line."""
CLOCK_STEP = 256
"""Steps of the clock of a kernel in virtual time, in ns."""
BURST = 1.05e-6
"""Time, in s, by which a packet may start early after one that has started late, where a byte does not
take whole steps of the clock: their differences would otherwise add up. `tc` counts it in
microseconds."""
CABLES = (10 << 24) + (192 << 16)
"""The first address of cables, two for each."""

GATED = ("inside", "outside")
"""The interfaces of a gate between both ends of a cable."""

WHOLE_MACHINE = {"net/ipv4/tcp_mem": "1000000 1000000 1000000"}
"""Settings of the whole machine: TCP is never short of memory."""

_libc = ctypes.CDLL(None, use_errno=True)


def node(index: int) -> str:
    """Return the namespace of a node."""
    return f"n{index}"


def egress(link: Mapping[str, Any]) -> str:
    """Return the interface by which a link leaves its first node."""
    return f"c{link['cable']}{link['end']}"


def arrival(link: Mapping[str, Any]) -> str:
    """Return the interface behind which a link's packets have arrived at its last node."""
    return f"i{link['cable']}{'ba'[link['end'] == 'b']}"


def build(plan: Mapping[str, Any]) -> None:
    """Build the network of a plan.

    Raises:
        CalledProcessError: A command failed.
    """
    _set(WHOLE_MACHINE)
    nodes = range(len(plan["nodes"]))
    laid = [line for cable in plan["cables"] for line in _pairs(cable)]
    _batch(["ip", "-batch", "-"], [*(f"netns add {node(index)}" for index in nodes), *laid])
    for index, own in enumerate(plan["nodes"]):
        ends = [line for cable in plan["cables"] for line in _ends(cable, index)]
        _batch(["ip", "-n", node(index), "-batch", "-"], ["link set lo up", *ends, *own["ip"]])
        lines = [line for link in plan["links"] if link["from"] == index for line in _port(link)]
        lines += [line for link in plan["links"] if link["to"] == index for line in _line_end(link)]
        _batch(["tc", "-n", node(index), "-batch", "-"], lines)
        with inside(index):
            _set(own["sysctls"])


def _set(sysctls: Mapping[str, str]) -> None:
    """Set values of the kernel, those of a network in the namespace of this process."""
    for key, value in sysctls.items():
        Path("/proc/sys", key).write_text(value, encoding="ascii")


def _names(cable: Mapping[str, Any]) -> list[str]:
    return [f"c{cable['number']}{side}" for side in "ab"]


def _macs(cable: Mapping[str, Any]) -> list[str]:
    number = cable["number"]
    return [f"02:00:00:{number >> 8:02x}:{number & 255:02x}:{side:02x}" for side in (1, 2)]


def _pairs(cable: Mapping[str, Any]) -> list[str]:
    """Return the commands that lay a cable: a pair of virtual interfaces, or one on each side of a gate."""
    pair = "link add {} netns {} address {} mtu {mtu} type veth peer name {} netns {} address {} mtu {mtu}"
    names, macs, mtu = _names(cable), _macs(cable), cable["mtu"]
    first, second = (node(end) for end in cable["ends"])
    if "box" not in cable:
        return [pair.format(names[0], first, macs[0], names[1], second, macs[1], mtu=mtu)]
    box = node(cable["box"])
    return [
        pair.format(own, place, mac, name, box, mac.replace("02:00:00", "02:00:01"), mtu=mtu)
        for own, place, mac, name in zip(names, (first, second), macs, GATED, strict=True)
    ]


def _ends(cable: Mapping[str, Any], index: int) -> list[str]:
    """Return the commands that set up the ends of a cable at a node, each with a device for its delay."""
    if cable.get("box") == index:
        return [f"link set {name} gso_max_segs 1 up" for name in GATED]
    number, names, macs = cable["number"], _names(cable), _macs(cable)
    addresses = [dotted(CABLES + 2 * number + side) for side in (0, 1)]
    return [
        line
        for side, other in ((0, 1), (1, 0))
        if cable["ends"][side] == index
        for line in (
            f"link add i{number}{'ab'[side]} mtu {cable['mtu']} type ifb",
            f"link set i{number}{'ab'[side]} up",
            f"link set {names[side]} gso_max_segs 1 up",
            f"addr add {addresses[side]}/31 dev {names[side]}",
            f"neigh add {addresses[other]} lladdr {macs[other]} dev {names[side]} nud permanent",
        )
    ]


def gateway(link: Mapping[str, Any]) -> str:
    """Return the address of a link's far end."""
    return dotted(CABLES + 2 * link["cable"] + (link["end"] == "a"))


def _port(link: Mapping[str, Any]) -> list[str]:
    """Return the queueing disciplines at the egress of a link; none in front of a gate."""
    if link.get("is_gated"):
        return []
    device, rate = egress(link), link["rate"]
    burst = math.ceil(rate / 8 * BURST) if 8_000_000_000 % (rate * CLOCK_STEP) else 1
    return [
        f"qdisc add dev {device} root handle 1: htb default 1",
        f"class add dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit "
        f"burst {burst} cburst {burst} quantum 60000",
        *(line.replace("@", device) for line in link["qdisc"]),
    ]


def _line_end(link: Mapping[str, Any]) -> list[str]:
    """Return the commands that hold a link's packets until their last bits are in."""
    device = f"c{link['cable']}{'ba'[link['end'] == 'b']}"
    behind = arrival(link)
    line = f"delay {link['delay'] / 1000:.3f}us rate {link['rate']}bit"
    return [
        f"qdisc add dev {behind} root netem limit {FLIGHT} {line}",
        f"qdisc add dev {device} ingress",
        f"filter add dev {device} ingress matchall action mirred egress redirect dev {behind}",
    ]


def inside(index: int) -> Any:
    """Return a context in which new sockets belong to a node."""
    return _Namespace(index)


class _Namespace:
    def __init__(self, index: int) -> None:
        self._path = f"{NETNS}/{node(index)}"

    def __enter__(self) -> None:
        self._before = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._enter(os.open(self._path, os.O_RDONLY))

    def __exit__(self, *_: object) -> None:
        self._enter(self._before)

    def _enter(self, namespace: int) -> None:
        try:
            if _libc.setns(namespace, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(namespace)


def counters(index: int) -> dict[str, int]:
    """Return the counters of TCP of a node."""
    with inside(index):
        lines = Path("/proc/self/net/netstat").read_text() + Path("/proc/self/net/snmp").read_text()
    rows = [line.split() for line in lines.splitlines()]
    return {
        f"{names[0].rstrip(':')}{name}": int(value)
        for names, values in zip(rows[::2], rows[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }


def queues(plan: Mapping[str, Any]) -> list[str]:
    """Return what `tc` tells of the queueing disciplines of each node, as JSON."""
    nodes = range(len(plan["nodes"]))
    return [_run("tc", "-n", node(index), "-s", "-j", "qdisc", "show") for index in nodes]


def dotted(number: int) -> str:
    """Return an address as people write it."""
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _batch(words: list[str], lines: Iterable[str]) -> None:
    if text := "\n".join(lines):
        subprocess.run(words, input=text + "\n", capture_output=True, text=True, check=True)
