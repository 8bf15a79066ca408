"""The segments that a sender of TCP sends after stated losses, in the kernel and in the simulator."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import tidegate
from tidegate import TidegateError, commands
from tidegate.stage import Passage, PassingPacket, Stage
from tidegate_lab.testbed import records, runs
from tidegate_lab.testbed.experiment import FIGURES, PLAN
from tidegate_lab.testbed.plan import described, plan
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    from tidegate_lab.uml.build import Kernel

PACKET, HEADER = 1514, 66
"""Bytes of a packet of data in Ethernet, and of its headers: IPv4, and TCP with time stamps."""
DATA = PACKET - HEADER
RATE, ACCESS_RATE = 20_000_000, 1_000_000_000
"""Rate of the bottleneck, and of the links of hosts, in bit/s."""
ACCESS, BOTTLENECK = "l1->left", "left->right"
"""The sender's link, and the bottleneck, behind which segments are dropped."""
FOLLOWING = 100
"""Segments that are compared from the first one on that is sent again; all before it are, too."""
NEAR, WHEEL = 100_000, 8_000_000
"""Times may be so far apart, in ns; and so far once a timer has expired, because the kernel's wheel counts
timeouts from 64 to 511 ms in steps of 8 ms."""
THINK = 100_000_000
"""Time between the end of a transfer and the start of the next, in ns."""
ENHANCED_PACKET = 6
"""The type of a packet's block in a capture."""
RECORDED = Path(__file__).with_name("losses_recorded.json")
"""The kernel's segments, by the name of the pattern."""


class Segment(NamedTuple):
    """A segment of data that the sender sends.

    Attributes:
        time: When its first bit leaves the sender, in ns from the first segment on.
        start: Its first byte, from 0.
        length: Its bytes of data.
    """

    time: int
    start: int
    length: int


class StatedLosses(Stage):
    """Drops stated segments among the packets that come over a link and are longer than a header."""

    name = "stated-losses"
    parameters: ClassVar = {"link": "", "longer_than": 0, "numbers": ""}
    link: str
    longer_than: int
    numbers: str

    def __init__(self, **_: object) -> None:
        self._dropped = frozenset(map(int, self.numbers.split()))
        self._count = 0

    def entered(self, now: int, packet: PassingPacket) -> Passage | None:
        """Count a segment, from 1, and drop it if it is stated."""
        del now
        if packet.came != self.link or packet.length <= self.longer_than:
            return None
        self._count += 1
        return Passage.DROP if self._count in self._dropped else None


@dataclass(frozen=True)
class Pattern:
    """Losses of one connection.

    Attributes:
        congestion: Its congestion control.
        losses: A name for them.
        dropped: Numbers of the segments that are lost, among those that arrive, from 1.
        transfer: Segments of each transfer; None for endless data.
        acknowledgements: `each` if the receiver acknowledges every segment, `delayed` if it is as it is by
            default.
    """

    congestion: str
    losses: str
    dropped: tuple[int, ...]
    transfer: int | None = None
    acknowledgements: str = "each"

    @property
    def name(self) -> str:
        """A name in one word."""
        return f"{self.congestion}-{self.losses}-{self.acknowledgements}"

    def text(self, *, in_kernel: bool) -> str:
        """Return the scenario; that of the kernel has neither the losses nor the transfers."""
        delay = ', delayed_acks = "0s"' if self.acknowledgements == "each" else ""
        lines = [
            f'version = 1\nname = "{self.name}"\nduration = "2s"',
            f'topology = {{ kind = "dumbbell", pairs = 1, rate = "{RATE}bit", delay = "18ms", '
            f'access = {{ rate = "{ACCESS_RATE}bit", delay = "1ms" }} }}',
            'port = { dropper = { kind = "drop-tail", limit = "10000p" } }',
            f'[[connection]]\nname = "bulk"\nfrom = "l1"\nto = "r1"\nsize = "{PACKET}B"\n'
            f'transport = {{ kind = "tcp", header = "{HEADER}B", congestion = "{self.congestion}"{delay} }}',
        ]
        if not in_kernel:
            if self.transfer is not None:
                lines.append(
                    f'data = {{ kind = "transfers", size = "{self.transfer * DATA}B", '
                    f'think = "{THINK // 1000}us", thinks = "fixed" }}'
                )
            numbers = " ".join(map(str, self.dropped))
            lines.append(
                f'[[stage]]\nname = "losses"\nnode = "right"\npolicy = {{ kind = "{StatedLosses.name}", '
                f'link = "{BOTTLENECK}", longer_than = {HEADER}, numbers = "{numbers}" }}'
            )
        return "\n".join(lines) + "\n"


LOSSES: Mapping[str, tuple[tuple[int, ...], int | None]] = {
    "single": ((100,), None),
    "adjacent": ((100, 101), None),
    "two-apart": ((100, 102), None),
    "tail": ((100,), 100),
    "tail-of-two": ((99, 100), 100),
}
"""Segments that are lost, and those of a transfer, if the data end."""
PATTERNS = tuple(
    Pattern(congestion, losses, *stated, acknowledgements)
    for acknowledgements in ("each", "delayed")
    for congestion in ("reno", "cubic")
    for losses, stated in LOSSES.items()
)
"""Patterns of losses, for each congestion control and both kinds of acknowledgements."""


