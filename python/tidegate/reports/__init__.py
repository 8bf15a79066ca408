"""Reports: results as one page of HTML that needs no other file and no network.

A page has what was studied and what came out, tables with 95 % intervals, the network with its
busiest links, charts whose curves can be hidden, hovered and zoomed, warnings, the scenario, and
the command that made it. It needs bokeh and jinja2: `pip install 'tidegate[report]'`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate._tidegate import TidegateError, __version__
from tidegate.comparison import Comparison
from tidegate.reports import libraries, output, reading
from tidegate.reports.studies import Compared, Origin, Paper, Run, Study, Swept
from tidegate.results import Results

if TYPE_CHECKING:
    from tidegate.sweeps.plan import Plan
    from tidegate.tables import Table

__all__ = ["check", "of_claims", "of_run", "report"]

Places = str | os.PathLike[str]
Subject = Results | Comparison | Mapping[str, Results] | Places | Sequence[Places]


def report(of: Subject, out: Places) -> Path:
    """Write a report to the file `out`, whole or not at all; return its absolute path.

    Args:
        of: Results, a comparison, or results of one scenario by the names of what differs; or the
            directory of a run, of a comparison, of a sweep, or of a paper's claims; or several
            directories with results of one scenario.
        out: The page, whose name ends in `.html`. Missing folders are made.

    Raises:
        TidegateError: A library is missing, a directory holds no results or they do not match, or
            `out` cannot be written.
    """
    return _written(_study(of), out)


def check(out: Places) -> None:
    """Make sure, before a long run, that a report can be written to `out`; leaves no trace.

    Raises:
        TidegateError: A library is missing, or `out` cannot be written.
    """
    libraries.check()
    output.check(out)


def of_run(
    results: Results, out: Places, *, command: str | None = None, backend: Mapping[str, Any] | None = None
) -> Path:
    """Write the report of results, with the command that made them, and what ran them.

    Raises:
        TidegateError: As of `report`.
    """
    return _written(Run(results, Origin(command, backend=backend or {})), out)


def of_comparison(results: Mapping[str, Results], out: Places, *, command: str | None = None) -> Path:
    """Write the report of a comparison's results, by the names of its columns.

    Raises:
        TidegateError: As of `report`.
    """
    return _written(Compared(results, Origin(command), same_traffic=True), out)


def of_sweep(plan: Plan, table: Table[str], out: Places, *, command: str | None = None) -> Path:
    """Write the report of a sweep that was carried out as planned.

    Raises:
        TidegateError: As of `report`.
    """
    study = Swept(
        table=table,
        text=plan.source.scenario.toml,
        base_dir=plan.source.base_dir,
        version=__version__,
        first_seed=plan.wanted.first_seed,
        until=plan.wanted.until,
        complete=True,
        warnings=plan.warnings,
        origin=Origin(command),
    )
    return _written(study, out)


def of_claims(
    document: Mapping[str, Any],
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    out: Places,
    *,
    command: str | None = None,
) -> Path:
    """Write the report of a paper's claims, as the directory of a paper has them.

    Args:
        document: What the file `claims.json` has.
        curves: What the file `curves.json` has.
        out: The page.
        command: The command that made them.

    Raises:
        TidegateError: As of `report`.
    """
    return _written(Paper(document, curves, Origin(command)), out)


def _written(study: Study, out: Places) -> Path:
    check(out)
    from tidegate.reports import comparison, page, paper, run, sweep

    match study:
        case Run():
            made = run.page(study)
        case Compared():
            made = comparison.page(study)
        case Swept():
            made = sweep.page(study)
        case Paper():
            made = paper.page(study)
    return output.write(out, page.html(made))


def _study(of: Subject) -> Study:
    match of:
        case Results():
            return Run(of, Origin())
        case Comparison():
            return Compared(of.results, Origin(), same_traffic=True)
        case str() | os.PathLike():
            return reading.read([Path(of)])
    if not of:
        raise TidegateError("a report is of at least one directory, or of results")
    if isinstance(of, Mapping):
        reading.matching(of)
        one, *others = of.values()
        return Compared(of, Origin(), same_traffic=False) if others else Run(one, Origin())
    return reading.read([Path(one) for one in of])
