"""Links with credit, from a scenario to the screen."""

import json
from pathlib import Path

import pytest

import tidegate
from conftest import call

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

STALLING = """version = 1
duration = "2s"
node = [{ name = "s1" }, { name = "s2" }]
[[link]]
from = "s1"
to = "s2"
rate = "10mbit"
delay = "1ms"
loss = 0.02
credit = { buffer = 30, n2 = 4, check = "0s" }
[[flow]]
name = "data"
from = "s1"
to = "s2"
size = "250B"
source = "greedy"
"""


@pytest.fixture
def stalling(tmp_path):
    place = tmp_path / "stalling.toml"
    place.write_text(STALLING)
    return place


def test_a_stall_is_told_by_name(stalling):
    (row,) = tidegate.simulate(stalling).stalls.to_pylist()
    assert row["what"] == f"VC 0 has had no credit for {row['round_trips']} RTT"
    assert (row["link"], row["flow"], row["until"]) == ("s1->s2", "data", None)
    shown = call("run", stalling).stdout
    assert row["what"] + " on s1->s2 (flow data): since" in " ".join(shown.split())
    document = json.loads(call("run", stalling, "--json").stdout)
    assert document["stalls"] == [row]
    assert [one["link"] for one in document["credit"]] == ["s1->s2", "s2->s1"]
    checked = tidegate.simulate(tidegate.load(stalling, [("link.s1-s2.credit.check", "5ms")]))
    assert checked.stalls.num_rows == 0


def test_the_series_of_a_vc_are_those_of_its_flow_on_the_link(stalling):
    results = tidegate.simulate(stalling, series=True)
    series = {(row["subject"], row["metric"]) for row in results.series.to_pylist()}
    vc = {("data on s1->s2", metric) for metric in ("vc_queue", "buf_alloc", "credit_balance")}
    assert vc | {("s1->s2", "pool")} <= series
    (row,) = results.credit_vcs.to_pylist()
    assert (row["vc"], row["buf_alloc"], row["n2"], row["flow"]) == (0, 30, 4, "data")
    assert row["without_credit"] > 0.5


def throughput(results):
    return {row.group: row.throughput.mean for row in results.groups()}


def test_the_examples_show_what_they_say():
    path = EXAMPLES / "credit-back-pressure.toml"
    each = tidegate.simulate(path)
    assert each.drops.num_rows == 0
    assert max(row["queue_max"] for row in each.credit_vcs.to_pylist()) <= 20
    assert throughput(each)["free"] == pytest.approx(4e6, rel=0.01)
    together = tidegate.simulate(
        tidegate.load(path, [("port.credit.per", "link"), ("host.credit.per", "link")])
    )
    assert throughput(together)["free"] < 1.5e6

    path = EXAMPLES / "credit-adaptive.toml"
    results = tidegate.simulate(path, series=True)
    pool, _ = results.credit.to_pylist()
    assert pool["queue_max"] <= pool["memory"]
    static = tidegate.simulate(tidegate.load(path, [("link.s1-s2.credit.allocation", "static")]))
    assert static.credit.to_pylist()[0]["memory"] > pool["memory"]

    path = EXAMPLES / "credit-stall.toml"
    assert tidegate.simulate(path).stalls.num_rows == 1
    checked = tidegate.simulate(tidegate.load(path, [("link.s1-s2.credit.check", "5ms")]))
    assert checked.stalls.num_rows == 0
    assert throughput(checked)["data"] > 8e6

    path = EXAMPLES / "credit-virtual-link.toml"
    recovered = tidegate.simulate(path)
    (link,) = recovered.credit.to_pylist()
    assert link["dropped_packets"] == 0
    assert link["found_lost_packets"] > 0
    assert recovered.stalls.num_rows == 0
    stalled = tidegate.simulate(tidegate.load(path, [("link.s1-s2.credit.check", "0s")]))
    assert stalled.stalls.num_rows == 1
