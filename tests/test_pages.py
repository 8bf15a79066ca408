"""Links of the README and of the pages lead somewhere, and quoted commands exist with their options."""

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from conftest import start
from tidegate.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"^[$#] (tidegate .*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_reached_from_the_readme() -> None:
    found = [ROOT / "README.md"]
    for page in found:
        links = [link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))]
        pages = [(page.parent / link).resolve() for link in links if link.endswith(".md")]
        found += [page for page in dict.fromkeys(pages) if page not in found]
    assert not {page.resolve() for page in PAGES} - {page.resolve() for page in found}


def test_every_picture_is_on_a_page() -> None:
    shown = {
        (page.parent / link).resolve() for page in PAGES for link in LINK.findall(page.read_text("utf-8"))
    }
    pictures = {path.resolve() for path in (ROOT / "docs" / "images").rglob("*.png")}
    assert pictures
    assert not pictures - shown


def quoted(page: Path) -> list[list[str]]:
    """Return the words of the `tidegate` commands that a page shows, without what a shell does with them."""
    found = []
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for line in QUOTED.findall(block):
            words = shlex.split(line, comments=True)
            ends = [words.index(one) for one in ("|", ">", "&") if one in words]
            found.append(words[1 : min(ends, default=len(words))])
    return found


def parse(words: list[str]) -> None:
    """Read a command without carrying it out.

    Raises:
        Exception: It does not exist, or has no such option.
    """
    if words[0] == "gate":
        # The gate reads its own options.
        known, _ = start("gate", words[1], "--help").communicate()
        assert not [one for one in words[2:] if one.startswith("--") and f"{one} " not in f"{known} "], words
        return
    group = typer.main.get_command(app)
    context = group.make_context("tidegate", words)
    while hasattr(group, "commands"):
        name, group, words = group.resolve_command(context, words)
        context = group.make_context(name, list(words), parent=context)


def test_every_quoted_command_exists() -> None:
    commands = [words for page in PAGES for words in quoted(page)]
    assert len(commands) > 40
    for words in commands:
        parse(words)
        files = [one for one in words if one.startswith("examples/")]
        assert all((ROOT / one).exists() for one in files), words
    with pytest.raises(Exception, match="No such option"):
        parse(["run", "examples/ten-lines.toml", "--replicate", "3"])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The program that measures the tables of benchmarks."""
    monkeypatch.syspath_prepend(ROOT / "benches")
    return runpy.run_path(str(ROOT / "benches" / "report.py"))


def benchmark_tables() -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of the two tables of benchmarks, without their headings."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    tables = text.partition("<!-- bench -->\n")[2].partition("\n<!-- /bench -->")[0].split("\n\n")
    rows = [[[cell.strip() for cell in line[1:-1].split("|")] for line in one.splitlines()] for one in tables]
    (chain, others) = (one[2:] for one in rows)
    return chain, others


def test_the_peers_have_the_chain_of_our_rows_beside_them(bench: dict[str, Any]) -> None:
    chain, _ = benchmark_tables()
    ours = [row for row in chain if "tidegate" in row[0]]
    assert [row[:2] for row in ours] == [
        ["**tidegate, FIFO**", "none"],
        ["**tidegate, VirtualClock**", "none"],
        ["**tidegate, FIFO**", "1 ms"],
        ["**tidegate, VirtualClock**", "1 ms"],
    ]
    peers = chain[len(ours) :]
    expected = [bench["of_chain"](one[0], ("", 1), *one[1:]) for one in bench["bars"].PEERS]
    assert peers == expected
    assert {row[1] for row in peers} == {"1 ms"}
    # The machine and the day.
    assert all(re.search(r"\d+ \w+ 20\d\d, \d+ cores of ", row[-1]) for row in chain), chain
    # A delay costs instructions: a row that was measured without it would show.
    costs = [float(row[3].replace(",", "")) for row in ours]
    assert costs[0] < costs[2]
    assert costs[1] < costs[3]


def test_a_bar_says_which_way_it_goes_and_whether_it_is_met(bench: dict[str, Any]) -> None:
    chain, others = benchmark_tables()
    for scheduler, title in bench["TITLES"].items():
        row = next(one for one in chain if title in one[0] and one[1] == "none")
        assert row[4] == bench["bars"].CHAIN[scheduler, 0].cell(float(row[3].replace(",", "")))
    marked = 0
    base = 0.0
    for what, measured, bar in others:
        figure = float(re.match(r"[\d.,]+", measured)[0].replace(",", ""))
        if not bar:
            base = figure  # A ratio's first row has no bar, and stands above those that have one.
            continue
        said = re.fullmatch(r"at (most|least) ([\d.,]*\d)( .*?)?(, \*\*not met\*\*)?", bar)
        assert said, bar
        limit = float(said[2].replace(",", ""))
        if "times that of" in bar:
            figure /= base
        # The two digits of a ratio are rounded, and a limit may be exactly there.
        if figure != limit:
            met = figure < limit if said[1] == "most" else figure > limit
            assert met is (said[4] is None), (what, measured, bar)
        marked += said[4] is not None
    assert any(" of a heap" in measured for _, measured, _ in others)
    assert marked == sum("**not met**" in bar for *_, bar in others)


def test_a_limit_is_kept_on_its_side(bench: dict[str, Any]) -> None:
    bar = bench["bars"].Bar
    assert bar(700).cell(700) == "at most 700"
    assert bar(1_000, of=" ns").cell(1_000.1) == "at most 1,000 ns, **not met**"
    assert bar(2, at_least=True).cell(2.5) == "at least 2"
    assert bar(2, at_least=True).cell(1.9) == "at least 2, **not met**"
