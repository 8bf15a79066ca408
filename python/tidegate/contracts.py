"""Contracts (W, r, r̂) that fit a trace, a capture or a video: the curve W(r), the cost of smoothing."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tidegate._tidegate import Arrivals, Capture, TidegateError, detect_format, parse_rate, show_rate
from tidegate.rows import Rows

if TYPE_CHECKING:
    from tidegate.replications import Progress

PACKETS, FRAMES = "packets", "frames"
Content = Literal["packets", "frames"]

POINTS = 30
MAX_POINTS = 1000
MAX_FPS = 1e6


@dataclass(frozen=True)
class FlowSeen:
    """One flow of a capture or a list.

    Attributes:
        flow: Its name.
        packets: Number of its packets.
        bytes: Bytes of all.
        mean_rate: From its first packet to its last, in bit/s; None when all have one time.
        peak_rate: The highest rate in the gaps between its packets, in bit/s; None when all have
            one time.
        workahead: W at the mean rate in bytes; None without one.
    """

    flow: str
    packets: int
    bytes: int
    mean_rate: int | None
    peak_rate: int | None
    workahead: int | None


@dataclass(frozen=True)
class Point:
    """One rate of the curve: what an ideal server of that rate does to the packets.

    Attributes:
        rate: The rate r in bit/s.
        workahead: W(r), the longest backlog, in bytes, exact and then rounded up.
        delay_max: The longest delay in s, from a packet's arrival until its last bit is sent: the
            cost of smoothing to r.
        delay_p99: The 99 % quantile of these delays in s.
    """

    rate: int
    workahead: int
    delay_max: float
    delay_p99: float


@dataclass(frozen=True)
class Fitting:
    """A contract that the packets keep, in figures that a scenario can state.

    Attributes:
        reserve: r in bit/s.
        workahead: W in bytes.
        peak: The peak rate in bit/s.
    """

    reserve: int
    workahead: int
    peak: int

    @property
    def toml(self) -> str:
        """The keys of a `[[flow]]`."""
        return (
            f'reserve = "{show_rate(self.reserve)}"\n'
            f'workahead = "{self.workahead}B"\n'
            f'peak = "{show_rate(self.peak)}"\n'
        )


@dataclass(frozen=True)
class ContractCurve:
    """The contracts that fit a file.

    Attributes:
        file: The file.
        content: `packets` or `frames`.
        flow: The flows that were taken, as they were asked for; None for all that the file holds.
        flows: Every flow of the file, the one with most bytes first; empty for a video.
        packets: Packets that were taken together, or frames that have any bytes.
        bytes: Bytes of all.
        duration: Seconds over which the mean rate is taken: from the first packet to the last plus
            one mean gap, or all frame intervals.
        mean_rate: Mean rate in bit/s, rounded up.
        peak_rate: Peak rate in bit/s, rounded up: the smallest at which the packets of one time
            have always been sent before those of the next; of a video, that of its largest frame in
            one interval.
        longest_packet: The longest packet or frame in bytes.
        curve: W and the delays at rates from the mean rate to the peak rate.
        asked: The point at the given rate; None without one.
        fitting: The contract at that rate; without one, where r times W is least on the curve.
        notes: Remarks for a reader, one sentence each.
    """

    file: Path
    content: Content
    flow: str | None
    flows: Rows[FlowSeen]
    packets: int
    bytes: int
    duration: float
    mean_rate: int
    peak_rate: int
    longest_packet: int
    curve: Rows[Point]
    asked: Point | None
    fitting: Fitting
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in SI base units, and the contract as text in `fitting.toml`."""
        return asdict(self) | {
            "file": str(self.file),
            "fitting": asdict(self.fitting) | {"toml": self.fitting.toml},
        }


