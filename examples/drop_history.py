"""A detector in Python: `--python examples/drop_history.py --set port.detector=drop-history-in-python`."""

from dataclasses import dataclass

import tidegate
from tidegate.detector import Contract, Drop, Packet
from tidegate.policy import TICKS


@dataclass
class Flow:
    """A flow that has lost packets."""

    window: int = 0
    lost: int = 0
    intervals: int = 0
    interval: int = 0
    against: int = 0


@dataclass
class Named:
    """A flow that is named."""

    most: float
    since: int
    busy: int
    offered: int = 0


class DropHistory(tidegate.Detector):
    """Names flows that keep losing packets (Clark and Fang 1998, section IV.E), as `drop-history` does.

    Every drop counts. A window counts against a flow that had `share` of its drops, and drops in
    `persistence` of its intervals; the flow is named after so many `windows` in succession.
    """

    name = "drop-history-in-python"
    parameters = {
        "share": 0.2,
        "persistence": 0.4,
        "interval": 0.01,
        "window": 0.4,
        "windows": 4,
        "police": 0,
        "most": 0.5,
        "release_after": 5.0,
    }
    reads = ("reserve",)
    share: float
    windows: int
    police: int
    most: float

    def __init__(
        self,
        share: float,
        persistence: float,
        interval: float,
        window: float,
        windows: int,
        police: int,
        most: float,
        release_after: float,
    ) -> None:
        self.length, self.step = round(window * TICKS), round(interval * TICKS)
        self.least = persistence * (self.length / self.step)
        self.quiet = round(release_after * TICKS)
        self.number, self.since, self.lost, self.lost_before = 0, 0, 0, 0
        self.flows: dict[int, Flow] = {}
        self.watched: dict[int, Named] = {}
        self.reserved: set[int] = set()

    def opened(self, flow: int, contract: Contract) -> None:
        (self.reserved.discard if contract.reserve is None else self.reserved.add)(flow)

    def closed(self, flow: int) -> None:
        self.flows.pop(flow, None)
        self.watched.pop(flow, None)

    def begin_windows(self, now: int) -> None:
        """Begin the windows that have begun by now."""
        if not self.number:
            self.number, self.since = 1, now
        passed = (now - self.since) // self.length
        if passed:
            self.lost_before, self.lost = self.lost if passed == 1 else 0, 0
            self.number += passed
            self.since += passed * self.length

    def dropped(self, now: int, packet: Packet) -> None:
        self.begin_windows(now)
        self.lost += 1
        flow = self.flows.setdefault(packet.flow, Flow())
        if flow.window != self.number:
            counts = (
                flow.window + 1 == self.number
                and flow.lost >= self.share * self.lost_before
                and flow.intervals >= self.least
            )
            flow.against = flow.against + 1 if counts else 0
            if flow.against >= self.windows and packet.flow not in self.named:
                self.watched[packet.flow] = Named(self.most * flow.lost, since=now, busy=now)
                self.report(packet.flow)
            flow.window, flow.lost, flow.intervals = self.number, 0, 0
        flow.lost += 1
        interval = (now - self.since) // self.step
        if not flow.intervals or flow.interval != interval:
            flow.intervals, flow.interval = flow.intervals + 1, interval

    def arrived(self, now: int, packet: Packet) -> Drop | None:
        verdict = self.judge(now, packet)
        for flow, named in list(self.watched.items()):
            if named.busy + self.quiet <= now:
                del self.watched[flow], self.flows[flow]
                self.release(flow)
        return verdict

    def judge(self, now: int, packet: Packet) -> Drop | None:
        """Count what a named flow offers outside its profile."""
        named = self.watched.get(packet.flow)
        if named is None or (packet.colour == "green" and packet.flow in self.reserved):
            return None
        passed = (now - named.since) // self.length
        if passed:
            named.since, named.offered = named.since + passed * self.length, 0
        named.offered += 1
        if named.offered > named.most:
            named.busy = now
        return Drop("non-responsive") if self.police else None
