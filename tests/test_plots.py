import math
import os
from pathlib import Path

import pytest

import tidegate
import tidegate_papers as papers
from conftest import CHAIN, call
from tidegate import plots
from tidegate.plots import numbers, style
from tidegate.summary import Estimate
from tidegate_papers import plots as paper_plots
from tidegate_papers import sweeps
from tidegate_papers.claims import Claim, Finding
from tidegate_papers.curves import Curve, Panel

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def results():
    return tidegate.simulate(CHAIN, replications=3, series=True)


@pytest.fixture(scope="module")
def single():
    return tidegate.simulate(CHAIN)


@pytest.fixture(scope="module")
def comparison():
    return tidegate.compare(CHAIN, ["fifo", "virtual-clock"], replications=3)


def test_a_figure_replaces_no_device_and_keeps_a_link(single, tmp_path):
    figure = plots.overview(single)
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    for place in ("/dev/null", tmp_path / "pipe.png", tmp_path / "folder.png"):
        with pytest.raises(tidegate.TidegateError, match="is not a regular file, so it is not overwritten"):
            plots.save(figure, place)
    assert Path("/dev/null").is_char_device()
    (tmp_path / "real.png").write_bytes(b"")
    (tmp_path / "link.png").symlink_to(tmp_path / "real.png")
    plots.save(figure, tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "real.png").read_bytes().startswith(PNG)


def test_a_figure_without_a_name_is_refused(single, tmp_path):
    done = call("plot", single.save(tmp_path / "run"), "--out", "")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "names no file for a figure" in done.stderr


def test_a_figure_of_identical_runs_says_so(still):
    same = tidegate.simulate(still, replications=3, series=True)
    assert style.runs(same) == "n = 3 identical, no interval"
    assert all(line.half_width is None for line in numbers.lines(same, "throughput", ["a"]).values())


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_bars_are_the_tables_figures(results):
    figure = plots.overview(results)
    groups = results.groups()
    assert [bar.get_width() * 1e3 for bar in figure.axes[0].patches] == pytest.approx(
        [one.throughput.mean for one in groups]
    )
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["voice", "data"]
    assert figure.axes[0].get_xlabel() == "throughput (kbit/s)"
    for one, error in zip(groups, figure.axes[0].collections, strict=True):
        (start, _), (end, _) = error.get_segments()[0]
        assert (end - start) * 1e3 / 2 == pytest.approx(one.throughput.half_width)


def test_points_are_the_comparisons_figures(comparison):
    figure = plots.comparison(comparison)
    throughput, p99, mean, lost = figure.axes[:4]
    assert throughput.get_title(loc="left") == "Throughput"
    for axes, metric, factor in (
        (throughput, "throughput", 1e-3),
        (p99, "delay_p99", 1),
        (mean, "delay_mean", 1),
        (lost, "lost", 100),
    ):
        for container in axes.containers:
            drawn = list(container.lines[0].get_xdata())
            rows = [
                comparison.row(group, metric).values[container.get_label()] for group in ("voice", "data")
            ]
            assert drawn == pytest.approx([one.mean * factor for one in rows])


def test_tails_are_the_histograms(results):
    tail = numbers.tail(results, "data")
    assert tail.packets == sum(
        row["count"]
        for row in results.histogram.to_pylist()
        if (row["group"], row["metric"]) == ("data", "delay")
    )
    assert tail.above[0] == 1
    assert tail.above[-1] == pytest.approx(0, abs=1e-12)
    assert all(tail.delay[:-1] < tail.delay[1:])
    # The 99 % quantile of a pooled single run is where the tail falls below 1 %.
    one = tidegate.simulate(CHAIN)
    tail = numbers.tail(one, "data")
    at = next(delay for delay, above in zip(tail.delay, tail.above, strict=True) if above <= 0.01 + 1e-12)
    data = next(group for group in one.groups() if group.group == "data")
    assert at == pytest.approx(data.delay_p99.mean, rel=2e-3)


