"""The table of the five papers holds every item of theirs, and what it names is in the tree."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import tidegate_papers as papers

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "papers" / "README.md"
CONTENTS = tomllib.loads((PAGE.parent / "contents.toml").read_text(encoding="utf-8"))

LINK = re.compile(r"\[`?([^]`]+)`?\]\(([^)]+)\)")
NUMBERED = re.compile(r"(Figure|Table|Equation):? \(?([^:)]+)\)?(?::|$)")
CITATION = re.compile(r"^[ \t]*(?://|# )= (\w+) (\S+)$", re.MULTILINE)
CITED = ("crates/*/src/**/*.rs", "python/**/*.py", "papers/**/*.py")
ABSENT = re.compile(r"\*\*(missing|out of scope)\*\*: \w")


class Row(NamedTuple):
    """A row of the table of a paper."""

    paper: str
    section: str
    item: str
    where: str
    held: str

    def links(self) -> list[tuple[str, Path]]:
        """Return the labels and the files that it links."""
        found = LINK.findall(f"{self.where} {self.held}")
        return [(label, (PAGE.parent / link.partition("#")[0]).resolve()) for label, link in found]

    def experiments(self) -> list[tuple[str, str]]:
        """Return the experiments that hold it, each behind the name of its paper."""
        found = [one.split() for one in re.findall("`([^`]+)`", LINK.sub("", self.held))]
        return [(one[0] if len(one) == 2 else CONTENTS[self.paper]["name"], one[-1]) for one in found]

    def sources(self) -> list[str]:
        """Return the source files that it names, from the root of the repository."""
        paths = [path.relative_to(ROOT) for _, path in Row.links(self._replace(held=""))]
        return [path.as_posix() for path in paths if path.suffix in (".rs", ".py")]


def rows() -> list[Row]:
    """Read the page's tables."""
    found, paper = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line.split("`")[1]
        elif line.startswith("| ") and not line.startswith(("| section ", "| --- ")):
            found.append(Row(paper, *(cell.strip() for cell in line.strip("|").split(" | "))))
    return found


ROWS = rows()


@pytest.mark.parametrize("paper", CONTENTS)
def test_every_figure_table_and_equation_has_one_row(paper: str) -> None:
    contents = CONTENTS[paper]
    items = [NUMBERED.match(row.item) for row in ROWS if row.paper == paper]
    found = Counter((match[1], match[2].strip()) for match in items if match)
    numbers = {"Figure": contents["figures"], "Equation": contents["equations"]}
    expected = {(kind, str(one + 1)) for kind, most in numbers.items() for one in range(most)}
    assert found == Counter(expected | {("Table", one) for one in contents["tables"]})


@pytest.mark.parametrize("paper", CONTENTS)
def test_every_section_has_a_row_and_rows_are_in_their_order(paper: str) -> None:
    sections = [row.section for row in ROWS if row.paper == paper]
    assert list(dict.fromkeys(sections)) == CONTENTS[paper]["sections"]
    assert sections == sorted(sections, key=CONTENTS[paper]["sections"].index)


def test_no_row_stands_twice() -> None:
    doubled = {one: times for one, times in Counter(row[:3] for row in ROWS).items() if times > 1}
    assert not doubled
    assert len(ROWS) > 250


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper} {row.section} {row.item}")
def test_a_row_has_a_place_and_is_held_or_says_why_not(row: Row) -> None:
    if row.where.startswith("**"):
        assert ABSENT.match(row.where)
        assert row.held == "-"
        return
    assert LINK.search(row.where)
    assert LINK.search(row.held) or row.experiments()


def test_every_test_that_is_named_is_in_its_file() -> None:
    named = [(name, path) for row in ROWS for name, path in Row.links(row._replace(where=""))]
    assert len(named) > 100
    for name, path in named:
        text = path.read_text(encoding="utf-8")
        assert re.search(rf"\b(fn|def) {name}\b", text), f"{name} is not in {path}"


def test_the_experiments_that_are_named_are_all_there_are() -> None:
    named = {one for row in ROWS for one in row.experiments()}
    known = {(name, one.name) for name in papers.names() for one in papers.load(name).experiments}
    assert named == known


@pytest.mark.parametrize("paper", CONTENTS)
def test_an_experiment_stands_under_its_section(paper: str) -> None:
    name, titles = CONTENTS[paper]["name"], CONTENTS[paper].get("titles", {})
    for experiment in papers.load(name).experiments:
        stated = [titles.get(one, one) for one in experiment.section.split(", ")]
        rows_of = [row for row in ROWS if (name, experiment.name) in row.experiments()]
        under = {row.section for row in rows_of if row.paper == paper}
        related = [
            (one, other)
            for one in stated
            for other in under
            if f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
        ]
        assert related, f"{experiment.name}: {stated}, {under}"


def test_sources_cite_the_sections_of_the_rows_that_name_them() -> None:
    named = {(row.paper, row.section, source) for row in ROWS for source in row.sources()}
    cited = {
        (*citation, path.relative_to(ROOT).as_posix())
        for pattern in CITED
        for path in ROOT.glob(pattern)
        for citation in CITATION.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 50
    assert not named - cited, "named by a row, without a citation"
    assert not cited - named, "cited, and named by no row of that section"


def test_a_citation_stands_directly_above_its_rule() -> None:
    for pattern in CITED:
        for path in ROOT.glob(pattern):
            text = path.read_text(encoding="utf-8")
            for match in CITATION.finditer(text):
                below = text[match.end() + 1 :].partition("\n")[0].strip()
                assert below, f"{match[0].strip()} in {path}"
                is_code = not below.startswith(("//", "# "))
                assert is_code or CITATION.match(below), f"{match[0].strip()} in {path}"
