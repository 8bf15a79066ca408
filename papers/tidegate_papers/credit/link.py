"""One link: equation (2), lost credit cells, a pool that is divided, and how fast a newcomer ramps up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise, product

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.credit.common import CELL_TIME, Figures, credit, dropped, rates, stalled, total
from tidegate_papers.paper import Measure, Runs

RATE = 42.4e6
FIRST = "s1->s2"

GRID = [
    (rtt, n2, n2 * times, active)
    for rtt, n2, times, active in product((10, 30), (1, 5, 10), (1, 3, 6), (1, 4))
    if n2 * times <= 2 * (rtt + n2 * active)
]
"""RTT, N2 and Buf_Alloc in cells, and active VCs."""


def _grid(rtt: int, n2: int, buffer: int, active: int) -> Overrides:
    delay = round((rtt - 2) * CELL_TIME / 2 * 1e6)
    return [
        ("link.s1-s2.delay", f"{delay}us"),
        ("link.s1-s2.credit", f"{{ buffer = {buffer}, n2 = {n2} }}"),
        ("flow.vc.count", str(active)),
    ]


def _equation_2(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    alone: list[list[float]] = []
    least: list[list[float]] = []
    most: list[list[float]] = []
    for rtt, n2, buffer, active in GRID:
        found = rates(runs[f"{rtt} {n2} {buffer} {active}"], "vc")
        # = kung1997 3.1
        low = min(buffer / (rtt + n2 * active), 1 / active)
        high = min(buffer / (rtt + n2), 1 / active)
        shares = [[rate / RATE for rate in run] for run in found]
        if active == 1:
            alone.append([100 * abs(run[0] / low - 1) for run in shares])
        else:
            least.append([min(run) / low for run in shares])
            most.append([max(run) / high for run in shares])
    return {
        MAIN: {
            "one VC, furthest from equation (2)": _worst(alone, max),
            "several VCs, least over equation (2)": _worst(least, min),
            "several VCs, most over Buf_Alloc / (RTT + N2)": _worst(most, max),
        }
    }


def _worst(cases: list[list[float]], worst: Callable[[Iterable[float]], float]) -> Values:
    return [worst(run) for run in zip(*cases, strict=True)]


def _lost(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    lossless = total(runs["no loss"], "vc")
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        columns[name] = {
            "throughput over that without loss": [
                100 * ours / theirs
                for ours, theirs in zip(total(results, "vc"), lossless, strict=True)
                if ours is not None and theirs
            ],
            "VCs that stand still at the end": stalled(results),
        }
    return columns


def _pool(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        memory, most = credit(results, "memory", FIRST), credit(results, "queue_max", FIRST)
        columns[name] = {
            "cells lost": dropped(results),
            "most cells at the receiver over M": measures.ratio(most, memory),
            "credit cells beside the data": [
                None if cost is None else 100 * cost for cost in credit(results, "overhead", FIRST)
            ],
        }
    return columns


LOW, HIGH = 30, 250
"""Cells from and to which an allocation is looked at: rounding counts little, N2·N is small beside
RTT."""


# = kung1997 3.4
def growth(results: Results, high: float = HIGH) -> Values:
    """Return by what factor the newcomer's allocation grows with each allocation, over two of them."""
    factors: Values = []
    for samples in measures.samples(results, "newcomer on s1->s2", "buf_alloc"):
        steps = [now for now, then in pairwise(samples) if LOW <= now <= high and then > 0]
        count = (len(steps) - 1) // 2 * 2
        factors.append(float((steps[count] / steps[0]) ** (1 / count)) if count > 0 else None)
    return factors


