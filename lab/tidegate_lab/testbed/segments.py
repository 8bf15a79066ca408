"""The segments of the kernel's senders: what each of them got and sent, and when.

A record is a text, with a line for each segment: `S`, time, first byte and length of one that was sent,
`A`, time, acknowledged byte, window, time stamp, `e` for ECN-Echo or `-`, and SACK blocks of one that
came, and `O`, time, time stamp and window of the answer to the opening segment. Times are in ns from the
start of the run, bytes from the first one of the data; an opening segment has the byte -1.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import commands
from tidegate_lab.testbed import runs, tcp_settings
from tidegate_lab.testbed.experiment import FIGURES, PLAN
from tidegate_lab.testbed.plan import described, plan
from tidegate_lab.testbed.records import ETHERNET, SYN, Ring
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    from tidegate_lab.testbed.tcp_settings import Setting
    from tidegate_lab.uml.build import Kernel

SETTINGS = tuple(
    one
    for one in tcp_settings.SETTINGS
    if one.name in ("10-reno-fifo-10-10-0.5", "10-dctcp-fifo-10-40-0.5", "10-cubic-red-100-10-2")
)
"""The settings that are recorded."""
LINES = 2_500
"""Lines of a record: the first ones of a run."""
ECE = 0x40
TIME_STAMPS, SACK, WINDOW_SCALE = 8, 5, 3
"""Kinds of options."""
NO_OPERATION, END = 1, 0
TURN = 1 << 32


def in_kernel(kernel: Kernel, setting: Setting) -> dict[str, str]:
    """Run a setting in the kernel. Return the record of each sender, by the setting and its connection."""
    scenario = commands.resolved(setting.text()).scenario
    found = described(scenario)
    arrivals, _ = runs.drawn(scenario, 1, found)
    with machine.workspace() as place:
        planned = plan(scenario, found, arrivals, place)
        (place / PLAN).write_text(json.dumps(planned), encoding="utf-8")
        machine.run(kernel, "tidegate_lab.testbed.experiment", place, seed=1)
        start = json.loads((place / FIGURES).read_text(encoding="utf-8"))["start"]
        made = {}
        for flow, own in zip(found["flows"], planned["flows"], strict=True):
            if own["kind"] == "connection":
                lines = islice(_record(place, planned, flow["route"][0], start), LINES)
                made[f"{setting.name}-{flow['name']}"] = "\n".join(lines) + "\n"
    about = (
        f"# Linux {kernel.version} in `{setting.name}`: congestion = {setting.congestion}, "
        f"ecn = {'on' if setting.uses_ecn else 'off'}\n"
    )
    return {name: about + text for name, text in made.items()}


def _record(place: Path, planned: Mapping[str, Any], link: int, start: int) -> Iterator[str]:
    """Yield the lines of the sender whose host sends over a link of its own."""
    links = planned["links"]
    ends = (links[link]["to"], links[link]["from"])
    back = next(at for at, other in enumerate(links) if (other["from"], other["to"]) == ends)
    sent = list(_segments(place / f"started-{link}", start))
    came = list(_segments(place / f"received-{back}", start))
    first = sent[0]["sequence"] + 1
    scale = next(one["scale"] for one in came if one["flags"] & SYN)
    # A segment that came is before those that it has caused.
    rows = [(one["time"], 0, one) for one in came] + [(one["time"], 1, one) for one in sent]
    for time, is_sent, one in sorted(rows, key=lambda row: row[:2]):
        opens = bool(one["flags"] & SYN)
        if is_sent:
            yield f"S {time} {-1 if opens else (one['sequence'] - first) % TURN} {one['length']}"
        elif opens:
            yield f"O {time} {one['stamp']} {one['window']}"
        else:
            number, window = (one["acknowledged"] - first) % TURN, one["window"] << scale
            blocks = "".join(f" {(low - first) % TURN},{(high - first) % TURN}" for low, high in one["sack"])
            echo = "e" if one["flags"] & ECE else "-"
            yield f"A {time} {number} {window} {one['stamp']} {echo}{blocks}"


def _segments(file: Path, start: int) -> Iterator[dict[str, Any]]:
    """Yield the segments of a recorder's file."""
    ring = Ring(file, start)
    for time, packet in zip(ring.time, ring.packets(), strict=True):
        ip = packet[ETHERNET:]
        (total,) = struct.unpack_from(">H", ip, 2)
        sequence, acknowledged, offset, flags, window = struct.unpack_from(">IIBBH", ip, 24)
        header = (offset >> 4) * 4
        segment = {
            "time": int(time),
            "sequence": sequence,
            "acknowledged": acknowledged,
            "flags": flags,
            "window": window,
            "length": total - 20 - header,
            "stamp": 0,
            "sack": [],
        }
        yield segment | _options(ip[40 : 20 + header])


def _options(data: bytes) -> dict[str, Any]:
    """Return the options of a segment that a sender needs."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(data) and data[at] != END:
        kind = data[at]
        length = 1 if kind == NO_OPERATION else data[at + 1]
        if kind == TIME_STAMPS:
            found["stamp"] = struct.unpack_from(">I", data, at + 2)[0] & 0xFFFF
        elif kind == SACK:
            blocks = struct.unpack_from(f">{(length - 2) // 4}I", data, at + 2)
            found["sack"] = list(zip(blocks[::2], blocks[1::2], strict=True))
        elif kind == WINDOW_SCALE:
            found["scale"] = data[at + 2]
        at += length
    return found
