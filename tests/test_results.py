"""Tables and summaries."""

import copy
import math
import pickle
import typing
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tidegate
from conftest import CHAIN, call
from tidegate import estimates, result_tables, summary
from tidegate._tidegate import half_width_95
from tidegate.run_tables import COLUMNS, TABLES, as_arrow


@pytest.fixture(scope="module")
def results():
    return tidegate.simulate(CHAIN, replications=4, series=True)


def test_pandas_and_polars_take_the_tables_as_they_are(results):
    for table in results.tables.values():
        assert len(pd.DataFrame.from_arrow(table)) == len(pl.from_arrow(table)) == table.num_rows
    assert pl.DataFrame(results.flows)["flow"][0] == results.flows.to_pandas()["flow"][0] == "voice"


def test_groups_go_by_their_names(results):
    voice, data = results.groups
    assert results.groups["voice"] == voice == results.groups[0] == results.groups()[0]
    assert results.groups["data"].delay_p99 == data.delay_p99
    assert results.groups[-1:] == [data]
    assert results.link_rows()["s1->s2"].link == "s1->s2"
    with pytest.raises(KeyError, match="no row is named 'voise'; there are voice, data"):
        results.groups["voise"]


def test_a_name_of_several_rows_is_not_taken_for_one(results):
    twice = type(results.groups)([*results.groups, *results.groups])
    with pytest.raises(KeyError, match="2 rows are named 'voice'"):
        twice["voice"]


def test_every_table_goes_by_its_name(results):
    for name, table in results.tables.items():
        assert results[name] is table
    with pytest.raises(KeyError, match="no table 'flow'; there are flows, groups"):
        results["flow"]


def test_frames_of_pandas_and_polars_hold_the_same(results):
    for one in (*results.tables.values(), results.groups, results.link_rows()):
        frame, other = one.to_pandas(), one.to_polars()
        assert list(frame.columns) == other.columns
        assert other.height == len(frame)
        for name in other.columns:
            if other[name].dtype == pl.String:
                assert other[name].to_list() == frame[name].to_list()
            else:
                expected = frame[name].to_numpy(float, na_value=math.nan)
                assert np.array_equal(
                    other[name].cast(pl.Float64).fill_null(math.nan).to_numpy(), expected, True
                )
    assert {str(dtype) for dtype in results["groups"].to_polars().dtypes} == {"Int64", "Float64", "String"}


def test_the_tables_are_those_of_a_run(chain):
    run = tidegate._tidegate.Run(tidegate.load(chain), 1)
    assert tuple(run.tables()) == TABLES


def test_a_type_checker_knows_the_columns_of_every_table(results):
    for name, table in results.tables.items():
        alias = getattr(result_tables, f"{name.title().replace('_', '')}Column")
        assert typing.get_args(alias) == tuple(table.column_names)
        if name != "groups":
            assert getattr(results, name) is table


def test_only_columns_of_numbers_may_be_null(results):
    for name, columns in COLUMNS.items():
        assert results.tables[name].column_names == [column for column, *_ in columns]
        for column, kind, optional in columns:
            assert kind == "number" or not optional
            assert optional or results.tables[name][column].null_count == 0


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
            half_width = half_width_95(list(values))
            if name == "lost" and values.mean() <= estimates.RARE:
                assert row.lost.half_width > half_width
                continue
            assert getattr(row, name).half_width == pytest.approx(half_width, abs=1e-9), name


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


def test_identical_runs_are_told_and_have_no_interval(still):
    results = tidegate.simulate(still, replications=5)
    assert results.identical
    [note] = results.notes
    assert note.startswith("all 5 runs are identical")
    rows = [*results.groups(), *results.link_rows()]
    estimates = [value for row in rows for value in vars(row).values() if isinstance(value, summary.Estimate)]
    assert all(one.half_width is None for one in estimates)
    assert results.groups() == tidegate.simulate(still).groups()
    assert "±" not in call("run", still, "--replications", 5).stdout


def test_the_interval_of_rare_losses_covers():
    """Ten runs of 100,000 packets, of which 3 in 100,000 are lost, in clusters of 4."""
    draw = np.random.default_rng(1)
    covered = 0
    tries = 1000
    for _ in range(tries):
        clusters = draw.poisson(0.75, size=10)
        lost = [int(draw.geometric(0.25, size=number).sum()) for number in clusters]
        mean, half_width = estimates.share([one / 1e5 for one in lost], [100_000] * 10)
        covered += abs(mean - 3e-5) <= half_width
    # 99.9 % limits of 95 % begin at 92.7 %.
    assert covered / tries >= 0.927


def test_no_loss_at_all_is_not_certain():
    mean, half_width = estimates.share([0.0] * 5, [20_000] * 5)
    assert mean == 0.0
    # The upper limit of a Poisson count of zero: 3.689 of 100,000 packets.
    assert half_width == pytest.approx(3.689e-5, rel=1e-3)
    assert estimates.share([0.0], [20_000]) == (0.0, None)
    # Where losses are many, it is Student's.
    shares = [0.1, 0.2, 0.3]
    assert estimates.share(shares, [1000] * 3) == summary.estimate(shares)


