"""The report of a paper: its claims with their verdicts, and the curves of its experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidegate.reports import run, run_tables
from tidegate.reports.blocks import Band, Block, Chart, Curve, Level, Notes, Page, Section, Table, Text
from tidegate.reports.studies import Paper
from tidegate.show import NOTHING, plural

VERDICTS = {True: "✓ holds", None: "? undecided", False: "✗ does not hold"}

Claim = Mapping[str, Any]

REQUIRED = "\N{NO-BREAK SPACE}*"
"""Stands behind what a required claim is of."""

MEANING = (
    "A claim holds when what it allows contains the 95 % interval, or the interval all that it allows; it "
    "does not hold when they do not meet; otherwise it is undecided. * required."
)


def page(study: Paper) -> Page:
    """Return the report of a paper's claims."""
    document = study.document
    claims, figures = document["claims"], document["figures"]
    sections = [
        _experiment(
            one,
            [claim for claim in claims if claim["experiment"] == one["name"]],
            [figure for figure in figures if figure["experiment"] == one["name"]],
            study.curves.get(one["name"], ()),
        )
        for one in document["experiments"]
    ]
    skipped = [f"{name}: skipped, {why}." for name, why in document["skipped"].items()]
    if document["left_out"]:
        skipped.append(f"Left out, since nothing of them is required: {', '.join(document['left_out'])}.")
    return Page(
        title=document["title"],
        kind=f"Claims of a paper, carried out with tidegate {document['tidegate_version']}",
        command=study.origin.command,
        about=[Text(f"{document['reference']}.")],
        findings=_findings(claims),
        facts=[
            *run.made(study.origin, document["tidegate_version"]),
            ("Runs", _runs(document["replications"])),
        ],
        sections=[
            Section("Experiments", [_summary(document["experiments"], claims), Notes([MEANING, *skipped])]),
            *sections,
        ],
    )


def _findings(claims: Sequence[Claim]) -> list[str]:
    required = [claim for claim in claims if claim["required"]]
    broken = [claim["claim"] for claim in required if claim["holds"] is False]
    said = [f"{plural(len(claims), 'claim')}: {_counted(claims)}."]
    if required:
        said.append(f"{len(required)} of them are required: {_counted(required)}.")
    others = Counter(claim["claim"].partition(": ")[0] for claim in claims if claim["holds"] is False)
    if others:
        said.append(
            f"Those that do not hold are of {', '.join(f'{one} ({n})' for one, n in others.items())}."
        )
    return said + [f"Required, and does not hold: {one}." for one in broken]


def _counted(claims: Iterable[Claim]) -> str:
    counts = Counter(claim["holds"] for claim in claims)
    words = {True: "hold", None: "are undecided", False: "do not hold"}
    return (
        ", ".join(f"{counts[holds]} {word}" for holds, word in words.items() if counts[holds])
        or "none is judged"
    )


def _runs(replications: int | None) -> str:
    if replications is None:
        return "as many of each experiment as its claims need"
    return f"{plural(replications, 'run')} of each experiment"


def _summary(experiments: Sequence[Mapping[str, Any]], claims: Sequence[Claim]) -> Table:
    rows = []
    for one in experiments:
        counts = Counter(claim["holds"] for claim in claims if claim["experiment"] == one["name"])
        shown = [str(counts[holds]) if counts[holds] else "" for holds in VERDICTS]
        rows.append([one["title"], one["about"], *shown])
    return Table("Claims by experiment", ["experiment", "about", *VERDICTS.values()], rows, words=(1,))


