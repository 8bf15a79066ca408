"""Common parts of this paper's experiments: couplings, rates and queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tidegate import Results, max_min
from tidegate.fairness import USUAL_NEARNESS, convergence_time
from tidegate.maxmin import Span
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.measures import Row

Array = np.ndarray[Any, Any]
Figures = dict[str, Values]

NONE = "no VS/VD"

DECLARED = 'vc_rate = "frm1", input_rate = "per-vc"'
"""Rates that A, C and E know: those that sources declare, and the sum of what enters the per-VC
queues."""

MEASURED = 'vc_rate = "class", input_rate = "class"'
"""Settings of B, D and F, which measure both at the entry to the class queue."""

# = kalyanaraman1998 5.4
SETTINGS = {
    "A": f'{DECLARED}, acts_on = "previous", updated_at = "frm1"',
    "B": f'{MEASURED}, acts_on = "previous", updated_at = "frm1"',
    "C": f'{DECLARED}, acts_on = "both", updated_at = "both"',
    "D": f'{MEASURED}, acts_on = "both", updated_at = "both"',
    "E": f'{DECLARED}, acts_on = "both", updated_at = "brm2"',
    "F": f'{MEASURED}, acts_on = "both", updated_at = "brm2"',
}
"""The couplings of Table 2, B and C as section 5.5 has them."""

PRINTED_B = "B as printed"

COLUMNS = (*SETTINGS, NONE)
"""The columns of Tables 3 to 5."""

MBIT = 1e6
MILLISECOND = 1e-3
KCELLS = 1e3

UTILISATION = 0.9
"""The share of a link that ERICA aims at."""

NEAR = USUAL_NEARNESS
"""Convergence: averages of ACR over 5 ms within 10 % of the optimum, and below 50 cells in the
queue."""

SAMPLED = ("acr", "queue", "throughput", "utilisation", "vc_queue")
"""Metrics over time that experiments look at."""


def coupled(settings: str) -> Overrides:
    """Return what puts VS/VD at every output port of a switch."""
    return [("port.vsvd", f"{{ {settings} }}")]


def couplings() -> dict[str, Overrides]:
    """Return a setting for each column of the tables, and one for B as Table 2 prints it."""
    printed = {PRINTED_B: f'{MEASURED}, acts_on = "both", updated_at = "frm1"'}
    settings: dict[str, Overrides] = {name: coupled(keys) for name, keys in (SETTINGS | printed).items()}
    return {**settings, NONE: []}


@lru_cache(maxsize=1)
def _recorded(results: Results) -> Mapping[tuple[str, str], Array]:
    """Return all samples by subject and metric, a row for each replication."""
    table: Any = results.series
    subject, metric = (table[name].combine_chunks().dictionary_encode() for name in ("subject", "metric"))
    subjects, metrics = subject.dictionary.to_pylist(), metric.dictionary.to_pylist()
    codes = subject.indices.to_numpy() * len(metrics) + metric.indices.to_numpy()
    # Rows stand replication by replication, and stay in their order.
    order = np.argsort(codes, kind="stable")
    values, codes = table["value"].to_numpy()[order], codes[order]
    ends = [*(np.flatnonzero(np.diff(codes)) + 1), len(codes)] if len(codes) else []
    found = {}
    for begin, end in zip([0, *ends], ends, strict=False):
        which, what = divmod(int(codes[begin]), len(metrics))
        found[subjects[which], metrics[what]] = values[begin:end].reshape(results.replications, -1)
    return found


def samples(results: Results, subject: str, metric: str) -> list[Array]:
    """Return all samples of a metric, by replication; NaN where there is none."""
    nothing: Array = np.empty((results.replications, 0))
    return list(_recorded(results).get((subject, metric), nothing))


def acr(results: Results, vcs: Sequence[str]) -> list[list[Array]]:
    """Return the ACR of some VCs' sources in Mbit/s: for each replication the samples of each VC."""
    by_vc = [[run / MBIT for run in samples(results, vc, "acr")] for vc in vcs]
    return [list(run) for run in zip(*by_vc, strict=True)]


def spacing(results: Results) -> float:
    """Return the seconds from one sample to the next."""
    (first, *_) = samples(results, results.links["link"].to_pylist()[0], "queue")
    return results.duration / len(first)


def optima(results: Results, vcs: Sequence[str], span: Span | None = None) -> list[float]:
    """Return the max-min rates of some VCs in Mbit/s, of all flows that send in a span in seconds."""
    fair = max_min(results.scenario(), aim=UTILISATION, span=span)
    rates = {share.flow: share.rate / MBIT for share in fair.shares}
    return [rates[vc] for vc in vcs]


def converged(results: Results, vcs: Sequence[str], queue: str, span: Span | None = None) -> Values:
    """Return after how many ms the rates of some VCs converge, from the beginning of a span in seconds on.

    None where they do not converge in the span, which is the whole run unless it is stated.
    """
    step = spacing(results)
    begin, end = (0.0, results.duration) if span is None else span
    part = slice(round(begin / step), round(end / step))
    queues = samples(results, queue, "queue")
    best = optima(results, vcs, span)
    times = [
        convergence_time(step, [list(rate[part]) for rate in rates], best, list(waiting[part]), NEAR)
        for rates, waiting in zip(acr(results, vcs), queues, strict=True)
    ]
    return [None if time is None else time / MILLISECOND for time in times]


def received(results: Results, vcs: Sequence[str]) -> Values:
    """Return the cells that the destination of a VC has received, in thousands, as a mean over some VCs."""
    chosen: Sequence[str] = tuple(vcs)
    runs = measures.flows(results, lambda row: _is(row, chosen))
    return [sum(row["received_packets"] for row in rows) / len(chosen) / KCELLS for rows in runs]


def _is(row: Row, vcs: Sequence[str]) -> bool:
    return row["flow"] in vcs


def longest(results: Results, link: str) -> Values:
    """Return the longest class queue of a port, in thousands of cells."""
    return [None if cells is None else cells / KCELLS for cells in measures.link(results, link, "queue_max")]


def held(results: Results, link: str) -> Values:
    """Return the most cells that stood in all per-VC queues of a port at a time, in thousands."""
    return [float(np.max(cells)) / KCELLS for cells in per_vc(results, [link])]


def per_vc(results: Results, links: Sequence[str]) -> list[Any]:
    """Return the cells in all per-VC queues of some ports, sample by sample, in each replication.

    Without VS/VD there is a zero in place of the samples.
    """
    queues = [
        values
        for (subject, metric), values in _recorded(results).items()
        if metric == "vc_queue" and subject.rpartition(" on ")[2] in links
    ]
    return list(np.sum(queues, axis=0)) if queues else [0.0] * results.replications


def waiting(results: Results, links: Sequence[str]) -> list[Any]:
    """Return the cells in the class queues and the per-VC queues of some ports, sample by sample."""
    classes = [samples(results, link, "queue") for link in links]
    return [sum(queues) + cells for *queues, cells in zip(*classes, per_vc(results, links), strict=True)]