def contract(
    file: str | os.PathLike[str],
    *,
    flow: str | None = None,
    content: Content | None = None,
    fps: float | None = None,
    rate: str | int | None = None,
    points: int = POINTS,
    progress: Progress | None = None,
) -> ContractCurve:
    """Return the contracts (W, r, r̂) that the packets of a file keep.

    Args:
        file: A pcap or pcapng capture, a list of packets (lines of a time in seconds and a size in
            bytes, or CSV with the columns time, size and, if wanted, flow), or the frame sizes of a
            video; also with gzip.
        flow: Which flows of it, by name or by a pattern such as `10.0.0.1:80>*/tcp`; several are
            taken together.
        content: Whether the file holds `packets` or `frames`; by default its first line says so.
        fps: Frames of a video in a second, above 0 to 1,000,000.
        rate: A rate to ask for, in bit/s or as `2mbit`.
        points: Rates of the curve at most, 2 to 1000.
        progress: Called with the share that is done, 0 to 1.

    Raises:
        TidegateError: The file cannot be used, or does not suit the other arguments.
    """
    path = Path(file)
    if not 2 <= points <= MAX_POINTS:
        raise TidegateError(f"a curve has 2 to {MAX_POINTS} points, not {points}")
    bits = parse_rate(rate) if isinstance(rate, str) else rate
    if bits is not None and bits < 1:
        raise TidegateError(f"a rate is at least 1 bit/s, not {bits}")
    content = _content(path) if content is None else content
    if content not in (PACKETS, FRAMES):
        raise TidegateError(f"a file holds `{PACKETS}` or `{FRAMES}`, not `{content}`")
    read = _frames if content == FRAMES else _packets
    arrivals, flows = read(path, flow, fps)
    seen = arrivals.observe()
    rates = arrivals.rates(points)
    if not rates:
        raise TidegateError(
            f"{path}: all packets{'' if flow is None else f' of {flow}'} have one time, so there is no rate"
        )
    curve = Rows[Point]()
    for number, one in enumerate(rates):
        curve.append(Point(one, *arrivals.at(one)))
        if progress is not None:
            progress((number + 1) / (len(rates) + 1))
    asked = None if bits is None else Point(bits, *arrivals.at(bits))
    chosen = min(curve, key=lambda point: point.rate * point.workahead).rate if bits is None else bits
    fitting = Fitting(*arrivals.contract(chosen))
    return ContractCurve(
        file=path,
        content=content,
        flow=flow,
        flows=flows,
        packets=seen["packets"],
        bytes=seen["bytes"],
        duration=seen["duration"],
        mean_rate=rates[0],
        peak_rate=rates[-1],
        longest_packet=seen["longest_packet"],
        curve=curve,
        asked=asked,
        fitting=fitting,
        notes=_notes(arrivals, path, content, fitting, rates[0]),
    )


def _content(path: Path) -> Content:
    return "frames" if detect_format(path) == FRAMES else "packets"


def _packets(path: Path, flow: str | None, fps: float | None) -> tuple[Arrivals, Rows[FlowSeen]]:
    if fps is not None:
        raise TidegateError(f"{path}: holds packets, which have times; `fps` is for video frames")
    capture = Capture.load(path)
    seen = capture.flows()
    flows = [FlowSeen(**{field.name: one[field.name] for field in fields(FlowSeen)}) for one in seen]
    places = list(range(len(seen))) if flow is None else capture.matching(flow)
    if not places:
        first = ", ".join(one["flow"] for one in seen[:5])
        more = ", …" if len(seen) > 5 else ""
        raise TidegateError(f"{path}: `{flow}` matches no flow; the file holds {first}{more}")
    return Arrivals.of_flows(capture, places), Rows(sorted(flows, key=lambda one: -one.bytes))


def _frames(path: Path, flow: str | None, fps: float | None) -> tuple[Arrivals, Rows[FlowSeen]]:
    if flow is not None:
        raise TidegateError(f"{path}: holds the frames of a video, which is one flow")
    if fps is None:
        raise TidegateError(
            f"{path}: holds the frames of a video: give their number per second, as in --fps 25"
        )
    if not 0 < fps <= MAX_FPS:
        raise TidegateError(
            f"a video has more than 0 and up to {MAX_FPS:,.0f} frames in a second, not {fps:g}"
        )
    return Arrivals.of_video(path, fps), Rows()


def _notes(arrivals: Arrivals, path: Path, content: Content, fitting: Fitting, mean: int) -> list[str]:
    notes = []
    if arrivals.cut is not None:
        notes.append(f"{path} is cut off in {arrivals.cut}: the part before it is used")
    if content == FRAMES:
        notes.append(
            "a frame comes whole at the beginning of its interval; sent at the peak rate it is less ahead"
        )
    elif arrivals.has_equal_times:
        notes.append(
            "some packets have one time: a filter with the peak rate would take those for faster than that"
        )
    if fitting.reserve < mean:
        notes.append("the rate is below the mean rate: delays grow for as long as packets come")
    return notes
