"""The model that a congestion control of the kernel has of its path, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

STARTUP_PACE, DRAIN_PACE = 2.0, 0.5
"""BBR's gains of the pace are above and below these while it starts up and drains."""


def series(
    schema: pa.Schema, found: Mapping[str, Any], figures: Mapping[str, Any], replication: int, seed: int
) -> pa.Table:
    """Return what the kernel tells of a congestion control over time, where its group is one connection.

    The phase is that of the gains, which are those of BBR's draft.
    """
    members = Counter(flow["group"] for flow in found["flows"])
    kept = [flow for flow in found["flows"] if flow["source"]["kind"] != "receiver"]
    rows = [
        {"replication": replication, "seed": seed, "subject": flow["group"], "time": when * 1e-9}
        | {"metric": metric, "value": value}
        for flow, counted in zip(kept, figures["end"]["flows"], strict=True)
        if members[flow["group"]] == 1
        for when, bandwidth, least, pace, window in counted.get("model", [])
        for metric, value in (
            ("bandwidth", bandwidth),
            ("min_rtt", least),
            ("phase", float(_phase(pace, window))),
        )
    ]
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema)


def _phase(pace: float, window: float) -> int:
    """Return the number of BBR's phase: 0 startup, 1 drain, 2 probing bandwidth, 3 probing the round trip."""
    if window == 1.0:
        return 3
    if pace > STARTUP_PACE:
        return 0
    return 1 if pace < DRAIN_PACE else 2