def test_a_links_own_rate_counts_what_entered_in_the_warm_up(chain):
    results = tidegate.simulate(tidegate.load(chain, [("warmup", "1900ms"), ("switch.buffer", "500p")]))
    [link, *_] = results.link_rows()
    assert link.throughput.mean == pytest.approx(link.utilisation.mean * link.rate, rel=0.05)
    # Packets that waited when the warm-up ended are in the link's figure alone.
    assert sum(row.throughput.mean for row in results.groups()) < 0.5 * link.throughput.mean


def test_summaries_are_data_frames_and_tables_of_a_notebook(results):
    groups = results.groups()
    frame = groups.to_pandas()
    assert list(frame["group"]) == ["voice", "data"]
    assert frame["throughput"][1] == groups[1].throughput.mean
    assert frame["throughput_ci95"][1] == groups[1].throughput.half_width
    assert len(results.link_rows().to_pandas()) == 4
    for shown in (groups, results, results.link_rows(), results.gate_rows()):
        assert ElementTree.fromstring(f"<div>{shown._repr_html_()}</div>").find("table") is not None
    assert "kbit/s" in results._repr_html_()


def test_tables_of_a_run_that_is_not_over_are_those_so_far(chain):
    run = tidegate._tidegate.Run(tidegate.load(chain, [("warmup", "1s")]), 1)
    while run.progress < 0.3:
        run.advance(100)
    tables = as_arrow(run.tables())
    assert set(tables["groups"]["throughput"].to_pylist()) == {None}
    while run.progress < 0.75:
        run.advance(100)
    tables = as_arrow(run.tables())
    counted = sum(tables["histogram"]["count"].to_pylist())
    assert counted == 2 * sum(tables["groups"]["received_packets"].to_pylist()) > 0
    measured = 2.0 * run.progress - 1.0
    for row in tables["flows"].to_pylist():
        assert row["throughput"] == pytest.approx(row["received_bytes"] * 8 / measured)
    assert all(0 <= share <= 1 for share in tables["links"]["utilisation"].to_pylist())


def test_an_estimate_leaves_out_what_was_not_measured():
    assert summary.estimate([1.0, None, 3.0]).mean == 2.0
    assert summary.estimate([1.0, None]) == (1.0, None)
    assert summary.estimate([None]) == (None, None)
    assert math.isclose(summary.estimate([1, 2, 3, 4, 5]).half_width, 2.776445105 * math.sqrt(2.5 / 5))


def test_shares_of_a_multicast_flow_are_of_its_copies():
    """Two of three copies of each packet are lost behind the fork, then every packet before it."""
    nodes = 'node = [{ name = "hub" }, { name = "a", kind = "host" }, { name = "b", kind = "host" }, \
{ name = "c", kind = "host" }, { name = "d", kind = "host" }]'
    for losses, missing, share in (({"b": 1, "c": 1}, 2, 2 / 3), ({"a": 1}, 3, 1.0), ({}, 0, 0.0)):
        links = ", ".join(
            f'{{ from = "{one}", to = "hub", rate = "1mbit", loss = {losses.get(one, 0)} }}' for one in "abcd"
        )
        results = tidegate.simulate(
            f'version = 1\nduration = "2s"\n{nodes}\nlink = [{links}]\n'
            'flow = [{ name = "m", from = "a", to = ["b", "c", "d"], size = "500B", stop = "1s", '
            'source = { kind = "cbr", rate = "100kbit" } }]\n'
        )
        (row,) = results.flows.to_pylist()
        assert row["due_copies"] == 3 * row["sent_packets"]
        assert row["missed_copies"] == missing * row["sent_packets"]
        # A packet that is lost before the fork is lost once.
        assert row["lost_packets"] == (row["sent_packets"] if "a" in losses else row["missed_copies"])
        assert results.groups()[0].lost.mean == pytest.approx(share)


def test_text_is_plain_text_and_counters_have_a_sign(results):
    for table in results.tables.values():
        assert {str(field.type) for field in table.schema} <= {"string", "int64", "double"}
        for frame in (pl.DataFrame(table), pl.from_arrow(table)):
            assert frame.columns == table.column_names
            assert frame.height == table.num_rows
            for name, kind in frame.schema.items():
                if kind == pl.String:
                    assert (
                        frame.select(pl.col(name).str.to_uppercase().str.to_lowercase()).height
                        == table.num_rows
                    )
        frame = pd.DataFrame(table)
        assert list(frame.columns) == table.column_names
        assert len(frame) == table.num_rows
    flows = pd.DataFrame(results.flows)
    lost = flows["received_packets"] - flows["sent_packets"]
    assert lost.min() < 0
    assert lost.abs().max() < 10_000
    assert pl.DataFrame(results.flows)["received_packets"].diff().min() < 0


def test_a_table_is_a_table_of_arrow_and_a_dictionary_of_columns(results):
    flows = results.flows
    assert isinstance(flows, pa.Table)
    assert list(flows) == flows.column_names == list(flows.keys())
    assert (len(flows), bool(flows)) == (flows.num_rows, True)
    assert pa.table(flows).to_pydict() == flows.arrow.to_pydict()
    assert pickle.loads(pickle.dumps(flows)) == copy.deepcopy(flows) == flows
    assert flows != results.links
    assert flows.filter([True] + [False] * (flows.num_rows - 1)).to_pylist()[0]["flow"] == "voice"
    assert dict(flows)["flow"].to_pylist() == flows["flow"].to_pylist()
