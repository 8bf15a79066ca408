"""Equal-cost multipath for each packet, in what is said and drawn of it."""

import shutil
import subprocess
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate.explain import explain
from tidegate.maxmin import SPREAD
from tidegate.plots import topology
from tidegate_lab.testbed.plan import described

EXAMPLE = Path(__file__).parents[1] / "examples" / "spread.toml"

FABRIC = """\
version = 1
duration = "300ms"
topology.kind = "leaf-spine"
topology.leaves = 2
topology.spines = 3
topology.hosts = 2
topology.rate = "100mbit"
topology.access.rate = "1gbit"
routing = { kind = "ecmp", per = "packet" }

[[flow]]
name = "wide"
from = "h1"
to = "h3"
size = "1000B"
source = { kind = "poisson", rate = "240mbit" }

[[flow]]
name = "near"
from = "h2"
to = "h1"
size = "1000B"
source = { kind = "greedy" }
"""


@pytest.fixture
def fabric(tmp_path):
    path = tmp_path / "fabric.toml"
    path.write_text(FABRIC)
    return path


def test_a_packet_is_explained_on_the_path_that_it_took():
    results = tidegate.simulate(FABRIC)
    explanation = explain(results, "wide", packets=500)
    spines = set()
    for packet in explanation.packets:
        links = [hop.link for hop in packet.hops]
        spine = links[1].removeprefix("leaf1->")
        assert links == ["h1->leaf1", f"leaf1->{spine}", f"{spine}->leaf2", "leaf2->h3"]
        assert packet.delay == pytest.approx(packet.waited + 2 * 8e-6 + 2 * 80e-6, abs=1e-9)
        spines.add(spine)
    assert spines == {"spine1", "spine2", "spine3"}
    row = next(row for row in results.flows.to_pylist() if row["flow"] == "wide")
    assert row["hops"] == 4
    assert explanation.packets[0].delay == row["delay_max"]


def test_a_spread_flow_has_neither_a_bound_nor_a_fair_rate(fabric):
    optimum = tidegate.max_min(FABRIC)
    assert optimum.left_out == {"wide": SPREAD}
    assert [(share.flow, share.rate) for share in optimum.shares] == [("near", 1e9)]
    printed = call("bound", fabric)
    assert printed.exit_code == 0
    assert "its packets take several paths" in printed.stdout


def test_links_are_drawn_with_their_part_of_the_load(fabric):
    figure = topology(tidegate.load(fabric))
    labels = [text.get_text() for text in figure.axes[0].texts]
    assert sum("80 %" in label for label in labels) == 6
    assert sum("24 %" in label for label in labels) == 2


def test_the_kernel_does_not_take_it(fabric):
    with pytest.raises(tidegate.TidegateError, match="`wide`: a path for each packet is not carried over"):
        described(tidegate.load(fabric))


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_time_to_live_counts_the_links_of_the_path(fabric, tmp_path):
    capture = tmp_path / "last.pcapng"
    assert call("run", fabric, "--pcap", f"leaf2->h3={capture}").exit_code == 0
    command = ["tshark", "-r", str(capture), "-T", "fields", "-e", "ip.ttl"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"61"}


def test_what_the_page_says_of_spreading_holds():
    """Recovery that waits for late segments has what the links carry; by flow some links are idle."""

    def run(recovery, per):
        sets = [("connection.copy.transport.recovery", recovery), ("routing.per", per)]
        results = tidegate.simulate(EXAMPLE, sets=sets)
        (row,) = (row for row in results.tables["groups"].to_pylist() if row["group"] == "copy")
        return row["goodput"] / 1e9, row["dropped_packets"], row["retransmissions"]

    goodput, dropped, again = run("rack", "packet")
    assert goodput == pytest.approx(139.0, abs=3)
    assert dropped < 20 < 4000 < again < 7500
    assert run("newreno", "packet")[0] == pytest.approx(100.4, abs=3)
    by_flow, *_ = run("rack", "flow")
    assert round(by_flow, 1) == 86.3
