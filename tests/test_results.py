"""Tables and summaries."""

import math
from collections import Counter

import pandas as pd
import polars as pl
import pytest

import tidegate
from conftest import CHAIN
from tidegate import summary
from tidegate._tidegate import half_width_95
from tidegate.results import TABLES


@pytest.fixture(scope="module")
def results():
    return tidegate.simulate(CHAIN, replications=4, series=True)


def test_pandas_and_polars_take_the_tables_as_they_are(results):
    for table in results.tables.values():
        assert len(pd.DataFrame.from_arrow(table)) == len(pl.from_arrow(table)) == table.num_rows
    assert pl.DataFrame(results.flows)["flow"][0] == results.flows.to_pandas()["flow"][0] == "voice"


def test_the_tables_are_those_of_a_run(chain):
    run = tidegate._tidegate.Run(tidegate.load(chain), 1)
    assert tuple(run.tables()) == TABLES


def test_columns_say_what_they_hold(results):
    for table in results.tables.values():
        assert all(field.metadata[b"description"] for field in table.schema)
    assert results.flows.schema.field("throughput").metadata[b"unit"] == b"bit/s"


def test_a_group_is_the_sum_of_its_flows(results):
    frame = results.flows.to_pandas()
    assert [row.group for row in results.groups()] == ["voice", "data"]
    for row in results.groups():
        of_group = frame[frame["group"] == row.group]
        packets = of_group["received_packets"]
        by_run = of_group.assign(
            weighted=of_group["delay_mean"] * packets, queued=of_group["queueing_mean"] * packets
        ).groupby("replication")
        counts = [f"{what}_packets" for what in ("sent", "received", "marked", "dropped")]
        sums = by_run[[*counts, "throughput", "weighted", "queued"]].sum()
        expected = {
            "sent": sums["sent_packets"],
            "received": sums["received_packets"],
            "marked": sums["marked_packets"],
            "dropped": sums["dropped_packets"],
            "lost": sums["dropped_packets"] / sums["sent_packets"],
            "throughput": sums["throughput"],
            "throughput_per_flow": sums["throughput"] / row.flows,
            "delay_mean": sums["weighted"] / sums["received_packets"],
            "queueing_mean": sums["queued"] / sums["received_packets"],
            "delay_max": by_run["delay_max"].max(),
        }
        for name, values in expected.items():
            assert getattr(row, name).mean == pytest.approx(values.mean()), name
            assert getattr(row, name).half_width == pytest.approx(half_width_95(list(values)), abs=1e-9), name


def test_the_quantile_of_a_group_of_one_is_that_of_its_flow(results):
    voice = results.flows.to_pandas().query("flow == 'voice'")
    [row] = [row for row in results.groups() if row.group == "voice"]
    at_most = voice["delay_p99"].combine(voice["delay_max"], min)
    assert row.delay_p99.mean == pytest.approx(at_most.mean(), rel=1e-9)
    assert row.queueing_p99.mean <= row.delay_p99.mean


def test_the_histogram_counts_every_packet(results):
    counted = Counter()
    for bin_ in results.histogram.to_pylist():
        counted[bin_["replication"], bin_["group"], bin_["metric"]] += bin_["count"]
    received = Counter()
    for flow in results.flows.to_pylist():
        for metric in ("delay", "queueing"):
            received[flow["replication"], flow["group"], metric] += flow["received_packets"]
    assert counted == received


def test_a_quantile_of_a_group_is_the_upper_edge_of_its_bin(results):
    bins = results.histogram.to_pandas()
    flows = results.flows.to_pandas().astype({"group": str})
    largest = flows.groupby(["replication", "group"])[["delay_max", "queueing_max"]].max()
    for row in results.tables["groups"].to_pylist():
        for metric, column, share in (
            ("delay", "delay_p50", 0.5),
            ("delay", "delay_p99", 0.99),
            ("delay", "delay_p999", 0.999),
            ("queueing", "queueing_p99", 0.99),
        ):
            of_group = bins[
                (bins["replication"] == row["replication"])
                & (bins["group"] == row["group"])
                & (bins["metric"] == metric)
            ].sort_values("upper")
            reached = of_group["count"].cumsum()
            edge = of_group["upper"][reached >= math.ceil(share * reached.iloc[-1])].iloc[0]
            at_most = largest[f"{metric}_max"][row["replication"], row["group"]]
            # The edge itself is not in the bin, which holds whole nanoseconds.
            assert row[column] == pytest.approx(min(edge, at_most), abs=1.001e-9), column


def test_drops_by_reason_are_those_of_their_link(results):
    by_link = Counter()
    for row in results.drops.to_pylist():
        by_link[row["replication"], row["link"]] += row["dropped_packets"]
    links = {(row["replication"], row["link"]): row["dropped_packets"] for row in results.links.to_pylist()}
    assert sum(links.values()) > 0
    assert by_link == Counter(links)


def test_links_are_summarised_by_direction(results):
    frame = results.links.to_pandas()
    for row in results.link_rows():
        of_link = frame[frame["link"] == row.link]
        assert row.utilisation.mean == pytest.approx(of_link["utilisation"].mean())
        assert row.packets.mean == of_link["packets"].mean()
        assert row.rate == 1_000_000


def test_a_flow_that_never_sends_has_figures_of_nothing(chain):
    silent = tidegate.load(chain, [("flow.data.start", "1999ms"), ("flow.data.source.rate", "1kbit")])
    [_, row] = tidegate.simulate(silent).groups()
    assert row.sent.mean == row.received.mean == row.throughput.mean == 0
    assert row.lost == row.delay_mean == row.delay_p99 == row.queueing_mean == (None, None)


def test_one_run_has_no_interval_and_says_so(chain):
    once = tidegate.simulate(chain)
    assert all(row.throughput.half_width is None for row in once.groups())
    assert once.notes == ["no interval from one run"]
    assert "no interval from one run" in repr(once)
    assert tidegate.simulate(chain, replications=2).notes == []


def test_an_estimate_leaves_out_what_was_not_measured():
    assert summary.estimate([1.0, None, 3.0]).mean == 2.0
    assert summary.estimate([1.0, None]) == (1.0, None)
    assert summary.estimate([None]) == (None, None)
    assert math.isclose(summary.estimate([1, 2, 3, 4, 5]).half_width, 2.776445105 * math.sqrt(2.5 / 5))
