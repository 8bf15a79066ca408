"""The figures of section 4; `paper.toml` holds what is published."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import Row, both
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import FIFO, PACKET, Figures, hops_are, less, ms, named

LINK_12 = {"switch 2": "s2->s3", "switch 3": "s3->s2"}
"""The link of which the paper publishes figures, at both of its switches."""

OVER_TEST_ONE = "queueing delay over that in Test One, 3 hops"

Earlier = Mapping[str, Columns]


def _test_one(runs: Runs, _: Earlier) -> Columns:
    results = runs[MAIN]
    return {MAIN: _network(results) | _by_hops(results, normal=False) | _warned(results)}


def _diverse(runs: Runs, _: Earlier) -> Columns:
    results = runs[MAIN]
    figures = _network(results) | _warned(results)
    for rate in (50, 30, 20, 10, 5):
        for hops in (1, 2, 3) if rate >= 20 else (1, 2):
            chosen = both(hops_are(hops), named(f"{rate}-"))
            name = f"{rate} packets/s, {_plural(hops)}"
            figures[f"throughput, {name}"] = measures.throughput(results, chosen, PACKET)
            figures[f"queueing delay, {name}"] = ms(measures.queueing(results, chosen))
    return {MAIN: figures}


def _firewall(runs: Runs, earlier: Earlier) -> Columns:
    return {name: _beside_offenders(results, earlier["test-one"][MAIN]) for name, results in runs.items()}


def _beside_offenders(results: Results, test_one: Mapping[str, Values]) -> Figures:
    figures = _network(results) | _by_hops(results, normal=True)
    figures["checks of normal flows that warn"] = measures.warned(results, _normal)
    figures["checks of offenders that warn"] = measures.warned(results, named("offender-"))
    figures["losses of normal flows"] = measures.lost(results, _normal)
    three_hops = zip(figures["queueing delay, 3 hops"], test_one["queueing delay, 3 hops"], strict=False)
    figures[OVER_TEST_ONE] = [less(*pair) for pair in three_hops]
    return figures


def _read_by(claim: str) -> tuple[str, ...]:
    """Return what a claim on the firewall reads: FIFO stands beside it and is not judged."""
    return (MAIN, "test-one") if claim == OVER_TEST_ONE else (MAIN,)


def _patterns(runs: Runs, _: Earlier) -> Columns:
    results = runs[MAIN]
    at_both = (measures.link(results, name, "utilisation") for name in LINK_12.values())
    figures: Figures = {
        "utilisation, mean of both switches": [sum(pair) / 2 for pair in zip(*at_both, strict=True)]
    }
    patterns = {"constant rate": "even-", "Poisson": "random-", "packet train": "train-"}
    for hops in (1, 2, 3):
        means = {}
        for pattern, prefix in patterns.items():
            chosen = both(hops_are(hops), named(prefix))
            name = f"{pattern}, {_plural(hops)}"
            means[pattern] = ms(measures.queueing(results, chosen))
            figures[f"queueing delay, {name}"] = means[pattern]
            figures[f"delay deviation, {name}"] = ms(measures.queueing_sd(results, chosen))
        triples = list(zip(*means.values(), strict=True))
        figures[f"constant rate below the others, {_plural(hops)}"] = [
            less(min(poisson, train), even) for even, poisson, train in triples
        ]
        figures[f"packet train above Poisson, {_plural(hops)}"] = [
            less(train, poisson) for _, poisson, train in triples
        ]
    return {MAIN: figures}


def _network(results: Results) -> Figures:
    """Return what the paper publishes of the whole network, and of its link 12 at both switches."""
    figures: Figures = {
        "delivered by all flows": measures.delivered(results),
        "losses": measures.lost(results),
    }
    for switch, link in LINK_12.items():
        figures[f"utilisation, {switch}"] = measures.link(results, link, "utilisation")
        if results.series.num_rows:
            shares = measures.samples(results, link, "utilisation")
            figures[f"deviation of utilisation, {switch}"] = [float(one.std(ddof=1)) for one in shares]
        figures[f"queue, {switch}"] = _with_itself(measures.link(results, link, "queue_seen_mean"))
        figures[f"deviation of queue, {switch}"] = measures.link(results, link, "queue_seen_sd")
        figures[f"99 % of queue, {switch}"] = _with_itself(measures.link(results, link, "queue_seen_p99"))
    return figures


def _warned(results: Results) -> Figures:
    return {"checks that warn": measures.warned(results)}


def _by_hops(results: Results, *, normal: bool) -> Figures:
    """Return throughputs and delays by the length of the path, of all flows or of the normal ones."""
    figures: Figures = {}
    for hops in (1, 2, 3):
        chosen = both(hops_are(hops), _normal) if normal else hops_are(hops)
        figures[f"throughput, {_plural(hops)}"] = measures.throughput(results, chosen, PACKET)
        figures[f"queueing delay, {_plural(hops)}"] = ms(measures.queueing(results, chosen))
    return figures


def _normal(row: Row) -> bool:
    return not row["group"].startswith("offender-")


def _plural(hops: int) -> str:
    return "1 hop" if hops == 1 else f"{hops} hops"


def _with_itself(seen: Values) -> Values:
    """Count the arriving packet too, as the paper does; `paper.toml` says how we know."""
    return [None if packets is None else packets + 1 for packets in seen]


MEASURES = {
    "test-one": Measure(_test_one, series=("utilisation",)),
    "diverse": Measure(_diverse, series=("utilisation",)),
    "firewall": Measure(_firewall, {MAIN: (), "FIFO": FIFO}, reads=_read_by, after="test-one"),
    "patterns": Measure(_patterns),
}