def _ramp(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures = {f"growth at an allocation, every {k} RTT": growth(runs[str(k)]) for k in (1, 2, 4, 8)}
    figures["growth at two allocations, every 1 RTT"] = [
        None if one is None else one * one for one in growth(runs["1"])
    ]
    for alpha in ALPHAS:
        figures[f"growth at an allocation, M = {2 * alpha} RTT + 2 N, every 4 RTT"] = growth(
            runs[f"alpha {alpha}"], LONG / 2
        )
    return {
        MAIN: figures,
        "N2 = Buf_Alloc/4": {
            f"growth at an allocation, every {k} RTT": growth(runs[f"{k}, N2 = Buf_Alloc/4"]) for k in (1, 2)
        },
    }


def _every(k: int) -> Overrides:
    interval = 10020 * k
    return [
        ("link.s1-s2.credit.interval", f"{interval}us"),
        ("sample", f"{interval}us"),
        ("duration", f"{200 + 12 * max(k, 2) * 10 + 100}ms"),
    ]


def _adaptive(k: int) -> Overrides:
    keys = f'allocation = "receiver", interval = "{10020 * k}us"'
    return [*_every(k), ("link.s1-s2.credit", f"{{ {keys} }}")]


ALPHAS = (3, 4)
LONG = 4000
"""RTT in cells at which a large growth takes enough allocations."""


def _alpha(alpha: int) -> Overrides:
    """Return what gives the link a pool of 2 alpha RTT + 2 N, divided every 4 RTT of `LONG`."""
    interval = 4 * (LONG + 2) * 10
    return [
        ("link.s1-s2.delay", f"{(LONG - 2) * 5}us"),
        ("link.s1-s2.credit.pool", str(2 * alpha * LONG + 4)),
        ("link.s1-s2.credit.interval", f"{interval}us"),
        ("sample", f"{interval}us"),
        ("flow.newcomer.start", "1600ms"),
        ("duration", "3200ms"),
    ]


ONE_WAY = "link.s1-s2.credit"


def _overhead(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {
        name: {
            "credit cells beside the data": [
                None if cost is None else 100 * cost for cost in credit(results, "overhead", FIRST)
            ],
            "throughput of all": [
                None if rate is None else 100 * rate / RATE for rate in total(results, "vc")
            ],
        }
        for name, results in runs.items()
    }


def _share(keys: str) -> Overrides:
    """Return what gives five VCs a link of 500 cell times and a pool."""
    return [
        ("flow.vc.count", "5"),
        ("link.s1-s2.delay", "2490us"),
        ("link.s1-s2.credit", f'{{ allocation = "receiver", interval = "10100us"{keys} }}'),
    ]


MEASURES = {
    "overhead": Measure(
        _overhead, {MAIN: _share(""), "N2 = 1": _share(", n2 = 1"), "N2 = 10": _share(", n2 = 10")}
    ),
    "equation-2": Measure(_equation_2, {" ".join(map(str, case)): _grid(*case) for case in GRID}),
    "lost-credits": Measure(
        _lost,
        {
            MAIN: (),
            "no loss": [("link.s2-s1.loss", "0")],
            "one VC, RTT + 2 N2": [
                ("flow.vc.count", "1"),
                (ONE_WAY, '{ buffer = 46, n2 = 8, check = "300us" }'),
            ],
            "one VC, RTT + 3 N2": [
                ("flow.vc.count", "1"),
                (ONE_WAY, '{ buffer = 54, n2 = 8, check = "300us" }'),
            ],
            "one VC, RTT + 2 N2, records repeated": [
                ("flow.vc.count", "1"),
                (ONE_WAY, '{ buffer = 46, n2 = 8, repeats = 1, check = "3ms" }'),
            ],
            "Buf_Alloc = N2, no checks": [(ONE_WAY, '{ buffer = 8, n2 = 8, check = "0s" }')],
            "Buf_Alloc = N2, checks": [(ONE_WAY, "{ buffer = 8, n2 = 8 }")],
            "data lost, no checks": [
                ("link.s1-s2.loss", "0.01"),
                (ONE_WAY, '{ buffer = 46, n2 = 8, check = "0s" }'),
            ],
            "data lost, checks": [("link.s1-s2.loss", "0.01")],
        },
    ),
    "pool": Measure(_pool, {MAIN: (), "M without M/2": [("link.s1-s2.credit.divided", "1.0")]}),
    "ramp-up": Measure(
        _ramp,
        {
            **{str(k): _every(k) for k in (1, 2, 4, 8)},
            **{f"{k}, N2 = Buf_Alloc/4": _adaptive(k) for k in (1, 2)},
            **{f"alpha {alpha}": _alpha(alpha) for alpha in ALPHAS},
        },
        series=("buf_alloc",),
    ),
}
