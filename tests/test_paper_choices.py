"""The design choices of papers, shown: what short runs of their experiments say, and how it is measured."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import tidegate_papers as papers
from tidegate import replications as runs
from tidegate.plots import save
from tidegate.source import resolve
from tidegate_papers import measures, plots
from tidegate_papers.claims import MAIN
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.virtualclock import datagrams, late_burst, noticed, offenders, random_walk, spectrum
from tidegate_papers.virtualclock.datagrams import LINKS


@pytest.fixture(scope="module")
def experiments():
    return {one.name: one for one in papers.load("virtualclock").experiments}


@pytest.fixture(scope="module")
def run(experiments):
    """Run settings of an experiment for a short time, twice."""

    def settings(name, *wanted, sets=()):
        measure = experiments[name].measure
        return {
            setting: runs.run(
                resolve(experiments[name].scenario, (*measure.settings[setting], *sets)),
                replications=2,
                series=measure.series,
            )
            for setting in wanted or measure.settings
        }

    return settings


def fake_series(monkeypatch, **metrics):
    """Let samples of each metric be these, and return results of that length in seconds."""
    monkeypatch.setattr(
        measures, "samples", lambda _, __, metric: [np.array(run, dtype=float) for run in metrics[metric]]
    )
    (samples, *_) = metrics.values()
    return SimpleNamespace(duration=float(len(samples[0])), warmup=0.0)


def test_a_random_walk_grows_with_the_root_of_time(monkeypatch):
    time = np.arange(1, 1001)
    results = fake_series(monkeypatch, lead=[np.sqrt(time), 3 * time, np.zeros(1000)])
    assert random_walk.growth(results, "x") == [pytest.approx(0.5), pytest.approx(1.0), None]


def test_checks_are_counted_by_what_was_received(monkeypatch):
    # 50 packets of 250 bytes in a second are one check.
    rate = [50 * 8 * 250] * 4
    results = fake_series(monkeypatch, throughput=[rate, [0.0] * 4], warnings=[[0, 0, 1, 0], [0, 0, 0, 0]])
    assert random_walk.warned(results, "x", 2) == [[0.0, None], [50.0, None]]


def test_an_envelope_ends_the_random_walk(run, experiments):
    walks = run("random-walk", "T = 1 AI", "T = 1 AI, with envelope", sets=[("duration", "20min")])
    for group in random_walk.SOURCES.values():
        free, bound = (random_walk.warned(results, group, 2)[-1] for results in walks.values())
        assert min(free) > 5.0
        assert bound == [0.0, 0.0]
    assert len(experiments["random-walk"].scenarios()) == 2 * len(random_walk.THRESHOLDS)


def test_the_first_warning_is_counted_from_the_first_packet(monkeypatch):
    throughput = [[0, 5, 5, 5], [5, 5, 5, 5]]
    warnings = [[0, 0, 0, 2], [0, 0, 0, 0]]
    assert noticed.noticed(fake_series(monkeypatch, throughput=throughput, warnings=warnings), "x") == [
        2,
        None,
    ]


def test_a_five_fold_sender_is_noticed_sooner_by_count(run):
    found = run("noticed", sets=[("duration", "12s")])
    by_count, by_time = (noticed.noticed(results, "long-500") for results in found.values())
    assert all(count < 5.5 for count in by_count)
    assert all(10 <= time < 11 for time in by_time)


def test_a_late_burst_stamped_by_auxvc_spares_the_others(run):
    figures = late_burst.LATE_BURST.figures(run("late-burst", sets=[("duration", "60s")]), {})
    assert min(figures[MAIN]["spared others, mean"]) > 30.0
    assert max(figures["no bursts"]["others, mean"]) < min(figures[MAIN]["others, mean"])
    assert figures["no bursts"]["bursts, mean"] == [None, None]


def test_the_shares_above_a_delay_are_those_of_the_histogram(run):
    results = run("late-burst", MAIN, sets=[("duration", "40s")])[MAIN]
    shares = measures.queueing_above(results, "others", [-1.0, 0.05, 1e3])
    assert shares[0] == [1.0, 1.0]
    assert shares[2] == [0.0, 0.0]
    quantile = max(measures.queueing_p99(results, "others"))
    assert all(value <= 0.011 for value in measures.queueing_above(results, "others", [quantile])[0])
    assert all(0.0 < value < 1.0 for value in shares[1])


def test_the_knob_is_test_one_where_its_interval_is(run, experiments):
    short = [("duration", "40s")]
    (knob,) = run("spectrum", "AI = 1.2 s", sets=short).values()
    (one,) = run("test-one", MAIN, sets=short).values()
    rows, others = (next(measures.flows(results, measures.everything)) for results in (knob, one))
    assert [row["queueing_mean"] for row in rows] == [row["queueing_mean"] for row in others]
    assert spectrum.INTERVALS[-1] == experiments["spectrum"].scenarios()["FIFO"].duration - 30


def test_offenders_suffer_and_the_others_do_not(run):
    figures = offenders.OFFENDERS.figures(run("offenders", sets=[("duration", "80s")]), {})[MAIN]
    assert figures["losses of normal flows"] == [0, 0]
    assert max(figures["throughput of a normal flow changed"]) < 1.0
    assert min(figures["lost, 5 times, over 3 times"]) > 50.0


def test_datagrams_get_what_is_left_and_cost_less_than_a_packet_time_on_average(run):
    shorter = [(f"flow.{path}.stop", "22s") for path in datagrams.PATHS]
    found = run("datagrams", MAIN, datagrams.without(MAIN), sets=[("duration", "30s"), *shorter])
    figures = datagrams.cost(*found.values())
    assert figures["reserved flows that sent otherwise"] == [0, 0]
    assert figures["losses of reserved flows"] == [0, 0]
    assert figures["throughput changed, worst flow"] == [0.0, 0.0]
    assert min(figures["losses of datagrams"]) > 1000
    assert all(abs(beyond) <= 1 for beyond in figures["datagrams beyond what was left"])
    assert all(0.0 < added < 5.0 for added in figures["added a hop, all packets"])


def test_a_packet_may_wait_for_a_whole_burst_because_of_one_datagram(tmp_path):
    """Why a single flow can lose more than a packet time, though packets on average do not.

    The second packet of `slow` is stamped 2 s. Alone it is sent at 6 ms; behind a datagram that
    began at 0 it would be sent at 10 ms, and by then `burst` has brought ten packets with stamps of
    up to 0.11 s.
    """
    flows = []
    for name, packets, start, reserve in (
        ("slow", 2, "1ms", 'reserve = "2kbit", '),
        ("burst", 10, "8ms", 'reserve = "200kbit", '),
        ("datagram", 1, "0s", ""),
    ):
        (tmp_path / f"{name}.txt").write_text("0 250\n" * packets)
        source = f'source = {{ kind = "trace", file = "{name}.txt" }}'
        flows.append(f'{{ name = "{name}", from = "s1", to = "s2", start = "{start}", {reserve}{source} }},')
    (tmp_path / "scenario.toml").write_text(f"""
        version = 1
        duration = "1s"
        topology = {{ kind = "chain", switches = 2, rate = "400kbit" }}
        port = {{ scheduler = "virtual-clock" }}
        flow = [{"".join(flows)}]
    """)
    longest = [
        runs.run(resolve(tmp_path / "scenario.toml", sets)).flows["queueing_max"][0].as_py()
        for sets in ([("flow.datagram.start", "1h")], [])
    ]
    assert longest == [pytest.approx(0.005), pytest.approx(0.059)]


def test_flows_cross_the_links_between_their_hosts():
    crossed = {
        (first, last): [
            link for link in LINKS if datagrams.crosses({"from": f"h{first}", "to": f"h{last}"}, link)
        ]
        for first, last in ((1, 2), (3, 1), (1, 4), (4, 3))
    }
    assert crossed == {
        (1, 2): ["1-2"],
        (3, 1): ["2-1", "3-2"],
        (1, 4): ["1-2", "2-3", "3-4"],
        (4, 3): ["4-3"],
    }


def test_datagrams_alone_are_served_as_by_fifo(run):
    figures = datagrams.ALONE.figures(run("datagrams-alone", sets=[("duration", "10s")]), {})[MAIN]
    assert figures["outcomes that differ from FIFO's"] == [0, 0]
    assert min(figures["losses"]) > 0


@pytest.mark.parametrize("log", [False, True])
def test_curves_are_drawn_whatever_was_measured(experiments, tmp_path, log):
    panel = Panel(
        "title",
        "x",
        "y",
        (
            Curve("sweep", (1, 10, 100), [[1.0, 2.0], [0.0, 0.0], [None, None]]),
            Curve("distribution", (1, 10), [[0.5], [1e-7]], points=False),
            Curve("nothing", (1,), [[None]]),
        ),
        log_x=log,
        log_y=log,
        levels=(Level(50.0, "far above"), Level(0.1, "right", right=True)),
        least=1e-6 if log else None,
    )
    outcome = papers.Outcome(experiments["noticed"], (), (1,), 1.0, 0.0, {}, {}, (panel, panel))
    report = papers.Report(dataclasses.replace(papers.load("virtualclock")), 1, (outcome,), 1.0, "0")
    figure = plots.curves(outcome, report)
    assert [line.get_label() for line in figure.axes[0].get_lines() if line.get_label()[:1] != "_"] == [
        "sweep",
        "distribution",
    ]
    assert save(figure, tmp_path / "curves.png").stat().st_size > 10_000