@dataclass(frozen=True)
class Comparison:
    """Segments of the simulator beside those of the kernel.

    Attributes:
        segments: Number of segments that were compared.
        difference: Place, from 0, of the first one that is another or is missing; None for none.
        apart: The longest time between the two transmissions of a segment, in ns, up to that place.
        holds: True if none differs and times are as near as they should be.
    """

    segments: int
    difference: int | None
    apart: int
    holds: bool


def compare(pattern: Pattern, kernel: Sequence[Segment], ours: Sequence[Segment]) -> Comparison:
    """Compare segments up to the hundredth from the first one on that the kernel sends again."""
    known = compared(kernel)
    same = [mine[1:] == theirs[1:] for mine, theirs in zip(ours, known, strict=False)]
    difference = same.index(False) if False in same else None if len(same) == len(known) else len(same)
    pairs = list(zip(ours, known, strict=False))[:difference]
    apart = max((abs(mine.time - theirs.time) for mine, theirs in pairs), default=0)
    near = NEAR if pattern.transfer is None else WHEEL
    return Comparison(len(known), difference, apart, difference is None and apart <= near)


def compared(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments that are compared.

    Raises:
        TidegateError: None was sent again, or fewer than a hundred follow.
    """
    end = 0
    for place, one in enumerate(segments):
        if one.start < end:
            if len(segments) < place + FOLLOWING:
                break
            return list(segments[: place + FOLLOWING])
        end = one.start + one.length
    raise TidegateError(
        f"a run with losses has not {FOLLOWING} segments from the first one on that is sent again"
    )


def in_kernel(kernel: Kernel, pattern: Pattern) -> list[Segment]:
    """Return the segments that the kernel sends."""
    source = commands.resolved(pattern.text(in_kernel=True))
    scenario = source.scenario
    found = described(scenario)
    arrivals, _ = runs.drawn(scenario, 1, found)
    names = [link["name"] for link in found["links"]]
    with machine.workspace() as place:
        planned = plan(scenario, found, arrivals, place)
        link = planned["links"][names.index(BOTTLENECK)]
        box = len(planned["nodes"])
        planned["nodes"].append({"ip": [], "sysctls": {}})
        next(one for one in planned["cables"] if one["number"] == link["cable"])["box"] = box
        planned["relay"] = {"box": box, "forward": "ab".index(link["end"]), "dropped": pattern.dropped}
        flow, answers = (
            next(index for index, flow in enumerate(planned["flows"]) if flow["kind"] == kind)
            for kind in ("connection", "answers")
        )
        if pattern.acknowledgements == "each":
            routes = planned["nodes"][planned["flows"][answers]["from_node"]]["ip"]
            address = planned["flows"][answers]["address"]
            routes[:] = [
                f"{line} quickack 1" if line.startswith(f"route add {address}/32 ") else line
                for line in routes
            ]
        if pattern.transfer is not None:
            planned["flows"][flow] |= {"size": pattern.transfer * DATA, "think": THINK}
        (place / PLAN).write_text(json.dumps(planned), encoding="utf-8")
        machine.run(kernel, "tidegate_lab.testbed.experiment", place, seed=1)
        start = json.loads((place / FIGURES).read_text(encoding="utf-8"))["start"]
        seen = records.read_all(place, planned, found["flows"], start)
    packets = seen["started", names.index(ACCESS)].of(flow)
    columns = (packets.time.tolist(), packets.sequence.tolist(), packets.payload.tolist())
    return relative([Segment(*row) for row in zip(*columns, strict=True)])


def in_simulator(pattern: Pattern) -> list[Segment]:
    """Return the segments that the simulator sends."""
    with machine.workspace() as place:
        capture = place / "sent.pcapng"
        source = commands.resolved(pattern.text(in_kernel=False))
        tidegate.simulate(source.scenario, captures={ACCESS: str(capture)})
        return relative(list(_captured(capture)))


def _captured(capture: Path) -> Iterator[Segment]:
    """Yield the segments of a capture of the sender's link: its times are those of last bits."""
    data = capture.read_bytes()
    at = 0
    while at < len(data):
        kind, block = struct.unpack_from(">II", data, at)
        if kind == ENHANCED_PACKET:
            high, low, bytes_of = struct.unpack_from(">2I4xI", data, at + 12)
            ip = at + 28
            (sequence,) = struct.unpack_from(">I", data, ip + 24)
            header = 20 + (data[ip + 32] >> 4) * 4
            length = bytes_of - header
            took = (length + HEADER) * 8 * 10**9 // ACCESS_RATE
            yield Segment((high << 32 | low) - took, sequence, length)
        at += block


def relative(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments with data, with times and bytes from the first one on.

    Raises:
        TidegateError: There is none.
    """
    sent = [one for one in segments if one.length > 0]
    if not sent:
        raise TidegateError("the connection has sent no data")
    first = sent[0]
    return [Segment(one.time - first.time, (one.start - first.start) % (1 << 32), one.length) for one in sent]


def recorded() -> dict[str, list[Segment]]:
    """Return the recorded segments of the kernel, by the name of the pattern."""
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {name: [Segment(*row) for row in segments] for name, segments in rows.items()}


def record(found: Mapping[str, Sequence[Segment]]) -> str:
    """Return the text of the file of recorded segments: a line for each pattern."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(compared(one), separators=(',', ':'))}"
        for name, one in found.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
