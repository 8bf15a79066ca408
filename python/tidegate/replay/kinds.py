"""What a flow of a capture looks like, as far as protecting it is concerned.

The rule is in `docs/replay.md`; it reads sizes, times and ports only, never what is in a packet.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.replay.names import FiveTuple

TARGETS = {"call": 0.02, "game": 0.02, "shell": 0.1, "video": 0.1}
"""Delay in s that 99 % of a flow's packets should keep at one link, by what the flow looks like.

A share of what ITU-T G.1010 (table I.1) prefers from end to end: 150 ms for calls and video calls, 200 ms for
games and remote shells.
"""
TARGET = TARGETS["call"]
"""The same for a flow that is protected by name and looks like none of them."""

LEAST_PACKETS = 10
LEAST_LIFE = 1.0
LEAST_PART = 0.1
"""A flow with fewer packets, or a shorter life in s or as a part of the file, is nothing that one can
reserve for."""

SMALL = 300
"""Mean size in bytes up to which packets are small: sound, or a player's moves."""
LEAST_PACE = 5.0
"""Packets a second that a call, a game or a video sends at least."""
FULL = 0.95
LONG = 1000
"""Packets of at least `LONG` bytes, nearly all of the longest size (their mean is that part of it), are
bulk."""
TYPED = 50.0
"""Packets a second that a remote shell sends at most; a copy's acknowledgements are faster."""

_SHELLS = {22: "ssh", 23: "telnet", 3389: "remote desktop", 5900: "remote desktop"}
# Ports that IANA has registered for games played over TCP.
_GAMES = {1119, 3724, 25565}
# UDP services that are neither call nor video nor game: names, addresses, time, web, tunnels, discovery.
_SERVICES = {
    *(53, 67, 68, 69, 80, 123, 137, 138, 161, 162, 443, 500, 514, 853, 1194, 1701, 1812, 1813, 1900),
    *(2049, 3702, 4500, 4789, 5351, 5353, 5355, 17500, 51820),
}


@dataclass(frozen=True)
class Look:
    """What a flow looks like.

    Attributes:
        kind: `call`, `game`, `shell` or `video`.
        why: What says so, in words.
    """

    kind: str
    why: str


def look(
    flow: FiveTuple, *, packets: int, size: int, longest: int, life: float, busy_seconds: int, span: float
) -> Look | None:
    """Tell what a flow looks like; None for everything that is not protected unless it is named.

    Args:
        flow: Its addresses, ports and protocol.
        packets: How many it has.
        size: Bytes of all of them.
        longest: Its longest packet in bytes.
        life: From its first packet to its last one, in s.
        busy_seconds: Seconds of its life in which it sends.
        span: From the file's first packet to its last one, in s.
    """
    if packets < LEAST_PACKETS or life < LEAST_LIFE or life < LEAST_PART * span:
        return None
    mean, pace = size / packets, packets / life
    ports = set(flow.ports)
    if flow.protocol == "tcp":
        if mean <= SMALL and pace <= TYPED and (shells := ports & _SHELLS.keys()):
            return Look("shell", f"{_SHELLS[min(shells)]}, {mean:.0f} B a packet")
        if mean <= 2 * SMALL and (games := ports & _GAMES):
            return Look("game", f"TCP port {min(games)}, {mean:.0f} B a packet")
        return None
    steady = pace >= LEAST_PACE and busy_seconds * 2 >= int(life) + 1
    if flow.protocol != "udp" or not ports or ports & _SERVICES or not steady:
        return None
    if mean <= SMALL:
        return Look("call", f"UDP, {pace:.0f} packets/s of {mean:.0f} B: a call or a game")
    if longest >= LONG and mean >= FULL * longest:
        return None
    return Look("video", f"UDP, {pace:.0f} packets/s of {mean:.0f} B, steady")
