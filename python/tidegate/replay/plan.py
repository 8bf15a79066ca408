"""Traffic of a capture that crosses a link, and reservations for its protected flows there."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate import _tidegate
from tidegate.replay import direction, kinds
from tidegate.replay.buffer import DEFAULT_BUFFER, buffer_limit, needed, twice
from tidegate.replay.framing import Framing
from tidegate.replay.names import OTHERS, FiveTuple, is_five_tuple, readable_names

Progress = Callable[[float], None]

SPEEDS = (0.001, 1000.0)
"""The slowest and the fastest playback that a scenario allows."""
REPEATS = (1, 1_000_000)
"""Number of times that a scenario allows a file to be played."""
NO_OVERHEAD = Framing()
"""The framing of a link that carries frames as they are."""

UNNAMED = "all"
"""Name of the packets of a list that names no flows."""
TRACE = "trace"
"""The name of such packets in a scenario."""
_NO_FLOWS = kinds.Look(None, "the file names no flows")

MAX_ALONE = 200
"""Flows that are not protected and have a name of their own in a scenario, those with most bytes;
the rest is played together."""


@dataclass(frozen=True)
class CapturedFlow:
    """One flow of a capture that crosses the link, as it is played back, and what it should reserve.

    Attributes:
        name: Its name in the scenario; that of a flow which is played together with others begins
            with `others/`.
        flow: Its name in the file: the 5-tuple of a capture, `all` for a list of times and sizes.
        packets: Packets in one pass of the file.
        bytes: Bytes in one pass of the file.
        mean_rate: Mean rate r over its own life, in bit/s; None when all its packets have one time.
        burst: Its workahead W in bytes: the longest backlog at an ideal server of rate r.
        peak_rate: Peak rate in bit/s, from the gaps between its packets.
        kind: Kind that it looks like: `call`, `game`, `shell` or `video`; None for anything else.
        why: Why it is protected, in words; None for a flow that is not.
        judged: Kind that it looks like by its sizes and times, in words, or why it looks like none
            of these.
        target: Delay in s that 99 % of its packets should keep; None for a flow that is not
            protected.
        reserve: Rate that it should reserve, in bit/s; None for a datagram flow.
        reason: Why: `target` (the smallest that promises the target), `mean-rate` (r promises it
            already), `unprotected`, or left out because of `few-packets`, `short-life`,
            `link-too-slow`, `no-room` on the link or `no-buffer`.
        needs: The smallest rate that would promise the target, were it alone, in bit/s; None
            without one.
        backlog_packets: The most packets that it has at the port with that reservation; None
            without one.
        backlog_bytes: The most bytes, likewise.
        best_p99: The 99th percentile of its delay, in s, if all that may be reserved were its own;
            None when that is less than its mean rate.
        promised_p99: The 99th percentile of the delay that the reservation promises, in s.
    """

    name: str
    flow: str
    packets: int
    bytes: int
    mean_rate: int | None
    burst: int | None
    peak_rate: int | None
    kind: str | None
    why: str | None
    judged: str
    target: float | None
    reserve: int | None
    reason: str
    needs: int | None
    backlog_packets: int | None
    backlog_bytes: int | None
    best_p99: float | None
    promised_p99: float | None

    @property
    def together(self) -> bool:
        """True if it is one of the flows that are played together."""
        return self.name.startswith(f"{OTHERS}/")


@dataclass(frozen=True)
class Plan:
    """Traffic of a capture that crosses a link, with reservations for protected flows.

    Attributes:
        file: The capture.
        rate: Rate of the link, in bit/s.
        buffer: Limit of the link's queue, as `64kB`; None for no limit.
        sized: Whether that is more than `100ms`, because promises need it.
        speed: Speed of playback.
        repeat: Number of times that it is played.
        direction: `up`, `down`, or None when the file has no directions.
        inside: Prefixes of the inside; empty when they are not known.
        direction_why: The evidence for the direction, in words.
        flows: The flows that cross the link, those with most bytes first.
        packets: Their packets in one pass.
        bytes: Their bytes in one pass.
        charged: These bytes as the link charges them.
        framing: The link's overhead.
        other_packets: Packets that do not cross the link: of the other direction, or of neither.
        other_bytes: Bytes of those.
        span: From the first packet of the file to the last one of one pass, in s, as played back.
        reordered: Packets of the file that were put in order of time.
        mended: Other differences of its packets from those of the file, in words: records left out,
            copies removed, super-packets cut, steps of the clock.
        counts: These differences in numbers.
        cut: The packet or line in which the file ends, and which was left out; None for a whole
            file.
        longest_packet: Longest packet that crosses, in bytes as charged.
        reserved: Sum of the reservations, in bit/s.
        tuples: Whether the file names its flows by 5-tuples, as captures do.
        unnamed: Whether it is a list that names no flows.
    """

    file: Path
    rate: int
    buffer: str | None
    sized: bool
    speed: float
    repeat: int
    direction: str | None
    inside: tuple[str, ...]
    direction_why: str
    flows: tuple[CapturedFlow, ...]
    packets: int
    bytes: int
    charged: int
    framing: Framing
    other_packets: int
    other_bytes: int
    span: float
    reordered: int
    mended: tuple[str, ...]
    counts: dict[str, int]
    cut: str | None
    longest_packet: int
    reserved: int
    tuples: bool
    unnamed: bool

    @property
    def alone(self) -> tuple[CapturedFlow, ...]:
        """The flows that a scenario names one by one."""
        return tuple(flow for flow in self.flows if not flow.together)

    @property
    def protected(self) -> list[CapturedFlow]:
        """The flows that are to be protected, those with a reservation first."""
        wanted = [flow for flow in self.flows if flow.target is not None]
        return sorted(wanted, key=lambda flow: flow.reserve is None)

    @property
    def period(self) -> float:
        """From one pass of the file to the next, in s: its span and one mean gap."""
        return self.span * (1.0 + 1.0 / max(self.packets + self.other_packets - 1, 1))

    @property
    def lasts(self) -> float:
        """From the first packet to the last one of all passes, in s."""
        return (self.repeat - 1) * self.period + self.span

    @property
    def mean_rate(self) -> float | None:
        """Mean rate of what crosses, in bit/s; None when all packets of the file have one time."""
        return self.bytes * 8 / self.span if self.span > 0 else None


def plan(
    file: Path,
    rate: int,
    *,
    target: float | None = None,
    buffer: str | None = None,
    protect: Sequence[str] | None = None,
    inside: Sequence[str] | None = None,
    way: str | None = None,
    speed: float = 1.0,
    repeat: int = 1,
    framing: Framing = NO_OVERHEAD,
    progress: Progress | None = None,
) -> Plan:
    """Read a capture or trace, and suggest reservations for its protected flows on a link of `rate` bit/s.

    Args:
        file: A pcap or pcapng capture, a list of `time size` lines, or a CSV file; `.gz` too.
        rate: Rate of the link in bit/s.
        target: Delay in s that 99 % of each protected flow's packets should keep; by default what
            suits what the flow looks like (`kinds.TARGETS`).
        buffer: Limit of the link's queue: packets or bytes; a time, for what the link sends in it;
            or `unlimited`. By default `100ms`, or up to twice that where promises need it.
        protect: Flows to protect, by name or 5-tuple; by default those that look like calls,
            videos, shells and games.
        inside: Prefixes of the inside; by default they are found.
        way: `up` or `down`; by default the direction with more bytes.
        speed: Speed of playback, 0.001 to 1000.
        repeat: Number of times that the file is played, 1 to 1000000.
        framing: Link-layer overhead. Rates, backlogs and reservations are in bytes as charged.
        progress: Called with the share of the file that is read, 0 to 1.

    Raises:
        TidegateError: The file cannot be used, or an argument is out of its range.
    """
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise _tidegate.TidegateError(f"a speed is from 0.001 to 1000, found {speed:g}")
    if not REPEATS[0] <= repeat <= REPEATS[1]:
        raise _tidegate.TidegateError(f"a file is played from 1 to 1000000 times, found {repeat}")
    # Playing a file at speed s over a link of rate C is, but for the unit of time, playing it at
    # speed 1 over a link of rate C/s. Rounding the rate down makes the promise longer, so it still
    # holds.
    slowed = int(rate / speed)
    if slowed < 1:
        raise _tidegate.TidegateError(f"at speed {speed:g} a link of {rate} bit/s is too slow to plan for")
    capture = _tidegate.Capture.load(file, progress)
    seen = capture.flows()
    if framing == NO_OVERHEAD:
        # A large capture is not copied.
        charged, of_link = capture, seen
    else:
        charged = capture.charged(framing.overhead, framing.mpu, framing.atm)
        of_link = charged.flows()
    named = [flow["flow"] for flow in seen]
    tuples = [FiveTuple.read(flow) for flow in named]
    by_tuple = all(map(is_five_tuple, named))
    unnamed = named == [UNNAMED]
    ends = tuples if by_tuple else [None] * len(tuples)
    found = direction.find(ends, [flow["bytes"] for flow in seen], inside=inside, way=way)
    crossing = [at for at, crosses in enumerate(found.crosses) if crosses]
    crossing.sort(key=lambda at: -seen[at]["bytes"])
    originals = [named[at] for at in crossing]
    names = [TRACE] if unnamed else readable_names(originals)
    judged = [_NO_FLOWS] if unnamed else _looks(crossing, tuples, seen, capture.span)
    longest = max(of_link[at]["longest_packet"] for at in crossing)
    limit = buffer_limit(buffer or DEFAULT_BUFFER, rate, longest)
    if protect is None:
        wanted = {at: look.why for at, look in enumerate(judged) if look.kind is not None}
    else:
        wanted = dict.fromkeys(_named(protect, names, originals), "named by --protect")
    targets = {at: _target(judged[at]) if target is None else target for at in wanted}
    alone = {*wanted, *[at for at in range(len(crossing)) if at not in wanted][:MAX_ALONE]}
    room = twice(limit) if buffer is None and limit is not None else limit
    delays = [(crossing[at], targets[at] * speed) for at in wanted]
    answers = charged.suggest(slowed, longest, room, repeat > 1, delays)
    sized = False
    if buffer is None and limit is not None:
        enough = needed([answer for answer in answers if answer["reserve"] is not None], limit, longest)
        sized, limit = enough != limit, enough
    suggested = dict(zip(wanted, answers, strict=True))
    flows = tuple(
        _played(
            names[at] if at in alone else f"{OTHERS}/{originals[at]}",
            seen[crossing[at]],
            of_link[crossing[at]],
            judged[at],
            wanted.get(at),
            targets.get(at),
            suggested.get(at),
            speed,
        )
        for at in range(len(crossing))
    )
    on_link = sum(of_link[at]["bytes"] for at in crossing)
    packets, size = sum(flow.packets for flow in flows), sum(flow.bytes for flow in flows)
    return Plan(
        file=file,
        rate=rate,
        buffer=limit,
        sized=sized,
        speed=speed,
        repeat=repeat,
        direction=found.way,
        inside=found.inside,
        direction_why=found.why,
        flows=flows,
        packets=packets,
        bytes=size,
        charged=on_link,
        framing=framing,
        other_packets=sum(flow["packets"] for flow in seen) - packets,
        other_bytes=sum(flow["bytes"] for flow in seen) - size,
        span=capture.span / speed,
        reordered=capture.reordered,
        mended=tuple(capture.mended),
        counts=capture.mended_counts(),
        cut=capture.cut,
        longest_packet=longest,
        reserved=sum(flow.reserve or 0 for flow in flows),
        tuples=by_tuple,
        unnamed=unnamed,
    )


def _looks(
    crossing: Sequence[int],
    tuples: Sequence[FiveTuple | None],
    seen: Sequence[dict[str, Any]],
    span: float,
) -> list[kinds.Look]:
    """Tell what each flow that crosses looks like, the half that goes the other way considered."""
    places = {flow: at for at, flow in enumerate(tuples) if flow is not None}
    looks = []
    for at in crossing:
        flow, own = tuples[at], kinds.Traits.of(seen[at])
        other = None if flow is None else places.get(flow.reverse)
        back = None if other is None else kinds.Traits.of(seen[other])
        if seen[at]["flow"] == "other":
            looks.append(kinds.Look(None, "not IP"))
        else:
            looks.append(kinds.look(flow, own, back, span=span))
    return looks


def _target(look: kinds.Look) -> float:
    return kinds.TARGET if look.kind is None else kinds.TARGETS[look.kind]


def _named(protect: Sequence[str], names: list[str], originals: list[str]) -> list[int]:
    """Find the flows that are meant: by name, by 5-tuple, or several, as `ssh` for `ssh-1` and `ssh-2`."""
    found: list[int] = []
    for wanted in protect:
        pairs = enumerate(zip(names, originals, strict=True))
        meant = [at for at, (name, flow) in pairs if wanted in (name, flow, name.rpartition("-")[0])]
        if not meant:
            near = difflib.get_close_matches(wanted, names, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"they are {', '.join(names[:12])}"
            more = ", …" if not near and len(names) > 12 else ""
            raise _tidegate.TidegateError(
                f"--protect: no flow `{wanted}` crosses the link\n  help: {hint}{more}"
            )
        found += [at for at in meant if at not in found]
    return sorted(found)


def _sped_up(rate: int | None, speed: float) -> int | None:
    return None if rate is None else math.ceil(rate * speed)


def _slowed_down(delay: float | None, speed: float) -> float | None:
    return None if delay is None else delay / speed


def _played(
    name: str,
    seen: dict[str, Any],
    on_link: dict[str, Any],
    look: kinds.Look,
    why: str | None,
    target: float | None,
    suggested: dict[str, Any] | None,
    speed: float,
) -> CapturedFlow:
    answer = suggested or {}
    return CapturedFlow(
        name=name,
        flow=seen["flow"],
        packets=seen["packets"],
        bytes=seen["bytes"],
        mean_rate=_sped_up(on_link["mean_rate"], speed),
        burst=on_link["workahead"],
        peak_rate=_sped_up(on_link["peak_rate"], speed),
        kind=look.kind,
        why=why,
        judged=look.why,
        target=target,
        reserve=_sped_up(answer.get("reserve"), speed),
        reason=answer.get("reason", "unprotected"),
        needs=_sped_up(answer.get("needs"), speed),
        backlog_packets=answer.get("backlog_packets"),
        backlog_bytes=answer.get("backlog_bytes"),
        best_p99=_slowed_down(answer.get("best_p99"), speed),
        promised_p99=_slowed_down(answer.get("promised_p99"), speed),
    )
