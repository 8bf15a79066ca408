"""The JSON document of `tidegate run --json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate import json_rows, summary
from tidegate.bounds import Compared
from tidegate.results import Results

TABLES = (
    "flows",
    "groups",
    "links",
    "classes",
    "transfers",
    "usage",
    "non_responsive",
    "aal5",
    "credit",
    "credit_vcs",
    "stalls",
    "gate",
    "workahead",
)
"""Tables in `--json`: means over replications of those that have them, and all rows of others."""


def document(results: Results, compared: Sequence[Compared] | None = None) -> Iterator[str]:
    """Yield the parts of what `--json` prints: SI base units, null where nothing was measured.

    With delays that were compared with bounds, these are in it, too.
    """
    parts: dict[str, Any] = {
        "scenario": results.scenario_name,
        "scenario_sha256": results.scenario_hash,
        "tidegate_version": results.version,
        "duration": results.duration,
        "warmup": results.warmup,
        "replications": results.replications,
        "seeds": list(results.seeds),
        "fingerprint": results.fingerprints[0],
        "fingerprints": list(results.fingerprints),
        "packet_hops": results.packet_hops,
        "notes": results.notes,
        "warnings": list(results.warnings),
    }
    start = json.dumps(parts, ensure_ascii=False, allow_nan=False)
    yield start.removesuffix("}")
    for name in TABLES:
        yield f', "{name}": '
        if name in summary.SUMMARIES:
            yield from results.averages(name).json()
        else:
            yield from json_rows.of_table(results.tables[name].arrow)
    if compared is not None:
        rows = [one.to_dict() for one in compared]
        yield f', "bounds": {json.dumps(rows, ensure_ascii=False, allow_nan=False)}'
    yield "}"
