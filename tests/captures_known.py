"""A generator of captures that knows what a replay must say of them.

Each scene has the packets that cross a link of 4 Mbit/s, and what is known of them: which flows are
calls, games and videos, and whether the transfer beside them overruns the link. Each fault changes
the file, and not what is true of the packets.
"""

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from capture_writer import ETHERNET, RAW, SLL, SLL2, TCP, Capture, Packet, enhanced, frame, interface, section

START = 1_700_000_000.0
SECONDS = 12
INSIDE, OUTSIDE = "192.168.1.20", "203.0.113.5"
RATE = 4_000_000
WIRE = 12e-6
"""Seconds that a full packet takes at 1 Gbit/s."""


@dataclass(frozen=True)
class Known:
    """A capture, and what is known of it.

    Attributes:
        name: Its scene and its fault.
        file: The bytes of the file.
        suffix: Ending of the file's name.
        way: The direction that is played.
        protected: The source ports of the flows that need protection.
        kind: The kind of the verdict.
        packets: Packets that cross the link, as the link has them; None when damage costs some.
        said: Words that the output must have.
    """

    name: str
    file: bytes
    suffix: str
    way: str
    protected: frozenset[int]
    kind: str
    packets: int | None
    said: tuple[str, ...]


Flow = list[Packet]


def steady(rng: random.Random, port: int, gap: float, payloads: list[int], *, peer: int, up: bool) -> Flow:
    """Return frames of packets with these payloads, every `gap` s with a jitter of a twentieth."""
    at, found, begin = 0.0, [], rng.uniform(0, gap)
    number = rng.randrange(1 << 30)
    while at + gap < SECONDS:
        begun = START + begin + at + rng.uniform(0, gap / 20)
        for nth, payload in enumerate(payloads):
            number += 1
            ends = (INSIDE, OUTSIDE) if up else (OUTSIDE, INSIDE)
            found.append(Packet(begun + nth * 1e-4, *ends, (port, peer), payload, number))
        at += gap
    return found


def bulk(rng: random.Random, port: int, rate: float, *, up: bool, protocol: int = TCP) -> Flow:
    """Return a transfer in full packets: trains of up to four, back to back at 1 Gbit/s, at random gaps."""
    at, found, sequence = 0.0, [], rng.randrange(1 << 30)
    payload = 1460 if protocol == TCP else 1250
    ends = (INSIDE, "203.0.113.9") if up else ("203.0.113.9", INSIDE)
    while at < SECONDS:
        train = rng.randrange(1, 5)
        for nth in range(train):
            sequence += payload
            when = START + at + nth * WIRE
            found.append(Packet(when, *ends, (port, 50123), payload, sequence, protocol, sequence=sequence))
        at += train * WIRE + rng.expovariate(rate / 8 / (payload + 54) / train)
    return found


def acknowledgements(data: Flow, each: int) -> Flow:
    """Return the other half of a transfer: one small packet for so many of it."""
    return [
        replace(
            packet,
            at=packet.at + 2e-3,
            source=packet.destination,
            destination=packet.source,
            ports=packet.ports[::-1],
            payload=33,
        )
        for packet in data[::each]
    ]


def other_half(flow: Flow) -> Flow:
    """Return the same packets the other way, as the other side of a call sends them."""
    return [
        replace(
            packet,
            at=packet.at + 3e-3,
            source=packet.destination,
            destination=packet.source,
            ports=packet.ports[::-1],
            number=packet.number + (1 << 31),
        )
        for packet in flow
    ]


@dataclass(frozen=True)
class Scene:
    """Packets, those that need protection by their source port, and how much bulk there is beside them."""

    name: str
    way: str
    packets: Flow
    protected: frozenset[int]
    overrun: bool

    @property
    def crossing(self) -> Flow:
        """The packets that cross the link."""
        source = INSIDE if self.way == "up" else OUTSIDE
        return [one for one in self.packets if (one.source == INSIDE) is (source == INSIDE)]

    @property
    def kind(self) -> str:
        """The kind of the verdict."""
        if not self.protected:
            return "nothing-to-protect"
        return "reservations-help" if self.overrun else "no-scheduler-needed"


