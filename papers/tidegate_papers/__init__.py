"""Published experiments run again: each paper's figures beside ours, with intervals.

import tidegate_papers as papers

report = papers.conduct(papers.load("virtualclock"))
report.findings  # claims: published, measured, and whether they hold

Everything is loaded when it is first used, so that `tidegate --help` costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate_papers.claims import Claim, Finding
    from tidegate_papers.paper import FULL, Paper, Table, load, names
    from tidegate_papers.report import Outcome, Report, Skipped, conduct

__all__ = [
    "FULL",
    "Claim",
    "Finding",
    "Outcome",
    "Paper",
    "Report",
    "Skipped",
    "Table",
    "conduct",
    "load",
    "names",
]

_HOMES = {
    "FULL": "paper",
    "Claim": "claims",
    "Finding": "claims",
    "Outcome": "report",
    "Paper": "paper",
    "Report": "report",
    "Skipped": "report",
    "Table": "paper",
    "conduct": "report",
    "load": "paper",
    "names": "paper",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tidegate_papers' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tidegate_papers.{_HOMES[name]}"), name)
    return value
