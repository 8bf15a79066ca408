"""VCs of several upstream nodes: a pool at an output port, fair shares, a sender that ignores credit."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.credit.common import Figures, dropped, rates
from tidegate_papers.paper import Measure, Runs

RATE = 42.4e6
RTT = 100
"""Cells of the far link."""


def _outputs(results: Results, column: str) -> Values:
    """Return what the table `credit_outputs` holds in a column; there is one pool."""
    return [row[column] for row in results.credit_outputs.to_pylist()]


def _least(results: Results, groups: tuple[str, ...]) -> Values:
    """Return the least rate of the groups, over an equal share of the port for each of their VCs."""
    each = [rates(results, group) for group in groups]
    runs = [[rate for rates in run for rate in rates] for run in zip(*each, strict=True)]
    return [min(run) / (RATE / len(run)) for run in runs]


VCS = ("vc1", "vc2", "vc3", "vc4")


def _figure_10(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        most = _outputs(results, "queue_max")
        figures[f"cells lost, {name}"] = dropped(results)
        figures[f"most cells in the pool over M, {name}"] = measures.ratio(most, _outputs(results, "memory"))
        figures[f"most cells queued over RTT, {name}"] = [cells / RTT for cells in most if cells is not None]
        figures[f"least share over the fair one, {name}"] = _least(results, VCS)
    return {MAIN: figures}


# = kung1997 3.4
def _fair_share(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        vcs = int(name.removeprefix("N = "))
        newcomer = [run[0] / (RATE / vcs) for run in rates(results, "newcomer")]
        figures[f"newcomer's rate over its fair share, {name}"] = [*newcomer]
        figures[f"mean cells queued over RTT, {name}"] = [
            float(samples.mean()) / RTT for samples in measures.samples(results, "rcv->out", "output_pool")
        ]
    return {MAIN: figures}


GOOD = ("good1", "good2")


def _policing(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        lost = [
            {row["flow"]: row["dropped_packets"] for row in rows}
            for rows in measures.flows(results, measures.everything)
        ]
        fair = RATE / 3
        others = zip(*(rates(results, flow) for flow in GOOD), strict=True)
        rows = results.credit_outputs.to_pylist() or [
            row for row in results.credit.to_pylist() if row["link"].endswith("->rcv")
        ]
        held = [[row for row in rows if row["replication"] == run] for run in range(results.replications)]
        columns[name] = {
            "cells lost of the sender that ignores credit": [run["bad"] for run in lost],
            "cells lost of the others": [sum(run[flow] for flow in GOOD) for run in lost],
            "least share of the others over the fair one": [
                min(rate / fair for flow in run for rate in flow) for run in others
            ],
            "most cells at the receiver over its memory": [
                max(row["queue_max"] / row["memory"] for row in run) for run in held
            ],
        }
    return columns


def _pool(pool: int, *more: tuple[str, str]) -> Overrides:
    return [*((f"link.snd{number}-rcv.credit.pool", str(pool)) for number in (1, 2)), *more]


NEAR = (("link.snd1-rcv.delay", "0us"), ("link.rcv-snd1.delay", "0us"))
BLOCKED = tuple((f"flow.cross{number}.start", "0s") for number in range(1, 5))
LOSSY = tuple((f"link.rcv-snd{number}.loss", "0.1") for number in (1, 2))
UNDIVIDED = tuple((f"link.snd{number}-rcv.credit.divided", "1.0") for number in (1, 2))


def _newcomer(vcs: int) -> Overrides:
    """Return what gives the port N VCs, and a pool of 4 RTT + 2 N."""
    return _pool(4 * RTT + 2 * vcs, ("flow.active.count", str(vcs - 1)))


def _credit(keys: str, *, bad: str = "") -> Overrides:
    nodes = {"bad": bad, "good1": "", "good2": ""}
    return [(f"link.{node}-rcv.credit", f"{{ {keys}{more} }}") for node, more in nodes.items()]


IGNORES = ', sender = "ignores"'
SHARED = 'allocation = "receiver", pool_per = "output"'

MEASURES = {
    "figure-10": Measure(
        _figure_10,
        {
            "equal RTTs, M = 4 RTT + 2 N": (),
            "near and far, M = 4 RTT + 2 N": NEAR,
            "near and far, M = 6 RTT + 2 N": _pool(6 * RTT + 8, *NEAR),
            "blocked VCs": BLOCKED,
            "blocked VCs and lost credit cells": (*BLOCKED, *LOSSY),
            "blocked VCs, M without M/2": (*BLOCKED, *UNDIVIDED),
        },
    ),
    "fair-share": Measure(
        _fair_share, {f"N = {vcs}": _newcomer(vcs) for vcs in (2, 4, 8, 16)}, series=("output_pool",)
    ),
    "policing": Measure(
        _policing,
        {
            MAIN: (),
            "static allocation": _credit("buffer = 105, n2 = 5", bad=IGNORES),
            "it obeys": _credit(SHARED),
        },
    ),
}
