"""Reports, without a browser: pages that need no other file, of each kind of directory."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tidegate
import tidegate_papers as papers
from conftest import CHAIN, call
from tidegate import TidegateError
from tidegate.comparison import Difference, Row
from tidegate.estimates import Estimate
from tidegate.reports import axes, blocks, comparison, libraries, output, page
from tidegate.show import signed, with_interval
from tidegate_papers import directory

VOID = {"meta", "link", "br", "img", "input", "hr", "path", "line", "use", "rect", "circle"}
MOST = 3_000_000
"""Bytes of a report, which is sent by mail."""

LOADS = {"src", "srcset", "action", "formaction", "poster", "data", "background"}
"""Attributes from which a browser loads something."""

NAMED = """\
# A call beside bulk </script><b>data</b>.
#
#     tidegate run it.toml
version = 1
name = "<script>alert(1)</script>"
duration = "1s"
topology = { kind = "chain", switches = 2, rate = "1mbit", delay = "1ms" }
switch = { buffer = "20p" }

[[flow]]
name = "data"
from = "s1"
to = "s2"
size = "500B"
source = { kind = "poisson", rate = "1200kbit" }
"""


COLUMN = "</script><img src=x onerror=alert(1)>&amp; $name @{said}"
"""A name of a column: any text."""


class Read(HTMLParser):
    """A page: its elements, whose tags are closed in order, and the text outside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read(path: Path) -> Read:
    """Read a report, and make sure that it is whole, small enough, and needs nothing else."""
    text = path.read_text(encoding="utf-8")
    assert 10_000 < len(text.encode()) < MOST
    found = Read(text)
    ids = [str(attributes["id"]) for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in found.elements:
        assert not LOADS & attributes.keys(), tag
        target = attributes.get("href") or attributes.get("xlink:href") or ""
        assert not target or target.startswith(("#", "data:")), target
        assert not target.startswith("#") or target[1:] in ids, target
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name, ids[0]) in ids
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert found.all("html") == [{"lang": "en"}]
    assert len(found.all("main")) == len(found.all("h1")) == 1
    for table in re.findall(r"<table>.*?</table>", text, re.DOTALL):
        assert "<caption>" in table
        assert '<th scope="row"' in table
        assert '<th scope="col"' in table
    assert list(path.parent.glob(f".{path.name}*")) == []
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a scenario's results."""
    return tidegate.simulate(CHAIN, replications=4, series=True).save(
        tmp_path_factory.mktemp("runs") / "chain"
    )


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tidegate.Comparison]:
    """The directory of a comparison, and what it found."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "chain.toml").write_text(CHAIN)
    done = call(
        *("compare", folder / "chain.toml", "--policy", "fifo,virtual-clock,drr", "--replications", 20),
        *("--out", folder / "out"),
    )
    assert done.exit_code == 0, done.stderr
    return folder / "out", tidegate.compare(CHAIN, ["fifo", "virtual-clock", "drr"], replications=20)


def test_the_report_of_runs_has_what_they_measured(runs: Path, tmp_path: Path) -> None:
    results = tidegate.Results.load(runs)
    found = read(tidegate.report(runs, tmp_path / "a" / "chain.html"))
    voice = results.groups["voice"]
    for figure, unit in ((voice.throughput, "bit/s"), (voice.delay_p99, "s")):
        # A line break stands before the interval in a table.
        assert with_interval(figure, unit) in found.text
    link = results.link_rows()["s1->s2"]
    assert (
        f"The busiest link, s1->s2, was sending for {with_interval(link.utilisation, 'share')}" in found.text
    )
    assert f"Results of 4 runs of 2 s, seeds 1 to 4, tidegate {tidegate.__version__}" in found.text
    for words in (
        "Groups of flows",
        "Links that carried packets",
        "2 idle links left out",
        "chain",
        CHAIN.split("\n")[3],
    ):
        assert words in found.text
    titles = re.findall(
        r'<figcaption id="chart-\d+-title">(.*?)</figcaption>', (tmp_path / "a" / "chain.html").read_text()
    )
    assert titles == [
        "Delay of the packets that arrived",
        "Throughput of groups",
        "Queues of the busiest links",
        "Utilisation of the busiest links",
    ]
    pressed = [one["data-parts"] for one in found.all("button") if one.get("aria-pressed") == "true"]
    assert len(pressed) == len(set(pressed)) >= 8


def test_a_curve_and_its_entry_have_the_same_parts(runs: Path, tmp_path: Path) -> None:
    text = tidegate.report(runs, tmp_path / "r.html").read_text()
    parts = {part for one in re.findall(r'data-parts="([^"]+)"', text) for part in one.split()}
    assert len(parts) > 8
    assert {part for part in parts if f'"name":"{part}"' not in text} == set()


def test_a_report_of_results_in_python_has_no_command(runs: Path, tmp_path: Path) -> None:
    found = read(tidegate.report(tidegate.Results.load(runs), tmp_path / "r.html"))
    assert "Made by tidegate" in found.text
    assert "Made at" not in found.text
    assert not [one for one in found.all("p") if one.get("class") == "command"]


def test_the_report_of_a_comparison_has_paired_differences(
    compared: tuple[Path, tidegate.Comparison], tmp_path: Path
) -> None:
    place, comparison = compared
    found = read(tidegate.report(place, tmp_path / "r.html"))
    for group in comparison.groups:
        row = comparison.row(group, "delay_p99")
        for name, difference in row.differences.items():
            assert with_interval(row.values[name], "s") in found.text
            assert f"Δ {signed(difference, 's')}{' *' if difference.excludes_zero else ''}" in found.text
    assert "Comparison of 3 policies or settings: 20 runs of 2 s each, seeds 1 to 20" in found.text
    assert "tidegate compare" not in found.text or "--policy fifo,virtual-clock,drr" in found.text
    assert "port.policy" in found.text
    # In the order that was asked for, as in Python.
    names = re.findall(r'<th scope="row" class="short">(.*?)</th>', (tmp_path / "r.html").read_text())
    assert names[:3] == ["fifo", "virtual-clock", "drr"]
    python = read(tidegate.report(comparison, tmp_path / "p.html"))
    assert (
        python.text.partition("In short")[2].partition("Contents")[0][:300]
        == (found.text.partition("In short")[2].partition("Contents")[0][:300])
    )


def test_directories_of_one_scenario_are_compared(tmp_path: Path) -> None:
    (tmp_path / "chain.toml").write_text(CHAIN)
    for buffer in ("5p", "50p"):
        done = call(
            *("run", tmp_path / "chain.toml", "--replications", 3, "--out", tmp_path / buffer),
            *("--set", f"switch.buffer={buffer}"),
        )
        assert done.exit_code == 0, done.stderr
    done = call("report", tmp_path / "5p", tmp_path / "50p", "-o", tmp_path / "both.html")
    assert (done.exit_code, done.stdout) == (0, f"report in {tmp_path / 'both.html'}\n")
    found = read(tmp_path / "both.html")
    assert "Settings of each column" in found.text
    results = {name: tidegate.Results.load(tmp_path / name) for name in ("5p", "50p")}
    lost = [
        results["50p"].group_figures()["data", 4]["lost"],
        results["5p"].group_figures()["data", 4]["lost"],
    ]
    mean = sum(a - b for a, b in zip(*lost, strict=True)) / 3  # type: ignore[operator]
    assert f"Δ {100 * mean:.3f}"[:7] in found.text
    other = tidegate.simulate(tmp_path / "chain.toml", replications=3, seed=2)
    with pytest.raises(TidegateError, match="seeds differ: 2 to 4, and 1 to 3"):
        tidegate.report({"one": results["5p"], "two": other}, tmp_path / "n.html")
    assert not (tmp_path / "n.html").exists()


def test_one_of_several_is_alone(runs: Path, tmp_path: Path) -> None:
    for of in ([runs], {"only": tidegate.Results.load(runs)}):
        assert "Results of 4 runs" in read(tidegate.report(of, tmp_path / "r.html")).text
    for nothing in ([], {}):
        with pytest.raises(TidegateError, match="at least one directory"):
            tidegate.report(nothing, tmp_path / "n.html")


@pytest.mark.parametrize("complete", [True, False])
def test_the_report_of_a_sweep_has_every_point(complete: bool, tmp_path: Path) -> None:
    (tmp_path / "chain.toml").write_text(CHAIN)
    done = call(
        *("sweep", tmp_path / "chain.toml", "--set", "port.policy=fifo,virtual-clock"),
        *("--set", "flow.data.count=1,2,3", "--replications", 2, "--out", tmp_path / "out"),
        *("--report", tmp_path / "now.html"),
    )
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith(f"report in {tmp_path / 'now.html'}\n")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["warnings"] == []
    manifest["complete"] = complete
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    found = read(tidegate.report(tmp_path / "out", tmp_path / "r.html"))
    assert "Sweep of 6 points, 12 runs from seed 1" in found.text
    assert ("not complete" in found.text) is not complete
    for one in tidegate.sweeps.summary(tidegate.sweeps.load(tmp_path / "out")).to_pylist():
        assert with_interval((one["delay_p99"], one["delay_p99_ci95"]), "s") in found.text
    if complete:
        of_now = read(tmp_path / "now.html").text
        assert of_now == re.sub(r"Made at [-\d]+ [:\d]+ UTC ", "", found.text)


def test_the_report_of_a_paper_has_every_verdict(tmp_path: Path) -> None:
    paper = papers.load("virtualclock")
    made = papers.conduct(paper, replications=2, only=["datagrams-alone", "late-burst"], jobs=1)
    place = directory.write(made, tmp_path / "claims", "tidegate paper virtualclock")
    found = read(tidegate.report(place, tmp_path / "r.html"))
    text = (tmp_path / "r.html").read_text()
    assert f"{len(made.findings)} claims: " in found.text
    words = {True: "✓ holds", None: "? undecided", False: "✗ does not hold"}
    for holds, verdict in words.items():
        cells = text.count(f'<td class="word">{verdict}</td>')
        assert cells == sum(one.holds is holds for one in made.findings)
    for outcome in made.outcomes:
        assert outcome.experiment.title in found.text
        for panel in outcome.panels:
            assert panel.title in found.text
    assert "tidegate paper virtualclock" in found.text
    (place / "curves.json").unlink()
    with pytest.raises(TidegateError, match="these claims cannot be read"):
        tidegate.report(place, tmp_path / "r.html")
    manifest = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps(manifest | {"format_version": 1}))
    with pytest.raises(
        TidegateError, match="claims of format 1, and this version of tidegate reads format 2"
    ):
        tidegate.report(place, tmp_path / "r.html")


def test_nothing_in_a_scenario_is_taken_for_html(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text(NAMED)
    done = call("run", tmp_path / "it.toml", "--replications", 2, "--report", tmp_path / "r.html")
    assert done.exit_code == 0, done.stderr
    found = read(tmp_path / "r.html")
    assert "A call beside bulk </script><b>data</b>." in found.text
    assert "<script>alert(1)</script>" in found.text
    results = tidegate.simulate(tmp_path / "it.toml", replications=2)
    found = read(tidegate.report({COLUMN: results, "b": results}, tmp_path / "both.html"))
    assert f"Utilisation is that under {COLUMN}." in found.text
    assert found.all("img") == found.all("b") == []
    # The library and its level of messages, the charts, and what the page itself does.
    assert len(found.all("script")) == 4


@pytest.mark.parametrize("words", [(), ("--out",)])
def test_a_report_is_written_straight_away(words: tuple[str, ...], chain: Path, tmp_path: Path) -> None:
    out = [one for word in words for one in (word, tmp_path / "out")]
    for command in (["run"], ["compare", "--policy", "fifo,drr"]):
        name, *rest = command
        report = tmp_path / f"{name}.html"
        place = [*out[:1], *(one / name for one in out[1:])]  # type: ignore[operator]
        done = call(name, chain, *rest, "--replications", 2, "--report", report, *place)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.endswith(f"report in {report}\n")
        now = read(report)
        assert ("Throughput of groups" if name == "run" else "Queue of s1->s2") in now.text
        if out:
            later = read(tidegate.report(tmp_path / "out" / name, tmp_path / "later.html"))
            assert re.sub(r"Made at [-\d]+ [:\d]+ UTC ", "", later.text) == now.text


def test_a_report_is_not_begun_that_cannot_be_written(endless: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for name, why in (("r.toml", "its name ends in .html"), ("folder.html", "not a regular file")):
        done = call("run", endless, "--report", tmp_path / name)
        assert (done.exit_code, done.stdout) == (1, "")
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_report_that_fails_leaves_the_earlier_one(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = tmp_path / "r.html"
    earlier.write_text("earlier")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(output.os, "fsync", full)
    with pytest.raises(TidegateError, match=r"r\.html: cannot be written: No space left on device"):
        tidegate.report(runs, earlier)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert earlier.read_text() == "earlier"


def damaged(kind: str, runs: Path, folder: Path) -> Path:
    """A directory that holds no whole results."""
    place = folder / "place"
    match kind:
        case "missing":
            return place
        case "file":
            place.write_text("x")
        case "empty":
            place.mkdir()
        case _:
            place.mkdir()
            for path in runs.iterdir():
                (place / path.name).write_bytes(path.read_bytes())
            if kind == "no manifest":
                (place / "manifest.json").unlink()
            elif kind == "half a manifest":
                (place / "manifest.json").write_text((place / "manifest.json").read_text()[:200])
            else:
                (place / "groups.parquet").unlink()
    return place


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("missing", "there is no such directory"),
        ("file", "it is a file"),
        ("empty", "holds no results of tidegate"),
        ("no manifest", "and no manifest.json, which is written last"),
        ("half a manifest", "whose manifest.json cannot be read"),
        ("no table", "these results cannot be read"),
    ],
)
def test_what_holds_no_results_gets_one_message(kind: str, why: str, runs: Path, tmp_path: Path) -> None:
    place = damaged(kind, runs, tmp_path)
    done = call("report", place, "-o", tmp_path / "r.html")
    assert (done.exit_code, done.stdout) == (1, "")
    assert str(place) in done.stderr
    assert why in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert not (tmp_path / "r.html").exists()


def test_directories_that_do_not_match_get_one_message(
    runs: Path, compared: tuple[Path, Any], tmp_path: Path
) -> None:
    other = tidegate.simulate(NAMED, replications=4).save(tmp_path / "other")
    for places, why in (
        ((runs, other), "because their scenarios differ"),
        ((runs, compared[0]), "holds no results of one run"),
    ):
        done = call("report", *places, "-o", tmp_path / "r.html")
        assert (done.exit_code, done.stdout) == (1, "")
        assert why in done.stderr
    done = call("report", runs, other)
    assert (done.exit_code, "needs the name of its file" in done.stderr) == (1, True)
    assert not (tmp_path / "r.html").exists()


def test_a_missing_library_is_named_with_the_command_that_installs_it(
    runs: Path, endless: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "NEEDED", ("json", "no_such_library"))
    for words in (("report", runs, "-o"), ("run", endless, "--report")):
        done = call(*words, tmp_path / "r.html")
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == (
            "tidegate: reports need no_such_library, not installed here: pip install 'tidegate[report]'\n"
        )


def test_the_libraries_are_imported_when_a_report_is_written() -> None:
    program = (
        "import sys, tidegate.reports.page, tidegate.reports.paper, tidegate.reports.sweep\n"
        "print(sorted({'bokeh', 'jinja2', 'matplotlib.figure'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_network_that_cannot_be_drawn_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "times.txt").write_text("0.1 500\n0.2 500\n")
    text = CHAIN.replace(
        'size = "160B"\nsource = { kind = "cbr", rate = "64kbit" }',
        'source = { kind = "trace", file = "times.txt" }',
    )
    (tmp_path / "it.toml").write_text(text)
    place = tidegate.simulate(tmp_path / "it.toml").save(tmp_path / "out")
    assert read(tidegate.report(place, tmp_path / "r.html")).all("svg")
    (tmp_path / "times.txt").unlink()
    found = read(tidegate.report(place, tmp_path / "r.html"))
    assert "The network is not drawn: " in found.text


def test_identical_runs_have_no_interval(still: Path, tmp_path: Path) -> None:
    results = tidegate.simulate(still, replications=3, series=True)
    found = read(tidegate.report(results, tmp_path / "r.html"))
    assert "3 runs, all identical" in found.text
    assert "±" not in found.text


def test_a_page_without_charts_has_no_script() -> None:
    plain = blocks.Page("t", "k", None, [], ["f"], [("a", "b")], [blocks.Section("S", [blocks.Code("x  y")])])
    text = page.html(plain)
    assert "<script" not in text
    assert ">x  y</pre>" in text


def test_many_curves_differ_in_colour_or_dash() -> None:
    curves = [blocks.Curve(str(number), [0, 1], [0, number], ["", ""]) for number in range(20)]
    section = blocks.Section("S", [blocks.Chart("many", "x", "y", curves)])
    text = page.html(blocks.Page("t", "k", None, [], [], [], [section]))
    looks = re.findall(r'stroke="(#\w+)" stroke-width="3"( stroke-dasharray="[\d ]+")?', text)
    assert len(looks) == len(set(looks)) == 20


@pytest.mark.parametrize(("log", "least"), [(False, None), (False, 0.0), (True, None), (True, 0.5)])
@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [3.0], [100.0, 1e5], [0.6, 0.6]])
@pytest.mark.parametrize("half", [0.0, 0.1, 50.0, 1e9])
def test_an_axis_has_all_points_and_the_intervals_that_are_near(
    log: bool, least: float | None, values: list[float], half: float
) -> None:
    band = blocks.Band([one - half for one in values], [one + half for one in values])
    curve = blocks.Curve("c", range(len(values)), values, [""] * len(values), band)
    chart = blocks.Chart("t", "x", "y", [curve], log_y=log, least_y=least)
    _, found = axes.ends(chart)
    assert found is not None
    start, end = found
    low, high = min(values), max(values)
    assert start <= low
    assert high < end
    assert start == least if least is not None else start < low
    if log:
        assert start > 0
        assert end < 100 * high
    else:
        assert end <= high + 0.8 * max(high, high - low) + 1
        if half == 0.1:
            assert end > high + half


def row(differences: dict[str, tuple[float, float | None]], metric: str) -> Row:
    """A row of a comparison with `a`, whose mean is 10."""
    values = {"a": Estimate(10.0, 1.0)}
    values |= {name: Estimate(10.0 + mean, half) for name, (mean, half) in differences.items()}
    changes = {name: Difference(*one) for name, one in differences.items()}
    return Row("g", metric, "s" if metric == "delay_p99" else "bit/s", values, changes)


@pytest.mark.parametrize(
    ("differences", "delay", "throughput"),
    [
        ({"b": (-4, 1), "c": (-6, 1)}, "shortest under c, 4.000 s", "highest under a, 10.00 bit/s"),
        ({"b": (4, 1), "c": (6, 1)}, "longest under c, 16.00 s", "highest under c, 16.00 bit/s"),
        ({"b": (-4, 5), "c": (-3, 1)}, "shortest under c, 7.000 s", "lowest under c, 7.000 bit/s"),
        ({"b": (-4, 5), "c": (4, 5)}, None, None),
        ({"b": (-4, None), "c": (1, None)}, "shortest under b, 6.000 s", "highest under c, 11.00 bit/s"),
        ({"b": (0, None)}, "10.00 s ± 1.00 under each", "10.00 bit/s ± 1.00 under each"),
    ],
)
def test_a_sentence_names_the_best_of_the_differences_that_are_certain(
    differences: dict[str, tuple[float, float | None]], delay: str | None, throughput: str | None
) -> None:
    for metric, said in (("delay_p99", delay), ("throughput", throughput)):
        found = comparison.best(row(differences, metric), metric)
        assert (found is None) if said is None else (found is not None and said in found)
