"""Writes a paper's figures into docs/papers/NAME.md, and the pictures that the page shows.

Run it from the repository's root, in `.venv`, after a change of the paper's data or of what it measures:

    python docs/make_paper.py virtualclock
"""

import dataclasses
import re
import sys
import tempfile
from pathlib import Path

from tidegate import papers
from tidegate.papers import directory
from tidegate.papers.words import allowed, figure, label, measured, published
from tidegate.show import plural

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "papers"
IMAGES = ROOT / "docs" / "images"

VERDICTS = {True: "yes", None: "undecided", False: "**no**"}


def sections(report: papers.Report) -> dict[str, str]:
    """Return what stands between each pair of markers of the page."""
    return {
        "choices": choices(report.paper),
        **{outcome.experiment.name: claims(outcome) for outcome in report.outcomes},
        "verdict": verdict(report),
    }


def choices(paper: papers.Paper) -> str:
    """Return the table of what the paper leaves open."""
    rows = [f"| {one.what} | {one.chosen} | {one.why} |" for one in paper.choices]
    return table(["open", "chosen", "why"], rows)


def claims(outcome: papers.Outcome) -> str:
    """Return an experiment's table."""
    experiment = outcome.experiment
    scenario = experiment.scenario.name
    folder = experiment.scenario.parent.name
    warmup = f" after {outcome.warmup:g} s of warm-up" if outcome.warmup else ""
    parts = [
        f"**{experiment.title}: {experiment.about}.** "
        f"{experiment.where[0].upper()}{experiment.where[1:]}; {plural(len(outcome.seeds), 'run')}, "
        f"{outcome.duration:g} s measured{warmup}.\n"
        f"Scenario: [`{scenario}`](../../python/tidegate/papers/{folder}/{scenario}).\n"
    ]
    if outcome.listed:
        parts.append(listed(outcome.listed))
    parts += [cells(one, outcome) for one in experiment.tables]
    return "\n".join(parts)


def listed(findings: list[papers.Finding]) -> str:
    """Return a table with a row for each finding."""
    beside = list(dict.fromkeys(name for one in findings for name in one.beside))
    rows = []
    for one in findings:
        # A star alone would begin an emphasis.
        name = label(one.claim).replace("*", "\\*")
        row = [name, published(one.claim), measured(one), allowed(one.claim)]
        row.append(VERDICTS[one.holds] if one.claim.judged else "")
        row += [figure(one.beside[name]) if name in one.beside else "" for name in beside]
        rows.append(f"| {' | '.join(row)} |")
    return table(["figure", "paper", "measured", "tolerance", "holds", *beside], rows)


def cells(published_table: papers.Table, outcome: papers.Outcome) -> str:
    """Return a table of the paper, in each cell the published figure and ours."""
    rows = [
        f"| {' | '.join([row, *(cell(one) for one in findings)])} |"
        for row, findings in zip(published_table.rows, outcome.cells(published_table), strict=True)
    ]
    return table([published_table.heading, *published_table.columns], rows)


def cell(finding: papers.Finding) -> str:
    """Return the published figure, if there is one, and ours."""
    ours = figure(finding.measured)
    return ours if finding.claim.paper is None else f"{published(finding.claim)} → {ours}"


def verdict(report: papers.Report) -> str:
    """Return how many claims hold, and what does not with what we know about why.

    Experiments on request are not among them: `tidegate paper` carries them out only with `--all`.
    """
    carried_out = tuple(one for one in report.outcomes if not one.experiment.on_request)
    report = dataclasses.replace(report, outcomes=carried_out)
    counts = {holds: sum(one.holds is holds for one in report.findings) for holds in VERDICTS}
    required = [one for one in report.findings if one.claim.required]
    lines = [
        f"{len(report.findings)} claims: {counts[True]} hold, {counts[None]} are undecided, {counts[False]} "
        f"do not hold. {len(required)} of them are required, and {len(report.broken)} of those do not hold.\n"
    ]
    reasons: dict[str, list[str]] = {}
    for outcome in report.outcomes:
        for one in outcome.findings:
            if one.claim.judged and one.holds is not True:
                unknown = (
                    "we do not know why" if one.holds is False else "these runs differ too much to decide it"
                )
                reasons.setdefault(one.why or unknown, []).append(
                    f"{outcome.experiment.title}: {one.claim.name} {measured(one)}, "
                    f"{expected(one.claim)}{' (undecided)' if one.holds is None else ''}"
                )
    for why, names in reasons.items():
        lines.append(f"- {'; '.join(names)}.\n  *{why[0].upper()}{why[1:]}.*")
    return "\n".join(lines) + "\n"


def expected(claim: papers.Claim) -> str:
    """Return what ours is compared with."""
    return allowed(claim) if claim.paper is None else f"published {published(claim)}"


def table(header: list[str], rows: list[str]) -> str:
    """Return a table in Markdown."""
    return "\n".join([f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *rows]) + "\n"


def fill(text: str, name: str, body: str) -> str:
    """Return `text` with `body` between the markers `name`."""
    filled = f"<!-- {name} -->\n{body}<!-- /{name} -->"
    return re.sub(rf"<!-- {name} -->\n.*?<!-- /{name} -->", lambda _: filled, text, flags=re.S)


def tell(share: float) -> None:
    """Print the share of the runs that is done."""
    print(f"\r{share:4.0%}", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Run the paper that is named, and fill its page."""
    (name,) = sys.argv[1:]
    report = papers.conduct(papers.load(name), everything=True, progress=tell)
    page = PAGES / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    for marker, body in sections(report).items():
        text = fill(text, marker, body)
    page.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        written = directory.write(report, Path(place) / "report")
        for shown in re.findall(rf"images/{name}-([\w-]+\.png)", text):
            (IMAGES / f"{name}-{shown}").write_bytes((written / shown).read_bytes())


if __name__ == "__main__":
    main()
