"""The report of a comparison: its columns side by side, with paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegate import comparison
from tidegate.comparison import Row
from tidegate.estimates import Estimate
from tidegate.groups import chosen
from tidegate.plots import MAX_GROUPS, style
from tidegate.plots.panels import MAX_TIMES
from tidegate.reports import delays, network, run, run_tables, series
from tidegate.reports.blocks import Band, Block, Chart, Curve, Notes, Page, Section, Table
from tidegate.reports.scenario_text import about
from tidegate.reports.studies import Compared
from tidegate.results import Results
from tidegate.scenario_warnings import of_several
from tidegate.show import plural, signed, with_interval

MAX_TABLES = 20
"""Groups that have a table of their own."""

SAID = {
    "delay_p99": ("99 % delay", "shortest", "longest", False),
    "throughput": ("throughput", "highest", "lowest", True),
}
"""Figures of which a sentence says where they are best: names, words for best and worst, and whether
more is better."""

SMALLEST = 1e-3
"""Lower end of an interval on a logarithmic axis, as a share of its mean, where it would reach zero."""


MARK = "\N{NO-BREAK SPACE}*"
"""Stands behind a difference whose interval excludes zero."""


def page(study: Compared) -> Page:
    """Return the report of a comparison."""
    results = study.results
    first = next(iter(results.values()))
    rows = {(row.group, row.metric): row for row in comparison.rows_of(results)}
    names, left_out = chosen(list(dict.fromkeys(group for group, _ in rows)), None)
    drawn = names[:MAX_GROUPS]
    warnings = of_several({name: one.warnings for name, one in results.items()})
    notes = [*comparison.notes_of(results, first.scenario_toml if study.same_traffic else None)]
    notes = [note for note in notes if note not in first.notes]
    remarks = [left_out.capitalize() + "."] if left_out else []
    sections = [
        Section("Figures", [*_points(rows, drawn), *_tables(rows, names, first)]),
        Section("Delays", delays.of_comparison(results, drawn)),
        Section("Over time", series.of_comparison(results, drawn)),
        Section("Network", _network(results)),
        Section("Links", _links(results)),
        Section("What differs", _settings(results)),
        *run.closing(first, warnings, [*remarks, *notes]),
    ]
    return Page(
        title=first.scenario_name,
        kind=f"Comparison of {len(results)} policies or settings: {run.of(first, ' each')}",
        command=study.origin.command,
        about=about(first.scenario_toml),
        findings=[*_findings(rows, names), *run.warned(warnings)],
        facts=[("Compared", ", ".join(results)), *run.facts(first, study.origin)],
        sections=[one for one in sections if one.blocks],
    )


def _findings(rows: Mapping[tuple[str, str], Row], groups: Sequence[str]) -> list[str]:
    """Say of the first groups which column is the best by the figures of SAID, and where that is open."""
    said, open_ones = [], []
    for group in groups[: run.MAX_SENTENCES]:
        for metric, (name, *_) in SAID.items():
            row = rows[group, metric]
            if any(one.mean is None for one in row.values.values()):
                continue
            sentence = best(row, metric)
            if sentence is None:
                open_ones.append(f"{group}, {name}")
            else:
                said.append(sentence)
    if open_ones:
        said.append(f"No interval of a difference excludes zero: {'; '.join(open_ones)}.")
    if not _has_intervals(rows.values()):
        said.append("There are no intervals: one run of each, or nothing is drawn at random.")
    return said


def _has_intervals(rows: Iterable[Row]) -> bool:
    return any(one.half_width is not None for row in rows for one in row.differences.values())


def best(row: Row, metric: str) -> str | None:
    """Say under which column a figure is the best; None where no difference is certain.

    Where nothing has an interval, every difference counts.
    """
    name, best_word, worst_word, more = SAID[metric]
    first, *others = row.values
    unit, begin = row.unit or "share", f"{row.group}, {name}"
    certain = _has_intervals([row])
    told = [column for column in others if row.differences[column].excludes_zero or not certain]
    gains = {column: (row.differences[column].mean or 0.0) * (1 if more else -1) for column in told}
    before = with_interval(row.values[first], unit)
    if not any(gains.values()):
        return None if certain or not told else f"{begin}: {before} under each."
    top, worst = max(told, key=gains.__getitem__), min(told, key=gains.__getitem__)
    is_better = gains[top] > 0
    shown = top if is_better else worst
    value, change = with_interval(row.values[shown], unit), signed(row.differences[shown], unit)
    if is_better:
        return f"{begin}: {best_word} under {top}, {value} instead of {before} under {first} ({change})."
    return f"{begin}: {best_word} under {first}, {before}; {worst_word} under {worst}, {value} ({change})."


def _tables(rows: Mapping[tuple[str, str], Row], groups: Sequence[str], first: Results) -> list[Block]:
    """Return a table for each group: a row for each column, with its differences to the first."""
    tables: list[Block] = [_table(rows, group) for group in groups[:MAX_TABLES]]
    notes = run_tables.intervals(first)
    if first.has_intervals:
        base = next(iter(next(iter(rows.values())).values))
        notes = [
            *notes,
            f"Δ: difference to {base}, run by run under the same seeds, with its interval.",
            "* the interval of the difference excludes zero; by chance alone, 1 in 20 does.",
            "pp: percentage points, the difference of two shares.",
        ]
    if len(groups) > MAX_TABLES:
        notes.append(f"{plural(len(groups) - MAX_TABLES, 'more group')} left out.")
    return [*tables, Notes(notes)]


def _table(rows: Mapping[tuple[str, str], Row], group: str) -> Table:
    of = {metric: rows[group, metric] for metric in comparison.METRICS}
    shown = {
        metric: row for metric, row in of.items() if any(one.mean is not None for one in row.values.values())
    }
    columns = next(iter(of.values())).values
    cells = [[name, *(_cell(row, name) for row in shown.values())] for name in columns]
    return Table(f"Group {group}", ["", *(run_tables.GROUPS[metric][0] for metric in shown)], cells)


def _cell(row: Row, name: str) -> str:
    unit = row.unit or "share"
    shown = with_interval(row.values[name], unit)
    if name not in row.differences:
        return shown
    difference = row.differences[name]
    return f"{shown}\nΔ {signed(difference, unit)}{MARK if difference.excludes_zero else ''}"


@dataclass(frozen=True)
class _Axis:
    """The axis of a figure: its multiple and unit, and whether it is logarithmic."""

    factor: float
    unit: str
    log: bool


def _points(rows: Mapping[tuple[str, str], Row], groups: Sequence[str]) -> list[Chart]:
    """Return a chart for each figure: rows are groups, and each column of the comparison has a mark."""
    titles = {
        "throughput": "Throughput",
        "delay_p99": "99 % delay",
        "delay_mean": "Mean delay",
        "lost": "Lost",
    }
    charts = []
    for metric, title in titles.items():
        of = [rows[group, metric] for group in groups]
        means = [one.mean for row in of for one in row.values.values() if one.mean is not None]
        if not means or max(means) == 0:
            continue
        axis = _axis(metric, means)
        columns = list(of[0].values)
        curves = [_marks(of, name, number, len(columns), axis) for number, name in enumerate(columns)]
        charts.append(
            Chart(
                title=title,
                x=axis.unit,
                y="",
                curves=curves,
                log_x=axis.log,
                names_y={float(place): group for place, group in enumerate(groups)},
            )
        )
    return charts


def _axis(metric: str, means: Sequence[float]) -> _Axis:
    if metric == "lost":
        return _Axis(0.01, "% of the packets sent", log=False)
    positive = [mean for mean in means if mean > 0]
    units = style.RATES if metric == "throughput" else style.TIMES
    log = max(positive) > MAX_TIMES * min(positive)
    factor, unit = style.scale([math.sqrt(min(positive) * max(positive))] if log else positive, units)
    return _Axis(factor, unit, log)


def _marks(rows: Sequence[Row], name: str, number: int, columns: int, axis: _Axis) -> Curve:
    shift = (number - (columns - 1) / 2) * min(0.22, 0.8 / columns)
    found: list[tuple[float, Estimate, str]] = [
        (place + shift, row.values[name], row.unit or "share")
        for place, row in enumerate(rows)
        if row.values[name].mean is not None and (not axis.log or (row.values[name].mean or 0.0) > 0)
    ]
    means = [(one.mean or 0.0) / axis.factor for _, one, _ in found]
    halves = [(one.half_width or 0.0) / axis.factor for _, one, _ in found]
    least = [SMALLEST * mean if axis.log else float("-inf") for mean in means]
    return Curve(
        name=name,
        x=means,
        y=[place for place, _, _ in found],
        said=[with_interval(one, unit) for _, one, unit in found],
        band=Band(
            [max(low, mean - half) for low, mean, half in zip(least, means, halves, strict=True)],
            [mean + half for mean, half in zip(means, halves, strict=True)],
            bars=True,
        ),
        marked=True,
        joined=False,
        across=True,
    )


def _network(results: Mapping[str, Results]) -> list[Block]:
    name, first = next(iter(results.items()))
    return [Notes([f"Utilisation is that under {name}."]), *network.of_results(first)]


def _links(results: Mapping[str, Results]) -> list[Block]:
    """Return a table of the busiest links under each column."""
    names = list(dict.fromkeys(row.link for one in results.values() for row in network.busiest(one)))
    by_name = {name: {row.link: row for row in one.link_rows()} for name, one in results.items()}
    shown = ("utilisation", "queue_mean", "queue_max", "dropped", "wait_mean")
    tables: list[Block] = []
    for link in names:
        of_link = {name: rows[link] for name, rows in by_name.items() if link in rows}
        cells = [
            [
                name,
                *(with_interval(getattr(row, metric), run_tables.LINKS[metric][1], "\n") for metric in shown),
            ]
            for name, row in of_link.items()
        ]
        headings = ["", *(run_tables.LINKS[metric][0] for metric in shown)]
        tables.append(Table(f"Link {link}", headings, cells))
    return tables


def _settings(results: Mapping[str, Results]) -> list[Block]:
    """Return the table of what each column sets over the scenario, where that differs."""
    sets = {name: dict(one.overrides) for name, one in results.items()}
    keys = [
        key
        for key in dict.fromkeys(key for one in sets.values() for key in one)
        if len({one.get(key) for one in sets.values()}) > 1
    ]
    if not keys:
        return []
    cells = [[name, *(one.get(key, "-") for key in keys)] for name, one in sets.items()]
    return [Table("Settings of each column", ["", *keys], cells, words=range(1, len(keys) + 1))]
