"""Writes a paper's figures into docs/papers/NAME.md, and the pictures that the page shows.

Run it from the repository's root, in `.venv`, after a change of the paper's data or of what it
measures:

    python docs/make_paper.py virtualclock
    python docs/make_paper.py virtualclock diverse      # this experiment alone
    python docs/make_paper.py --data DIR axel           # with the recordings in this folder

After a change of claims alone nothing has to run: the figures that the page shows are judged again.

    python docs/make_paper.py --judge virtualclock
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import tidegate_papers as papers
from tidegate.show import NOTHING, plural
from tidegate.summary import Estimate
from tidegate_papers import directory
from tidegate_papers.claims import Claim
from tidegate_papers.paper import Experiment
from tidegate_papers.phrases import allowed, derived, expected, figure, label, measured, published

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "papers"
IMAGES = ROOT / "docs" / "images"

VERDICTS = {True: "yes", None: "undecided", False: "**no**"}

FIXED = ("figure", "paper", "derived", "measured", "tolerance", "holds")
"""Columns of a table of claims; what stands beside them was measured under other settings."""


@dataclass(frozen=True)
class Row:
    """A claim as a table shows it: what was measured is in words, as is what was measured beside it."""

    claim: Claim
    measured: str
    holds: bool | None
    beside: Mapping[str, str]


def rows(findings: list[papers.Finding]) -> list[Row]:
    """Return findings as a table shows them."""
    return [
        Row(one.claim, measured(one), one.holds, {name: figure(other) for name, other in one.beside.items()})
        for one in findings
    ]


def sections(report: papers.Report) -> dict[str, str]:
    """Return what stands between each pair of markers of the page."""
    findings = [(one.experiment, rows(list(one.findings))) for one in report.outcomes]
    return {
        "choices": choices(report.paper),
        **{outcome.experiment.name: claims(outcome) for outcome in report.outcomes},
        "verdict": verdict(findings),
    }


def choices(paper: papers.Paper) -> str:
    """Return the table of what the paper leaves open."""
    lines = [f"| {one.what} | {one.chosen} | {one.why} |" for one in paper.choices]
    return table(["open", "chosen", "why"], lines)


def claims(outcome: papers.Outcome) -> str:
    """Return an experiment's tables below what they are of."""
    experiment = outcome.experiment
    scenario = experiment.scenario.name
    folder = experiment.scenario.parent.name
    warmup = f" after {outcome.warmup:g} s of warm-up" if outcome.warmup else ""
    parts = [
        f"**{experiment.title}: {experiment.about}.** "
        f"{experiment.where[0].upper()}{experiment.where[1:]}; {plural(len(outcome.seeds), 'run')}, "
        f"{outcome.duration:g} s measured{warmup}.\n"
        f"Scenario: [`{scenario}`](../../papers/tidegate_papers/{folder}/{scenario}).\n"
    ]
    if outcome.listed:
        parts.append(listed(rows(outcome.listed)))
    parts += [cells(one, outcome) for one in experiment.tables]
    return "\n".join(parts)


def listed(shown: list[Row]) -> str:
    """Return a table with a row for each claim."""
    beside = list(dict.fromkeys(name for one in shown for name in one.beside))
    left_out = () if any(one.claim.derived is not None for one in shown) else ("derived",)
    header = [name for name in (*FIXED, *beside) if name not in left_out]
    lines = []
    for one in shown:
        known = {
            "figure": named(one.claim),
            "paper": published(one.claim),
            "derived": derived(one.claim),
            "measured": one.measured,
            "tolerance": allowed(one.claim),
            "holds": VERDICTS[one.holds] if one.claim.judged else "",
        } | one.beside
        lines.append(f"| {' | '.join(known.get(name, '') for name in header)} |")
    return table(header, lines)


def named(claim: Claim) -> str:
    """Return what a claim is of; a star alone would begin an emphasis."""
    return label(claim).replace("*", "\\*")


def cells(published_table: papers.Table, outcome: papers.Outcome) -> str:
    """Return a table of the paper, in each cell the published figure and ours."""
    lines = [
        f"| {' | '.join([row, *(cell(one) for one in findings)])} |"
        for row, findings in zip(published_table.rows, outcome.cells(published_table), strict=True)
    ]
    return table([published_table.heading, *published_table.columns], lines)


def cell(finding: papers.Finding) -> str:
    """Return the published figure, if there is one, and ours."""
    ours = figure(finding.measured)
    return ours if finding.claim.paper is None else f"{published(finding.claim)} → {ours}"


def verdict(findings: list[tuple[Experiment, list[Row]]]) -> str:
    """Return how many claims hold, and what does not with what we know about why.

    Experiments on request are not among them: `tidegate paper` carries them out only with `--all`.
    """
    judged = [
        (experiment.title, one)
        for experiment, shown in findings
        if not experiment.on_request
        for one in shown
        if one.claim.judged
    ]
    counts = {holds: sum(one.holds is holds for _, one in judged) for holds in VERDICTS}
    required = [one for _, one in judged if one.claim.required]
    broken = sum(one.holds is False for one in required)
    lines = [
        f"{len(judged)} claims: {counts[True]} hold, {counts[None]} are undecided, {counts[False]} "
        f"do not hold. {len(required)} of them are required, and {broken} of those do not hold.\n"
    ]
    reasons: dict[str, list[str]] = {}
    for title, one in judged:
        if one.holds is not True:
            unknown = (
                "we do not know why" if one.holds is False else "these runs differ too much to decide it"
            )
            reasons.setdefault(one.claim.why or unknown, []).append(
                f"{title}: {one.claim.name} {one.measured}, "
                f"{expected(one.claim)}{' (undecided)' if one.holds is None else ''}"
            )
    for why, names in reasons.items():
        lines.append(f"- {'; '.join(names)}.\n  *{why[0].upper()}{why[1:]}.*")
    return "\n".join(lines) + "\n"


