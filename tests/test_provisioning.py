"""Usage records and in-traffic against capacity: tables, summaries, the command, figures."""

import json

import pytest

import tidegate
from conftest import call
from tidegate import plots

METERED = """\
version = 1
name = "metered"
duration = "12s"
warmup = "2s"
host = { meter = "srtcm" }
port = { dropper = { kind = "drop-tail", limit = "40p" } }
topology = { kind = "dumbbell", pairs = 3, rate = "2mbit", access = { rate = "10mbit" } }

[[profile]]
name = "two"
reserve = "1200kbit"
workahead = "6kB"

[[flow]]
name = "own"
count = 2
from = "l1"
to = "r1"
size = "500B"
reserve = "300kbit"
workahead = "3kB"
excess_burst = "2kB"
source = { kind = "poisson", rate = "350kbit" }

[[flow]]
name = "shares"
count = 2
profile = "two"
from = "l2"
to = "r2"
size = "1kB"
source = { kind = "poisson", rate = "1mbit" }

[[flow]]
name = "nobody"
from = "l3"
to = "r3"
size = "1kB"
source = { kind = "poisson", rate = "100kbit" }
"""


@pytest.fixture(scope="module")
def metered(tmp_path_factory):
    path = tmp_path_factory.mktemp("metered") / "metered.toml"
    path.write_text(METERED)
    return path


@pytest.fixture(scope="module")
def results(metered):
    return tidegate.simulate(metered, replications=3, series=True)


def test_a_record_is_the_sum_of_what_was_sent(results):
    rows = results.usage_rows()
    assert [(row.link, row.profile, row.flow, row.nth) for row in rows] == [
        ("l1->left", "", "own/1", 1),
        ("l1->left", "", "own/2", 1),
        ("l2->left", "two", "", 1),
    ]
    sent = {row["flow"]: row["sent_bytes"] for row in results.flow_rows()}
    for row in rows:
        flows = [row.flow] if row.flow else ["shares/1", "shares/2"]
        used = row.inside.mean + row.yellow.mean + row.outside.mean
        # A packet may be metered at the very end of the warm-up or of the run.
        assert used == pytest.approx(sum(sent[flow] for flow in flows), abs=2000)
        assert row.inside.mean > 0
        assert row.inside.half_width > 0
        assert row.congested_inside.mean == row.congested_outside.mean == 0
    assert rows[0].yellow.mean > 0
    table = results.usage.to_pandas()
    assert rows[2].outside.mean == pytest.approx(table[table["profile"] == "two"]["outside_bytes"].mean())


def test_what_was_used_in_one_replication_only_counts_in_the_mean():
    def row(replication, flow):
        named = {
            "replication": replication,
            "seed": 1,
            "link": "a",
            "class": "",
            "nth": 1,
            "profile": "",
            "flow": flow,
        }
        names = ("inside", "yellow", "outside", "congested_inside", "congested_outside")
        return named | {f"{name}_bytes": 600 for name in names}

    import pyarrow as pa

    from tidegate import summary

    table = pa.Table.from_pylist([row(0, "f"), row(1, "f"), row(1, "g")])
    first, second = summary.usage(table, 2, 1.0).rows(summary.UsageSummary)
    assert (first.flow, first.inside.mean, second.flow, second.inside.mean) == ("f", 600, "g", 300)


def test_in_traffic_is_a_share_of_the_capacity(results):
    links = {row.link: row for row in results.link_rows()}
    bottleneck = links["left->right"]
    inside = sum(row.inside.mean for row in results.usage_rows())
    # Traffic that nobody meters is green.
    nobody = next(row["sent_bytes"] for row in results.flow_rows() if row["flow"] == "nobody")
    assert bottleneck.in_traffic.mean == pytest.approx((inside + nobody) * 8 / 10 / 2e6, rel=0.01)
    assert bottleneck.in_traffic.mean < bottleneck.in_traffic_max.mean
    assert links["l3->left"].in_traffic.mean == pytest.approx(nobody * 8 / 10 / 10e6, rel=0.02)
    assert links["right->left"].in_traffic_max.mean is None
    series = results.series.to_pandas()
    shares = series[(series["metric"] == "in_traffic") & (series["subject"] == "left->right")]
    assert shares[shares["time"] > 2]["value"].mean() == pytest.approx(bottleneck.in_traffic.mean, rel=0.01)


def test_run_shows_usage_and_whether_links_carry_what_is_inside(metered):
    shown = call("run", metered).stdout
    assert "usage of" in shown
    assert "yellow" in shown
    assert "congested" not in shown
    assert "in-traffic of left->right" in shown
    roomy = call("run", metered, "--set", "topology.rate=5mbit").stdout
    assert "in-traffic" not in roomy
    shown = call("run", metered, "--set", "host.meter=flow-monitor").stdout
    assert "usage of" not in shown
    document = json.loads(call("run", metered, "--json").stdout)
    assert [row["profile"] for row in document["usage"]] == ["", "", "two"]
    assert document["usage"][2]["inside"] > 0


def test_many_flows_without_a_reservation_are_told_of_together(metered):
    tagged = call(
        "run",
        metered,
        "--set",
        'host.meter={ kind = "tsw-tagger", window = "100ms" }',
        "--set",
        "flow.nobody.count=12",
    )
    assert "12 flows with nothing inside a profile not shown: --json has all" in tagged.stdout
    assert "nobody/1 " not in tagged.stdout.partition("usage of")[2]
    assert "own/1" in tagged.stdout.partition("usage of")[2]


def test_results_are_kept_with_their_usage(results, tmp_path):
    again = tidegate.Results.load(results.save(tmp_path / "run"))
    assert again.usage_rows() == results.usage_rows()


def test_the_figure_has_in_traffic_beside_utilisation(results, chain):
    def titles(drawn):
        return [axes.get_title(loc="left").partition(" (")[0] for axes in plots.overview(drawn).axes]

    assert titles(results)[-2:] == ["In-traffic against capacity", "Utilisation of the same links"]
    assert "In-traffic against capacity" not in titles(tidegate.simulate(chain, series=True))
