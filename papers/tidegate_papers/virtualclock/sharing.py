"""Idle slots of a frame that others use (section 5.2), and the volume of datagrams (section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import everything, ratio
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import MILLISECOND, PACKET, PACKET_TIME, Figures, ms, named

WINDOWS = (1, 2, 5, 20)
TDM = "TDM"
VIRTUAL_CLOCK = "VirtualClock"


def _window(packets: int) -> str:
    return f"window of {packets}"


def _frame(window: int) -> str:
    return f'{{ kind = "tdm", slot = "{PACKET}B", slots = 20, window = {window} }}'


def _idle_settings() -> dict[str, Overrides]:
    frames = {TDM: 0, **{_window(packets): packets for packets in WINDOWS}}
    settings: dict[str, Overrides] = {
        name: [("port.scheduler", _frame(window))] for name, window in frames.items()
    }
    settings[VIRTUAL_CLOCK] = [("port.scheduler", '"virtual-clock"')]
    return settings


def _idle_slots(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    delays = {name: ms(measures.queueing(results, everything)) for name, results in runs.items()}
    figures: Figures = {f"queueing delay, {name}": delay for name, delay in delays.items()}
    for window in (1, 20):
        over = ratio(delays[_window(window)], delays[TDM])
        figures[f"queueing delay, {_window(window)} over TDM"] = over
    # A packet that finds the link idle waits for half a slot on average.
    half = PACKET_TIME / 2 / MILLISECOND
    less: Values = [None if delay is None else delay - half for delay in delays[_window(20)]]
    name = "queueing delay, window of 20, less half a slot, over VirtualClock"
    figures[name] = ratio(less, delays[VIRTUAL_CLOCK])
    return {MAIN: figures}


KEPT: dict[str, Overrides] = {
    "nothing kept": [("admission", '{ interval = "2s" }')],
    "40 % kept": [("admission", '{ interval = "2s", datagrams = 0.4 }')],
    "estimated": [],
}


def _refused(results: Results) -> Values:
    runs = measures.flows(results, named("call"))
    return [100.0 * sum(row["refused"] for row in rows) / len(rows) for rows in runs]


def _datagram_volume(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"datagrams lost, {name}"] = measures.share_lost(results, lambda row: not named("call")(row))
        figures[f"calls refused, {name}"] = _refused(results)
    figures["losses of calls, estimated"] = measures.lost(runs["estimated"], named("call"))
    for what, other in (("datagrams lost", "nothing kept"), ("calls refused", "40 % kept")):
        pair = (figures[f"{what}, {name}"] for name in ("estimated", other))
        figures[f"{what}, estimated over {other}"] = ratio(*pair)
    return {MAIN: figures}


MEASURES = {
    "idle-slots": Measure(_idle_slots, _idle_settings()),
    "datagram-volume": Measure(_datagram_volume, KEPT),
}