def table(header: list[str], lines: list[str]) -> str:
    """Return a table in Markdown."""
    return "\n".join([f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *lines]) + "\n"


def fill(text: str, name: str, body: str) -> str:
    """Return `text` with `body` between the markers `name`."""
    filled = f"<!-- {name} -->\n{body}<!-- /{name} -->"
    return re.sub(rf"<!-- {name} -->\n.*?<!-- /{name} -->", lambda _: filled, text, flags=re.S)


def between(text: str, name: str) -> str:
    """Return what stands between the markers `name`."""
    return text.split(f"<!-- {name} -->\n", 1)[1].split(f"<!-- /{name} -->", 1)[0]


def judged_again(paper: papers.Paper, text: str) -> str:
    """Return the text of a paper's page with the figures that it shows judged by today's claims.

    Raises:
        ValueError: A claim has no row, or the rounding of its figures leaves its verdict open.
    """
    findings = []
    for experiment in paper.experiments:
        body = between(text, experiment.name)
        known = {line["figure"]: line for line in tables(body) if "holds" in line}
        shown = [read(one, known) for one in experiment.claims if named(one) in known or one.judged]
        again = re.sub(r"\| figure \|.*\n(\|.*\n)+", lambda _, shown=shown: listed(shown), body)
        text = fill(text, experiment.name, again)
        findings.append((experiment, shown))
    return fill(text, "verdict", verdict(findings))


def tables(body: str) -> Iterator[dict[str, str]]:
    """Yield the rows of all tables, each by the names of its columns."""
    header: list[str] = []
    for line in body.splitlines():
        if not line.startswith("|"):
            header = []
            continue
        inside = [one.strip() for one in line.strip("|").split("|")]
        if not header:
            header = inside
        elif not line.startswith("| ---"):
            yield dict(zip(header, inside, strict=True))


def read(claim: Claim, known: Mapping[str, Mapping[str, str]]) -> Row:
    """Return a claim with what its row shows, judged by it."""
    line = known.get(named(claim))
    if line is None:
        raise ValueError(f"{claim.name}: no figure on the page; run the paper")
    beside = {name: words for name, words in line.items() if name not in FIXED and words}
    before = {words: holds for holds, words in VERDICTS.items()}.get(line["holds"])
    possible = verdicts(claim, line["measured"])
    if len(possible) > 1 and before not in possible:
        raise ValueError(f"{claim.name}: its figures are rounded too much to judge it; run the paper")
    return Row(claim, line["measured"], before if before in possible else possible.pop(), beside)


def verdicts(claim: Claim, words: str) -> set[bool | None]:
    """Return every verdict that a claim may have, given a figure that is rounded as `figure` rounds it."""
    mean, _, rest = words.partition(" ± ")
    half, _, worst = rest.partition(", worst ")
    if mean == NOTHING or not claim.judged:
        return {None}
    if worst:
        return {claim.holds([value]) for value in ends(worst, digits=3)}
    middle = ends(mean, decimals=places(half)) if half and number(half) else ends(mean, digits=4)
    if claim.tolerance == 0:
        return {number(mean) == claim.reference and not number(half or "0")}
    if not half:
        return {None}
    widths = (
        (0.0, 1e-4) if half.startswith("<") else ends(half, decimals=places(half)) if number(half) else (0, 0)
    )
    low = middle[0] - widths[1], middle[1] - widths[0]
    high = middle[0] + widths[0], middle[1] + widths[1]
    return {
        claim.judge(Estimate((least + most) / 2, (most - least) / 2)) for least, most in product(low, high)
    }


def number(words: str) -> float:
    """Return a number as a table shows it."""
    return float(words.lstrip("<").replace(",", ""))


def places(words: str) -> int:
    """Return the decimals of a number in a table."""
    return len(words.partition(".")[2])


def ends(words: str, *, decimals: int | None = None, digits: int = 0) -> tuple[float, float]:
    """Return between what a number lies that is shown with some decimals or significant digits."""
    shown = number(words)
    if decimals is None:
        decimals = digits - 1 - int(f"{shown:e}".split("e")[1]) if shown else 99
    reach = 0.5 * 10.0**-decimals
    return shown - reach, shown + reach


def tell(share: float) -> None:
    """Print the share of the runs that is done."""
    print(f"\r{share:4.0%}", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Run the paper that is named, or some of its experiments, or none, and fill its page."""
    arguments = argparse.ArgumentParser(description="Writes a paper's figures into its page.")
    arguments.add_argument("--judge", action="store_true")
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("name")
    arguments.add_argument("only", nargs="*")
    given = arguments.parse_args()
    name, only, judge = given.name, given.only, given.judge
    paper = papers.load(name)
    page = PAGES / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    if not judge:
        report = papers.conduct(
            paper,
            replications=papers.FULL,
            everything=True,
            only=only,
            recordings=given.data,
            progress=tell,
        )
        for marker, body in sections(report).items():
            text = fill(text, marker, body)
        with tempfile.TemporaryDirectory() as place:
            written = directory.write(report, Path(place) / "report")
            for shown in re.findall(rf"images/{name}-([\w-]+\.png)", text):
                if (written / shown).exists():
                    (IMAGES / f"{name}-{shown}").write_bytes((written / shown).read_bytes())
    # The page knows the figures of experiments that this report left out.
    page.write_text(judged_again(paper, text), encoding="utf-8")


if __name__ == "__main__":
    main()