def _experiment(
    about: Mapping[str, Any],
    claims: Sequence[Claim],
    figures: Sequence[Claim],
    panels: Sequence[Mapping[str, Any]],
) -> Section:
    warmup = f" after {about['warmup']:g} s of warm-up" if about["warmup"] else ""
    blocks: list[Block] = [
        Text(
            f"{about['about'][:1].upper()}{about['about'][1:]} ({about['where']}). "
            f"{about['duration']:g} s were measured{warmup}, under {run.seeds(tuple(about['seeds']))}."
        )
    ]
    if claims:
        blocks.append(_claims(about["title"], claims))
    reasons = dict.fromkeys(claim["why"] for claim in claims if claim["why"])
    if reasons:
        blocks.append(Notes(list(reasons)))
    blocks += [_panel(one) for one in panels]
    if figures:
        blocks.append(_figures(about["title"], figures))
    return Section(about["title"], blocks)


def _claims(title: str, claims: Sequence[Claim]) -> Table:
    derived = any(claim["derived"] is not None for claim in claims)
    beside = _beside(claims)
    rows = [
        [
            _label(claim, title),
            claim["words"]["paper"],
            *([claim["words"]["derived"]] if derived else []),
            claim["words"]["measured"],
            claim["words"]["allowed"],
            VERDICTS[claim["holds"]],
            *(claim["words"]["beside"].get(name, NOTHING) for name in beside),
        ]
        for claim in claims
    ]
    headings = [
        "claim",
        "paper",
        *(["derived"] if derived else []),
        "measured",
        "allowed",
        "verdict",
        *beside,
    ]
    return run_tables.cut(Table(f"Claims of {title}", headings, rows, words=(5 if derived else 4,)))


def _figures(title: str, figures: Sequence[Claim]) -> Table:
    beside = _beside(figures)
    rows = [
        [
            _label(one, title),
            one["words"]["paper"],
            one["words"]["measured"],
            *(one["words"]["beside"].get(name, NOTHING) for name in beside),
        ]
        for one in figures
    ]
    return run_tables.cut(
        Table(f"Further figures of {title}, not judged", ["figure", "paper", "measured", *beside], rows)
    )


def _beside(claims: Sequence[Claim]) -> list[str]:
    """Return the names of settings beside the scenario's own, in their order."""
    return list(dict.fromkeys(name for claim in claims for name in claim["beside"]))


def _label(claim: Claim, title: str) -> str:
    name = claim["claim"].removeprefix(f"{title}: ")
    unit = f" ({claim['unit']})" if claim["unit"] else ""
    return f"{name}{unit}{REQUIRED if claim.get('required') else ''}"


def _panel(panel: Mapping[str, Any]) -> Block:
    """Return a panel: lines as a chart, and figures of two settings as a table."""
    if panel["kind"] == "map":
        rows = [
            [name, *(NOTHING if cell is None else f"{cell:,.3g}" for cell in cells)]
            for name, cells in zip(panel["rows"], panel["cells"], strict=True)
        ]
        return Table(panel["title"], ["", *panel["columns"]], rows)
    return Chart(
        title=panel["title"],
        x=panel["x"],
        y=panel["y"],
        curves=[_curve(one, panel["log_y"]) for one in panel["curves"]],
        log_x=panel["log_x"],
        log_y=panel["log_y"],
        levels=[Level(one["y"], one["name"]) for one in panel["levels"]],
        least_y=panel["least"],
    )


def _curve(curve: Mapping[str, Any], log_y: bool) -> Curve:
    points = [
        (x, mean, half or 0.0)
        for x, mean, half in zip(curve["x"], curve["mean"], curve["ci95"], strict=True)
        if mean is not None and (mean > 0 or not log_y)
    ]
    band = None
    if any(half for _, _, half in points):
        # An interval that reaches zero would leave a logarithmic axis.
        low = [max(mean - half, mean / 1e3) if log_y else mean - half for _, mean, half in points]
        band = Band(low, [mean + half for _, mean, half in points], bars=curve["points"])
    return Curve(
        name=curve["name"],
        x=[x for x, _, _ in points],
        y=[mean for _, mean, _ in points],
        said=[f"{mean:,.4g}{f' ± {half:,.2g}' if half else ''} at {x:,.4g}" for x, mean, half in points],
        band=band,
        marked=curve["points"] or not curve["joined"],
        joined=curve["joined"],
    )