def test_lines_are_means_over_replications(results):
    line = numbers.lines(results, "throughput", ["data"])["data"]
    data = next(group for group in results.groups() if group.group == "data")
    assert len(line.time) <= numbers.MAX_POINTS
    assert len(line.time) == len(line.mean) == len(line.half_width)
    # Unlike the throughput, the series holds packets that were sent before the warm-up ended.
    assert line.mean[line.time > 0.25].mean() == pytest.approx(data.throughput.mean, rel=0.05)
    assert numbers.lines(results, "throughput", ["nobody"]) == {}


def test_what_is_said_about_the_number_of_runs(results, single):
    assert "n = 3, 95 % intervals" in titles(plots.overview(results))[0]
    figure = plots.overview(single)
    assert "n = 1, no interval" in titles(figure)[0]
    assert len(figure.axes) == 2
    assert not figure.axes[0].collections
    foot = figure._supxlabel.get_text()
    for words in ("chain", single.scenario_hash[:8], "1 replication", tidegate.__version__):
        assert words in foot


def test_monitored_flows_have_their_leads_and_warnings(results):
    assert len(titles(plots.overview(results))) == 4
    source = tidegate.load(EXAMPLES / "calls.toml", [("duration", "60s")])
    monitored = tidegate.simulate(source, replications=2, series=True)
    figure = plots.overview(monitored)
    assert titles(figure)[4:] == [
        "VirtualClock ahead of real time: most of any flow",
        "Warnings over time (n = 2, 95 % intervals)",
    ]
    leads = numbers.lines(monitored, "lead", ["liar", "call"])
    assert leads["liar"].mean.max() > leads["call"].mean.max() > 0
    warned = sum(row["warnings"] for row in monitored.flows.to_pylist())
    warnings = [row for row in monitored.series.to_pylist() if row["metric"] == "warnings"]
    assert sum(row["value"] for row in warnings) == warned > 0


def test_figures_are_written_whole(results, comparison, tmp_path):
    for name, figure in {
        "overview.png": plots.overview(results),
        "comparison.png": plots.comparison(comparison, title="a < b & c"),
        "sub/dir/overview.svg": plots.overview(results, ["data"]),
    }.items():
        path = plots.save(figure, tmp_path / name)
        content = path.read_bytes()
        assert len(content) > 10_000
        assert content.startswith(PNG if name.endswith("png") else b"<?xml")
    with pytest.raises(tidegate.TidegateError, match="not as docx"):
        plots.save(figure, tmp_path / "a.docx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparison.png", "overview.png", "sub"]


def test_many_groups_are_cut_with_a_note():
    flow = CHAIN.partition("[[flow]]\nname")[0]
    flow += "".join(
        f'[[flow]]\nname = "flow-{k}"\nfrom = "s1"\nto = "s3"\nsize = "100B"\n'
        f'source = {{ kind = "poisson", rate = "10kbit" }}\n'
        for k in range(30)
    )
    many = tidegate.simulate(flow, series=True)
    figure = plots.overview(many)
    assert len(figure.axes[0].patches) == plots.MAX_GROUPS
    assert "the first 7 of 30 groups" in figure._supxlabel.get_text()
    twenty = [f"flow-{k}" for k in range(20)]
    assert len(plots.overview(many, twenty).axes[0].patches) == 20
    with pytest.raises(tidegate.TidegateError, match="a figure can show"):
        plots.overview(many, [f"flow-{k}" for k in range(30)])
    with pytest.raises(tidegate.TidegateError, match="did you mean `flow-3`"):
        plots.overview(many, ["flwo-3"])


def test_a_group_of_which_nothing_arrived(tmp_path):
    text = CHAIN.replace('size = "500B"', 'size = "500B"\nstart = "1999ms"')
    for figure in (
        plots.overview(tidegate.simulate(text, series=True)),
        plots.comparison(tidegate.compare(text, ["fifo", "virtual-clock"], replications=2)),
    ):
        assert plots.save(figure, tmp_path / "a.png").stat().st_size > 10_000


