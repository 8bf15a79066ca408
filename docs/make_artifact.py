"""Writes the table of a paper's artifact page, docs/papers/NAME-artifact.md.

    python docs/make_artifact.py NAME [EXPERIMENT ...]

It carries out these experiments, without one those of `tidegate paper NAME`, one run after the other. The
processor times are theirs; other experiments keep the time on the page.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import tidegate_papers as papers

PAGES = Path(__file__).parent / "papers"
UNKNOWN = "-"
ROW = re.compile(r"^\|.*\| `tidegate paper \S+ (\S+)` \|.*\| (\S+) \|$", re.MULTILINE)


def times(text: str) -> dict[str, str]:
    """Return the processor times on a page, by experiment."""
    return dict(ROW.findall(text))


def table(paper: papers.Paper, known: Mapping[str, str]) -> str:
    """Return the rows of a paper's experiments, with their known processor times in s."""
    lines = ["| in the paper | command | what it prints | CPU s |", "| --- | --- | --- | --- |"]
    for one in paper.experiments:
        required = sum(claim.required for claim in one.claims)
        claims = f"{len(one.claims)} figures" + (f", {required} of them required" if required else "")
        words = f"| {one.where}: {one.title} | `tidegate paper {paper.name} {one.name}` "
        lines.append(f"{words}| {one.about}; {claims} | {known.get(one.name, UNKNOWN)} |")
    return "\n".join(lines) + "\n"


def fill(text: str, body: str) -> str:
    """Return a page with another table."""
    begin, rest = text.split("<!-- experiments -->\n")
    return f"{begin}<!-- experiments -->\n{body}<!-- /experiments -->{rest.split('<!-- /experiments -->')[1]}"


def main() -> None:
    """Fill the page of the paper that is named."""
    name, *experiments = sys.argv[1:]
    page = PAGES / f"{name}-artifact.md"
    paper = papers.load(name)
    report = papers.conduct(paper, only=experiments, jobs=1)
    measured = {one.experiment.name: f"{one.cpu_seconds:.1f}" for one in report.outcomes}
    text = page.read_text(encoding="utf-8")
    page.write_text(fill(text, table(paper, times(text) | measured)), encoding="utf-8")


if __name__ == "__main__":
    main()
