"""Networks of links with credit: max-min shares, two bursts, a path with cross traffic, and blocking."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.credit.common import Figures, dropped, total
from tidegate_papers.paper import Measure, Runs

CAPACITY = 4.24e6
"""bit/s of a link of bandwidth 1 in the Generic Fairness Configuration."""

EXPECTED = {"A": 1 / 27, "B": 2 / 27, "C": 2 / 9, "D": 1 / 27, "E": 2 / 27, "F": 1 / 3}
"""Table 1."""

COUNTS = {"A": 3, "B": 3, "C": 3, "D": 6, "E": 6, "F": 2}
"""VCs of each group."""

ADAPTIVE: Overrides = [("port.credit", '{ allocation = "receiver" }')]


def _shares(results: Results) -> Figures:
    """Return what each VC of a group has, from what the group received in the measured time."""
    figures: Figures = {}
    off: list[list[float]] = []
    for group, expected in EXPECTED.items():
        runs = [samples.mean() for samples in measures.samples(results, group, "throughput")]
        shares = [float(run) / COUNTS[group] / CAPACITY for run in runs]
        figures[f"group {group}"] = [*shares]
        off.append([100 * abs(share / expected - 1) for share in shares])
    figures["furthest group from its share"] = [max(run) for run in zip(*off, strict=True)]
    figures["cells lost"] = dropped(results)
    return figures


def _gfc(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {name: _shares(results) for name, results in runs.items()}


UNIT = 1.0
"""Seconds that a burst of Figure 13 takes on the link."""

ARRIVES = 0.01
"""Seconds in which a burst arrives."""


def _completed(results: Results, flow: str, start: float) -> Values:
    """Return when the last cell of a burst has come, in units from the start: the one that waited longest."""
    return [start + ARRIVES + row["delay_max"] for row in results.flows.to_pylist() if row["flow"] == flow]


def _bursts(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"A has come, {name}"] = _completed(results, "A", 0.0)
        figures[f"both have come, {name}"] = _completed(results, "B", UNIT)
    return {MAIN: figures}


def _path(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        figures: Figures = {"packets lost": dropped(results)}
        for switch, link in (("Switch1", "s1->s2"), ("Switch2", "s2->s3"), ("Switch3", "s3->end")):
            figures[f"most packets at {switch}"] = [
                float(longest) if longest is not None else None
                for longest in measures.link(results, link, "queue_max")
            ]
        figures["throughput of T"] = [rate / 1e6 for rate in total(results, "T") if rate is not None]
        columns[name] = figures
    return columns


def _blocking(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {
        name: {
            f"throughput of the {flow} flow": [
                rate / 1e6 for rate in total(results, flow) if rate is not None
            ]
            for flow in ("slow", "unrelated")
        }
        for name, results in runs.items()
    }


def _with_credit(buffer: int) -> Overrides:
    """Return what gives each link towards a switch memory for so many packets of a flow."""
    return [
        (f"link.{link}.credit", f"{{ buffer = {buffer}, n2 = 5 }}") for link in ("host-s1", "s1-s2", "s2-s3")
    ]


def _end_to_end(buffer: int) -> Overrides:
    """Return what gives each switch's port towards the end memory for as many."""
    tail = f'{{ kind = "drop-tail", limit = "{buffer}p", scope = "flow" }}'
    return [(f"link.{link}.dropper", tail) for link in ("s1-s2", "s2-s3", "s3-end")]


MEMORY = 60
"""Packets of T for which each switch has memory: its window of 150 has room in all three
together."""


UP = tuple(f"h{number}-s1" for number in range(1, 5))
HOSTS = tuple(link.replace("-", "->") for link in UP)


def _speeds(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    base = runs["drop-tail, 1"]
    first: Values = [float(longest or 0) for longest in measures.link(base, "s1->s2", "queue_max")]
    figures: Figures = {}
    for times in (1, 10, 100):
        longest: Values = [
            float(most or 0) for most in measures.link(runs[f"drop-tail, {times}"], "s1->s2", "queue_max")
        ]
        figures[f"buffer that drop-tail needs at {times} times the speed"] = longest
        figures[f"over that at the first speed, {times}"] = measures.ratio(longest, first)
        with_credit = runs[f"credit, {times}"]
        held = [0.0] * with_credit.replications
        for row in with_credit.credit.to_pylist():
            held[row["replication"]] += row["memory"] if row["link"] in HOSTS else 0
        figures[f"memory with credit at {times} times the speed"] = [*held]
        figures[f"cells lost with credit at {times} times the speed"] = dropped(runs[f"credit, {times}"])
    return {MAIN: figures}


def _speed(times: int, with_credit: bool) -> Overrides:
    rate = f"{1060 * times}kbit"
    bursts = f'{{ kind = "on-off", rate = "{190 * times}kbit", peak = "{rate}", burst = {100 * times} }}'
    links = [(f"link.{link}.rate", rate) for link in ("s1-s2", *UP)]
    shares = [(f"link.{link}.credit", "{ n2 = 4 }") for link in UP if with_credit]
    return [*links, *shares, *((f"flow.vc{flow}.source", bursts) for flow in range(1, 5))]


MEASURES = {
    "gfc-static": Measure(_gfc, {MAIN: ()}, series=("throughput",)),
    "gfc-adaptive": Measure(
        _gfc,
        {
            MAIN: ADAPTIVE,
            "4 RTT": [("port.credit", '{ allocation = "receiver", interval = "100ms" }')],
            "by the sender": [("port.credit", '{ allocation = "sender" }')],
        },
        series=("throughput",),
    ),
    "figure-13": Measure(
        _bursts,
        {
            "rates of 0.5": [("flow.A.ceiling", "2120kbit"), ("flow.B.ceiling", "2120kbit")],
            "rates of 1": (),
            "credit": [("link.s1-s2.credit", "{}")],
        },
    ),
    "figure-11": Measure(_path, {MAIN: _with_credit(MEMORY), "end to end": _end_to_end(MEMORY)}),
    "blocking": Measure(
        _blocking,
        {
            MAIN: (),
            "one queue for all": [("port.credit.per", "link"), ("host.credit.per", "link")],
        },
    ),
    "speed": Measure(
        _speeds,
        {
            f"{name}, {times}": _speed(times, name == "credit")
            for times in (1, 10, 100)
            for name in ("drop-tail", "credit")
        },
    ),
}