def test_ticks_are_times():
    assert [style.as_time(value) for value in (0.02, 1.0, 3e-6, 0.3)] == ["20 ms", "1 s", "3 µs", "300 ms"]
    assert style.scale([0.5, None, 1200.0], style.RATES) == (1e3, "kbit/s")
    assert style.scale([], style.RATES) == (1.0, "bit/s")
    assert math.isclose(style.scale([0.02], style.TIMES)[0], 1e-3)


def test_the_command(results, comparison, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    directory = results.save(tmp_path / "run")
    done = call("plot", directory)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "figure in run.png\n"
    assert (tmp_path / "run.png").read_bytes().startswith(PNG)
    for name, one in comparison.results.items():
        one.save(tmp_path / "both" / name)
    done = call("plot", tmp_path / "both", "--out", tmp_path / "both.png", "--groups", "voice")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "both.png").stat().st_size > 10_000
    done = call("plot", directory, "--groups", "vioce")
    assert done.exit_code == 1
    assert "did you mean `voice`" in done.stderr
    assert call("plot", tmp_path / "nothing").exit_code == 1


def panels(*slopes, quantity="queue (packets)"):
    of_panel = []
    for slope in slopes:
        lines = [Curve(name, (1, 2), [[slope], [2 * slope]]) for name in ("one", "same")]
        lines.append(Curve("other", (1, 2), [[slope], [3 * slope]]))
        of_panel.append(Panel("title", "time (s)", quantity, tuple(lines)))
    return of_panel


def drawn(of_panel):
    figure = style.new_figure(10, 4)
    axes = figure.subplots(1, len(of_panel), squeeze=False)[0]
    sweeps.draw(axes, of_panel)
    return axes


def test_panels_of_a_quantity_have_one_axis_unless_one_would_look_flat():
    near, far = drawn(panels(1.0, 3.0))
    assert near.get_ylim() == far.get_ylim()
    small, large = drawn(panels(1.0, 30.0))
    assert small.get_ylim()[1] < 5 < large.get_ylim()[1]
    queue, rate = drawn([*panels(1.0), *panels(3.0, quantity="rate (bit/s)")])
    assert queue.get_ylim() != rate.get_ylim()


def test_no_legend_is_over_lines_and_equal_lines_are_one():
    first, last = drawn(panels(1.0, 3.0))
    assert first.get_legend() is None
    last.figure.canvas.draw()
    assert last.get_legend().get_window_extent().x0 >= last.get_window_extent().x1
    assert [text.get_text() for text in last.get_legend().get_texts()] == ["one = same", "other"]


def test_a_figure_says_which_groups_it_leaves_out(results):
    assert "1 of 2 groups" in plots.overview(results, ["data"])._supxlabel.get_text()
    assert "groups" not in plots.overview(results, ["voice", "data"])._supxlabel.get_text()


def test_figures_without_a_published_number_have_a_panel_for_each_unit(tmp_path):
    paper = papers.load("axel")
    claims = [Claim("delay", "ms"), Claim("longest delay", "ms"), Claim("queue", "packets")]
    findings = tuple(Finding(claim, Estimate(3.0, 0.5), None, {}) for claim in claims)
    outcome = papers.Outcome(paper.experiments[0], findings, (1, 2), 1.0, 0.0, {}, {})
    figure = paper_plots.claims(outcome, papers.Report(paper, 2, (outcome,), 1.0, "0"))
    assert [axes.get_xlabel() for axes in figure.axes] == ["ms", "packets"]
    assert [len(axes.get_yticks()) for axes in figure.axes] == [2, 1]
    assert plots.save(figure, tmp_path / "alone.png").stat().st_size > 10_000
