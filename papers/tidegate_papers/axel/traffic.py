"""Traffic of filtered flows, and the load of servers under it: Tables 1 and 2, and section 4.1."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.axel.common import BURSTY, POLICIES, SERVERS, SMOOTH, settings
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs


def _traffic(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    results = runs["FIFO"]
    busy = [measures.link(results, server, "utilisation") for server in SERVERS]
    return {
        MAIN: {
            "actual rate, bursty flows": _sent(results, BURSTY),
            "actual rate, smooth flows": _sent(results, SMOOTH),
            "discarded by filters, bursty flows": measures.share_discarded(results, _kind(BURSTY)),
            "utilisation, mean of all servers": [
                sum(value for value in run if value is not None) / len(SERVERS)
                for run in zip(*busy, strict=True)
            ],
            "most packets at a server": [
                max(value for value in run if value is not None)
                for run in zip(*(_longest(each) for each in runs.values()), strict=True)
            ],
        }
    }


def _sent(results: Results, kind: str) -> Values:
    """Return the mean rate of a kind of flows behind their filters, in bytes/s."""
    seconds = results.duration - results.warmup
    return [
        sum(row["sent_bytes"] for row in rows) / len(rows) / seconds
        for rows in measures.flows(results, _kind(kind))
    ]


def _kind(prefix: str) -> measures.Choose:
    return lambda row: bool(row["group"].startswith(prefix))


def _longest(results: Results) -> Values:
    """Return the longest queue of any server in each replication, in packets."""
    queues = (measures.link(results, server, "queue_max") for server in SERVERS)
    return [
        max((value for value in run if value is not None), default=None) for run in zip(*queues, strict=True)
    ]


TRAFFIC = Measure(_traffic, settings(POLICIES))
