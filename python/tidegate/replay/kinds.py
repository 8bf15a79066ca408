"""Kinds of flows in a capture, as far as protecting them is concerned.

The rule is in `docs/replay.md`; it reads sizes, times and ports only, never what is in a packet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate import _tidegate
from tidegate.replay.brief import brief
from tidegate.replay.names import FiveTuple
from tidegate.show import plural

TARGETS = {"call": 0.02, "game": 0.02, "shell": 0.1, "video": 0.1}
"""Delay in s that 99 % of a flow's packets should keep at one link, by what the flow looks like.

A share of what ITU-T G.1010 (table I.1) prefers from end to end: 150 ms for calls and video calls,
200 ms for games and remote shells.
"""
TARGET = TARGETS["call"]
"""Target of a flow that is protected by name and looks like none of them."""

SMALL = 300
"""Mean size in bytes up to which packets are small: sound, or a player's moves."""
TINY = 120
"""Mean size in bytes up to which packets may be acknowledgements and nothing else."""
MIN_PACE = 5.0
"""Packets a second that a call, a game or a video sends at least."""
FULL = 0.95
LONG = 1000
"""Packets are full when their mean is this part of the longest, and that has at least so many
bytes."""
TYPED = 50.0
"""Packets a second that a remote shell sends at most; a copy's acknowledgements are faster."""
STEADY = 0.6
"""Share of the gaps between frames that are within 30 % of the middle one, where there is a
rhythm."""
VERY_STEADY = 0.9
SHORTEST_FRAME = 0.016
"""Seconds between frames of one full packet each, at least: packets that follow faster are merely
paced."""
ALIKE = 4
"""The two halves of a conversation differ in their packets by at most this factor."""
ANSWERED = 0.4
"""Packets that acknowledge a transfer, as a part of its own, at least."""
MUCH = 10
"""Least ratio of a transfer's bytes to those of its acknowledgements."""

_SHELLS = {22: "ssh", 23: "telnet", 3389: "remote desktop", 5900: "remote desktop"}
# Ports that IANA has registered for games played over TCP.
_GAMES = {1119, 3724, 25565}
# UDP services that are neither call nor video nor game: names, addresses, time, management, files,
# discovery.
_SERVICES = {
    *(53, 67, 68, 69, 123, 137, 138, 161, 162, 500, 514, 1812, 1813, 1900, 2049, 3702, 5351, 5353, 5355),
    17500,
}
# UDP ports of what carries anything: the web (QUIC) and tunnels.
_QUIC = {80, 443, 853}
_TUNNELS = {1194, 1701, 4500, 4789, 51820}


@dataclass(frozen=True)
class Traits:
    """The sizes and times of a flow.

    Attributes:
        packets: Number of its packets.
        size: Bytes of all of them.
        longest: Its longest packet in bytes.
        life: From its first packet to its last one, in s.
        busy_seconds: Seconds of its life in which it sends.
        present: Quarters of a second of its life in which it sends, 0 to 1.
        gap: Middle gap between its frames, in s; None when it has no frames.
        regular: Share of these gaps that are within 30 % of it, 0 to 1.
        frame: Packets of a frame; None when it has no frames.
    """

    packets: int
    size: int
    longest: int
    life: float
    busy_seconds: int
    present: float
    gap: float | None
    regular: float
    frame: float | None

    @classmethod
    def of(cls, seen: Mapping[str, Any]) -> Traits:
        """Return those of a flow of a capture."""
        return cls(
            packets=seen["packets"],
            size=seen["bytes"],
            longest=seen["longest_packet"],
            life=seen["life"],
            busy_seconds=seen["busy_seconds"],
            present=seen["present"],
            gap=seen["frame_gap"],
            regular=seen["regular"],
            frame=seen["frame_packets"],
        )

    @property
    def mean(self) -> float:
        """Mean size of a packet in bytes."""
        return self.size / self.packets

    @property
    def pace(self) -> float:
        """Packets a second."""
        return self.packets / self.life if self.life else 0.0

    @property
    def full(self) -> bool:
        """True if nearly all packets are as long as the longest, and that is long."""
        return self.longest >= LONG and self.mean >= FULL * self.longest

    @property
    def steady(self) -> bool:
        """True if it sends at least 5 packets/s, in half of its seconds or more."""
        return self.pace >= MIN_PACE and self.busy_seconds * 2 >= int(self.life) + 1

    @property
    def rhythm(self) -> str | None:
        """Its frames in words, when they come in a steady rhythm."""
        if self.gap is None or self.regular < STEADY:
            return None
        if self.frame is not None and self.frame >= 1.5:
            return f"frames of {self.frame:.2g} packets every {brief(self.gap, 's')}"
        return f"one every {brief(self.gap, 's')}"