def scenes(rng: random.Random) -> list[Scene]:
    """Return what people do on a link of 4 Mbit/s, beside a download that overruns it or one that fits."""
    found = []
    for overrun in (True, False):
        load = (5.5e6 if overrun else 0.2e6) * rng.uniform(0.95, 1.05)
        for up in (True, False):
            voice = steady(rng, 40000, rng.choice([0.01, 0.02, 0.03]), [172], peer=5004, up=up)
            video = steady(rng, 5006, 1 / rng.choice([25, 30]), [1100] * rng.choice([1, 2]), peer=5006, up=up)
            zoom = steady(rng, 8801, 1 / 30, [1050], peer=52000, up=up)
            quic = steady(rng, 443, 0.02, [rng.randrange(130, 240)], peer=52100, up=up)
            game = steady(rng, 27015, 1 / rng.choice([30, 60]), [rng.randrange(60, 180)], peer=27005, up=up)
            tcp = bulk(rng, 8443, load, up=up)
            web = bulk(rng, 443, load, up=up, protocol=17)
            way = "up" if up else "down"
            for name, parts, ports in (
                ("voice", [voice, tcp], {40000}),
                ("both-halves", [voice, other_half(voice), tcp], {40000}),
                ("rtp-video", [video, tcp], {5006}),
                ("conference", [zoom, other_half(zoom), tcp], {8801}),
                ("quic-call", [quic, other_half(quic), tcp, acknowledgements(tcp, 2)], {443}),
                ("game", [game, tcp], {27015}),
                ("quic-bulk", [voice, web, acknowledgements(web, 2)], {40000}),
                ("nothing", [tcp, web, acknowledgements(web, 4)], set()),
            ):
                packets = sorted((one for part in parts for one in part), key=lambda one: one.at)
                many = 2 if name == "nothing" else 1
                found.append(Scene(f"{name}-{way}", way, packets, frozenset(ports), overrun or many > 2))
    return found


