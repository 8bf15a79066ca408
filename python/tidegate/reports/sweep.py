"""The report of a sweep: every figure of each group over one parameter, and the table of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.groups import chosen
from tidegate.keys import short
from tidegate.plots import MAX_GROUPS
from tidegate.plots.over_parameter import LOGARITHMIC, MAX_TICKS, PANELS, across, lines_of, numbers, unit_of
from tidegate.reports import network, run, run_tables
from tidegate.reports.blocks import Band, Block, Chart, Code, Curve, Notes, Page, Section, Table
from tidegate.reports.scenario_text import about
from tidegate.reports.studies import Swept
from tidegate.show import NOTHING, plural, with_interval
from tidegate.sweeps.rows import UNITS, name_of, parameters_of
from tidegate.sweeps.summary import Summary, summaries

SHOWN = ("throughput", "lost", "delay_mean", "delay_p99", "queueing_mean")
"""Figures of the tables."""

SAID = ("delay_p99", "lost")
"""Figures of which a sentence says where they are least and greatest."""


def page(study: Swept) -> Page:
    """Return the report of a sweep."""
    found, parameters = summaries(study.table), parameters_of(study.table)
    everyone = list(dict.fromkeys(one.group for one in found))
    names, left_out = chosen(everyone, None)
    of = {name: [one for one in found if one.group == name] for name in names}
    number = len({one.point for one in found})
    total = sum({one.point: one.runs for one in found}.values())
    name = name_of(study.table)
    notes = [*([left_out.capitalize() + "."] if left_out else []), *_notes(found)]
    sections = [
        Section(
            "Figures", [one for group in names[:MAX_GROUPS] for one in _charts(group, of[group], parameters)]
        ),
        Section("Points", [_table(group, rows, parameters) for group, rows in of.items()]),
        Section("Network", network.of_text(study.text, name, study.base_dir) if study.text else []),
        *([Section("Warnings", [Code(one) for one in study.warnings])] if study.warnings else []),
        Section("Remarks", [Notes(notes)]),
        *([Section("Scenario", [Code(study.text)])] if study.text else []),
    ]
    return Page(
        title=name,
        kind=f"Sweep of {plural(number, 'point')}, {plural(total, 'run')} from seed {study.first_seed}, "
        f"tidegate {study.version}",
        command=study.origin.command,
        about=about(study.text),
        findings=[*_findings(of, parameters), *_incomplete(study), *run.warned(list(study.warnings))],
        facts=_facts(study, parameters, found),
        sections=[one for one in sections if one.blocks],
    )


def _findings(of: Mapping[str, Sequence[Summary]], parameters: Sequence[str]) -> list[str]:
    """Say of the first groups at which points figures are least and greatest."""
    said = []
    for group, rows in list(of.items())[: run.MAX_SENTENCES]:
        for figure in SAID:
            measured = [one for one in rows if one.figures[figure].mean is not None]
            if not measured:
                continue
            ends = [
                choose(measured, key=lambda one: one.figures[figure].mean or 0.0) for choose in (min, max)
            ]
            least, most = (with_interval(one.figures[figure], UNITS[figure]) for one in ends)
            heading = run_tables.GROUPS[figure][0]
            if ends[0].figures[figure].mean == ends[1].figures[figure].mean:
                said.append(f"{group}, {heading}: {least} at every point.")
                continue
            first, last = (_at(one, parameters) for one in ends)
            said.append(f"{group}, {heading}: from {least} ({first}) to {most} ({last}).")
    return said


def _at(one: Summary, parameters: Sequence[str]) -> str:
    """Return the settings of a point in a few words."""
    values = (one.settings[name] for name in parameters)
    return ", ".join(f"{name} {value}" for name, value in zip(short(parameters), values, strict=True))


def _incomplete(study: Swept) -> list[str]:
    return [] if study.complete else ["The sweep is not complete: the same command goes on with it."]


def _notes(found: Sequence[Summary]) -> list[str]:
    if any(one.figures["throughput"].half_width is not None for one in found):
        return [run_tables.INTERVAL]
    return ["No intervals: one run of each point, or nothing is drawn at random."]


def _facts(study: Swept, parameters: Sequence[str], found: Sequence[Summary]) -> list[tuple[str, str]]:
    values = {name: list(dict.fromkeys(str(one.settings[name]) for one in found)) for name in parameters}
    shown = [f"{name}: {', '.join(of[:12])}{' …' if len(of) > 12 else ''}" for name, of in values.items()]
    return [
        *run.made(study.origin, study.version),
        ("Varied", "\n".join(shown)),
        *([("Runs until", study.until)] if study.until else []),
    ]


def _charts(group: str, rows: Sequence[Summary], parameters: Sequence[str]) -> list[Chart]:
    """Return a chart of each figure of a group: a curve for each setting of the other parameters."""
    if not parameters:
        return []
    x = across([one.settings for one in rows], parameters)
    others = [name for name in parameters if name != x]
    lines = lines_of([one.settings for one in rows], others)
    places, is_number = _places([one.settings[x] for one in rows])
    log = (
        is_number and min(places.values()) > 0 and max(places.values()) >= LOGARITHMIC * min(places.values())
    )
    names = {place: str(value) for value, place in places.items()}
    if is_number and len(names) > MAX_TICKS:
        names = {}
    charts = []
    for figure, heading in PANELS.items():
        factor, unit = unit_of(figure, [one.figures[figure].mean for one in rows])
        curves = [
            _curve(name or group, [rows[one] for one in of], figure, factor, places, x)
            for name, of in lines.items()
        ]
        drawn = [one for one in curves if one.y]
        if not drawn or not any(value for one in drawn for value in one.y):
            continue
        charts.append(
            Chart(
                title=f"{heading} of {group}" + (f" by {', '.join(short(others))}" if others else ""),
                x=short(parameters)[parameters.index(x)],
                y=unit,
                curves=drawn,
                log_x=log,
                names_x=names,
                least_y=0.0,
            )
        )
    return charts


def _places(values: Sequence[Any]) -> tuple[dict[Any, float], bool]:
    """Return where each value of a parameter is on the axis, and whether that is a number."""
    distinct = list(dict.fromkeys(values))
    found = numbers(distinct)
    return dict(zip(distinct, found or map(float, range(len(distinct))), strict=True)), found is not None


def _curve(
    name: str, rows: Sequence[Summary], figure: str, factor: float, places: Mapping[Any, float], x: str
) -> Curve:
    found = sorted(
        (places[one.settings[x]], str(one.settings[x]), one.figures[figure])
        for one in rows
        if one.figures[figure].mean is not None
    )
    means = [(one.mean or 0.0) / factor for _, _, one in found]
    halves = [(one.half_width or 0.0) / factor for _, _, one in found]
    return Curve(
        name=name,
        x=[place for place, _, _ in found],
        y=means,
        said=[f"{with_interval(one, UNITS[figure])} at {value}" for _, value, one in found],
        band=Band(
            [mean - half for mean, half in zip(means, halves, strict=True)],
            [mean + half for mean, half in zip(means, halves, strict=True)],
            bars=True,
        ),
        marked=True,
    )


def _table(group: str, rows: Sequence[Summary], parameters: Sequence[str]) -> Block:
    shown = [name for name in SHOWN if any(one.figures[name].mean is not None for one in rows)]
    cells = [
        [
            *(NOTHING if one.settings[name] is None else str(one.settings[name]) for name in parameters),
            str(one.runs),
            *(with_interval(one.figures[name], UNITS[name], "\n") for name in shown),
        ]
        for one in rows
    ]
    headings = [*short(parameters), "runs", *(run_tables.GROUPS[name][0] for name in shown)]
    return run_tables.cut(Table(f"Group {group}", headings, cells, words=range(1, len(parameters))))
