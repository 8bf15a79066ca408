"""Probability of assurance: the share of the time in which a profile of 5 Mbit/s gets its rate, by scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.allocated_capacity.common import CONNECTIONS, LARGE, RED, RIO_TSW, Figures
from tidegate_papers.allocated_capacity.tables import RENO, SACK
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs

SCOPES = {
    "one destination, 20 ms": LARGE[:1],
    "one destination, 100 ms": LARGE[-1:],
    "a set, 20 to 50 ms": LARGE[:3],
    "anywhere": LARGE,
}
"""Connections of users with 5 Mbit/s, by the scope in which a user chooses a destination."""

SOLD = "half of it sold"


def attained(results: Results, flows: Sequence[str]) -> Values:
    """Return the share of all windows of these flows in which one had its target rate, in per cent."""
    table = [row for row in results.assurance.to_pylist() if row["flow"] in flows]
    counts: dict[int, tuple[int, int]] = {}
    for row in table:
        whole, kept = counts.get(row["replication"], (0, 0))
        counts[row["replication"]] = (whole + row["windows"], kept + row["attained"])
    shares = (counts[number] for number in sorted(counts))
    return [100.0 * kept / whole if whole else None for whole, kept in shares]


def windows(length: str) -> Overrides:
    """Return what has the probability of assurance measured over windows of a length."""
    return [("assurance", f'{{ window = "{length}" }}')]


def half() -> Overrides:
    """Return what halves all target rates."""
    rates = ("500kbit", "2500kbit") * 5
    return [(f"connection.{name}.reserve", rate) for name, rate in zip(CONNECTIONS, rates, strict=True)]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns: dict[str, Figures] = {
        name: {scope: attained(results, flows) for scope, flows in SCOPES.items()}
        for name, results in runs.items()
    }
    main = columns[MAIN]
    near, anywhere = main["one destination, 20 ms"], main["anywhere"]
    main["the nearest destination beyond anywhere"] = minus(near, anywhere)
    main["anywhere, beyond RED"] = minus(anywhere, columns[RED]["anywhere"])
    main[f"anywhere, {SOLD} beyond all of it"] = minus(columns[SOLD]["anywhere"], anywhere)
    return columns


ASSURANCE = Measure(
    _figures,
    {
        MAIN: [*RENO[RIO_TSW], *windows("2s")],
        "windows of 10 s": [*RENO[RIO_TSW], *windows("10s")],
        "SACK": [*SACK[RIO_TSW], *windows("2s")],
        SOLD: [*RENO[RIO_TSW], *half(), *windows("2s")],
        RED: [*RENO[RED], *windows("2s")],
    },
)