def plain(scene: Scene, rng: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return the file as it is, in one format or the other."""
    made = Capture.of(scene.packets)
    return (
        (made.pcapng(), "pcapng", len(scene.crossing), ())
        if rng.random() < 0.5
        else (made.pcap(), "pcap", len(scene.crossing), ())
    )


def one_direction(scene: Scene, _: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file that has only what crosses the link."""
    return Capture.of(scene.crossing).pcap(), "pcap", len(scene.crossing), (f"only what goes {scene.way}",)


def twice(scene: Scene, rng: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file with each packet twice: at two places, or by a mirror port of both directions."""
    made, way = Capture(rng.choice([ETHERNET, SLL, SLL2])), rng.random() < 0.5
    rows = []
    for packet in scene.packets:
        later = replace(packet, at=packet.at + rng.uniform(5e-6, 8e-4), hops=packet.hops - way)
        rows += [(packet, 1), (later, 2 if way else 1)]
    for packet, place in sorted(rows, key=lambda row: row[0].at):
        made.add(packet.at, *frame(packet, made.link, place))
    return made.pcap(), "pcap", len(scene.crossing), ("more than once", "were removed")


def clock(scene: Scene, rng: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file whose clock is set by hours, once or twice."""
    made = Capture.of(scene.packets)
    steps = sorted(rng.sample(range(len(made.records) // 4, 3 * len(made.records) // 4), rng.choice([1, 2])))
    by = [rng.choice([-1, 1]) * rng.randrange(3600, 20 * 3600) * 10**6 for _ in steps]
    made.records = [
        (at + sum(one for step, one in zip(steps, by, strict=True) if nth >= step), data, length)
        for nth, (at, data, length) in enumerate(made.records)
    ]
    way = "back" if by[0] < 0 else "forward"
    return made.pcap(), "pcap", len(scene.crossing), (f"the clock of the capture steps: {way} by",)


def super_packets(scene: Scene, _: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file in which offload has joined the segments of each train of a transfer."""
    made, held, cut = Capture(), {}, 0
    rows: list[tuple[Packet, int]] = []

    def join(port: int) -> None:
        joined: Flow = held.pop(port, [])
        if joined:
            rows.append((replace(joined[0], payload=sum(one.payload for one in joined)), len(joined)))

    for packet in scene.packets:
        port = packet.ports[0]
        if packet.payload < 1250:
            rows.append((packet, 1))
            continue
        if port in held and packet.at - held[port][-1].at > 2 * WIRE:
            join(port)
        held.setdefault(port, []).append(packet)
    for port in list(held):
        join(port)
    crossing = {packet.ports for packet in scene.crossing}
    for packet, segments in sorted(rows, key=lambda row: row[0].at):
        made.add(packet.at, *frame(packet))
        cut += segments > 1 and packet.ports in crossing
    assert cut > 0
    return made.pcap(), "pcap", len(scene.crossing), ("super-packets of up to", "the headers repeated")


def damaged(scene: Scene, rng: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file with records of no bytes, of unknown interfaces, types and blocks, and with damage."""
    made = Capture.of(scene.packets)
    places = set(rng.sample(range(100, len(made.records) - 100), 4))
    if rng.random() < 0.5:
        out = section() + interface()
        for nth, record in enumerate(made.records):
            out += enhanced(0, *record)
            if nth in places:
                out += enhanced(0, record[0], b"", 0) + enhanced(7, *record) + made_up_block(rng)
        out += enhanced(0, *made.records[-1])[:30]
        return (
            out,
            "pcapng",
            len(scene.crossing),
            ("of no bytes", "of an interface that", "is cut off in packet"),
        )
    out = Capture(made.link).pcap()
    for nth, record in enumerate(made.records):
        whole = made.record(*record)
        if nth in places:
            whole = made.record(record[0], b"", 0) + rng.randbytes(rng.randrange(20, 90)) + whole
        out += whole
    return out + b"\1\2\3", "pcap", None, ("of no bytes", "damaged", "is cut off in packet")


def made_up_block(rng: random.Random) -> bytes:
    """Return a block of a type that nobody has defined."""
    length = 12 + 4 * rng.randrange(9)
    return (
        struct.pack("<II", 0x7000 + rng.randrange(99), length)
        + bytes(length - 12)
        + struct.pack("<I", length)
    )


def crowd(scene: Scene, rng: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file with 20,000 flows of one packet each beside the others."""
    ends = (INSIDE, "203.0.113.53") if scene.way == "up" else ("203.0.113.53", INSIDE)
    lookups = [
        Packet(START + rng.uniform(0, SECONDS), *ends, (1024 + nth % 60_000, 53), 30, nth)
        for nth in range(20_000)
    ]
    return (
        Capture.of(scene.packets + lookups).pcap(),
        "pcap",
        len(scene.crossing) + 20_000,
        ("are played together",),
    )


def pseudo_header(scene: Scene, rng: random.Random) -> tuple[bytes, str, int | None, tuple[str, ...]]:
    """Return a file of another link type, whose pseudo-headers are charged to nobody."""
    return Capture.of(scene.packets, rng.choice([SLL, SLL2, RAW])).pcap(), "pcap", len(scene.crossing), ()


Fault = Callable[[Scene, random.Random], tuple[bytes, str, int | None, tuple[str, ...]]]

FAULTS: tuple[Fault, ...] = (
    plain,
    one_direction,
    twice,
    clock,
    super_packets,
    damaged,
    pseudo_header,
)


def captures(seed: int, count: int) -> Iterator[Known]:
    """Yield so many captures, every fault as often as the others, and 20,000 flows in one of thirty."""
    rng = random.Random(seed)
    for nth in range(count):
        every = scenes(rng)
        scene = every[(nth * 5 + seed) % len(every)]
        fault = crowd if nth % 30 == 7 else FAULTS[nth % len(FAULTS)]
        file, suffix, packets, said = fault(scene, rng)
        yield Known(
            f"{nth}-{scene.name}-{'overrun' if scene.overrun else 'fits'}-{fault.__name__}",
            file,
            suffix,
            scene.way,
            scene.protected,
            scene.kind,
            packets,
            said,
        )
