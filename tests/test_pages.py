"""Links of the README and of the pages lead somewhere, and quoted commands exist with their options."""

import re
import runpy
import shlex
from pathlib import Path

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
    pictures = {path.resolve() for path in (ROOT / "docs" / "images").iterdir()}
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


def test_the_readme_has_the_peers_and_bars_of_the_benchmarks() -> None:
    report = runpy.run_path(str(ROOT / "benches" / "report.py"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("<!-- bench -->")[2].partition("<!-- /bench -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    for peer in report["PEERS"]:
        assert [one for one in rows if tuple(one[:3]) == peer], peer
    for scheduler, bar in report["BARS"].items():
        assert [one for one in rows if report["TITLES"][scheduler] in one[0] and one[-1] == str(bar)], (
            scheduler
        )