@dataclass(frozen=True)
class Look:
    """Kind that a flow looks like.

    Attributes:
        kind: `call`, `game`, `shell` or `video`; None for what is protected only by name.
        why: The evidence, in words.
    """

    kind: str | None
    why: str


def look(flow: FiveTuple | None, own: Traits, back: Traits | None, *, span: float) -> Look:
    """Tell what a flow looks like.

    Args:
        flow: Its addresses, ports and protocol; None when it has none, but a name.
        own: Its sizes and times.
        back: Those of the flow that goes the other way; None when the file does not have it.
        span: From the file's first packet to its last one, in s.
    """
    if own.packets < _tidegate.MIN_PACKETS:
        return Look(None, f"only {plural(own.packets, 'packet')}")
    if own.life < _tidegate.MIN_LIFE or own.life * 100 < _tidegate.MIN_LIFE_PERCENT * span:
        return Look(None, f"lives for {brief(own.life, 's')} only")
    if flow is None:
        return _datagrams("packets", own, back, careful=False, quic=False)
    ports = set(flow.ports)
    if flow.protocol == "tcp":
        return _tcp(ports, own)
    if flow.protocol != "udp" or not ports:
        return Look(None, f"protocol {flow.protocol}" if flow.protocol != "udp" else "UDP without ports")
    if services := ports & _SERVICES:
        return Look(None, f"UDP port {min(services)} is that of a service")
    quic = bool(ports & _QUIC)
    return _datagrams("UDP", own, back, careful=quic or bool(ports & _TUNNELS), quic=quic)


def _tcp(ports: set[int], own: Traits) -> Look:
    if own.mean <= SMALL and own.pace <= TYPED and (shells := ports & _SHELLS.keys()):
        return Look("shell", f"{_SHELLS[min(shells)]}, {own.mean:.0f} B a packet")
    if own.mean <= 2 * SMALL and (games := ports & _GAMES):
        return Look("game", f"TCP port {min(games)}, {own.mean:.0f} B a packet")
    return Look(None, "TCP, which adapts to the link")


def _datagrams(what: str, own: Traits, back: Traits | None, *, careful: bool, quic: bool) -> Look:
    """Tell what a flow of datagrams looks like.

    `careful` says that its port carries anything, so that steady sizes and paces alone prove
    nothing; `quic`, that it is the web's.
    """
    if not own.steady:
        return Look(None, f"{what}, {own.pace:.2g} packets/s, not steadily")
    seen = f"{what}, {own.pace:.0f} packets/s of {own.mean:.0f} B"
    if back is not None and _acknowledges(own, back, careful=careful):
        return Look(None, f"{seen}: acknowledges the other direction")
    alike = back is not None and _is_alike(own, back)
    rhythm = own.rhythm
    if own.mean <= SMALL:
        if rhythm is not None and (not careful or back is not None or own.mean > TINY):
            return Look("call", f"{seen}, {rhythm}: a call or a game")
        if alike or not careful:
            return Look("call", f"{seen}{', both ways' if alike else ''}: a call or a game")
        return Look(None, f"{seen}, in no rhythm")
    if own.full:
        if back is not None and back.mean <= TINY and back.packets >= ANSWERED * own.packets:
            return Look(None, f"{seen}: full packets, which are acknowledged")
        framed = rhythm is not None and ((own.frame or 0) >= 1.5 or (own.gap or 0) >= SHORTEST_FRAME)
        if framed and (not careful or own.regular >= VERY_STEADY or alike):
            return Look("video", f"{seen}, {rhythm}")
        return Look(None, f"{seen}: full packets, in no rhythm of frames")
    if not careful:
        return Look("video", f"{seen}, {rhythm or 'steady'}")
    if rhythm is not None:
        return Look("video", f"{seen}, {rhythm}")
    always = own.present >= VERY_STEADY and back is not None and back.present >= VERY_STEADY
    if alike or (quic and always):
        return Look("video", f"{seen}, both ways without a pause")
    return Look(None, f"{seen}, in no rhythm")


def _acknowledges(own: Traits, back: Traits, *, careful: bool) -> bool:
    """Return whether a flow is nothing but the answer to a transfer."""
    if own.mean > TINY or back.size < MUCH * own.size:
        return False
    paced = back.full and (back.rhythm is None or own.packets >= ANSWERED * back.packets)
    return careful or paced


def _is_alike(own: Traits, back: Traits) -> bool:
    """Return whether the two halves of a conversation send about as much."""
    packets = own.packets <= ALIKE * back.packets and back.packets <= ALIKE * own.packets
    size = own.size <= ALIKE * back.size and back.size <= ALIKE * own.size
    return packets and size and back.steady
