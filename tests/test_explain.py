import json

import pytest

import tidegate
from conftest import call
from tidegate.explain import explain
from tidegate.explain.journey import NEVER_TICKS, ORIGIN_TICKS, hop
from tidegate.explain.verdict import Sender, verdict

SCENARIO = """\
version = 1
name = "squeeze"
duration = "10s"
topology = { kind = "chain", switches = 3, rate = "1mbit", delay = "5ms" }
switch = { buffer = "100p" }
flow = [
    { name = "voice", from = "s1", to = "s3", reserve = "64kbit", size = "160B", source = { kind = "cbr", rate = "64kbit" } },
    { name = "fast", from = "s1", to = "s3", reserve = "100kbit", size = "500B", source = { kind = "on-off", rate = "100kbit", peak = "1mbit", burst = 10 } },
    { name = "bulk", count = 2, from = "s1", to = "s3", size = "1500B", source = { kind = "poisson", rate = "600kbit" } },
]
"""  # noqa: E501


@pytest.fixture(scope="module")
def results():
    def under(scheduler):
        text = SCENARIO.replace("switch =", f'port = {{ scheduler = "{scheduler}" }}\nswitch =')
        return tidegate.simulate(text, replications=3)

    return {scheduler: under(scheduler) for scheduler in ("fifo", "virtual-clock")}


def test_under_fifo_bulk_is_the_culprit(results):
    explanation = explain(results["fifo"], "voice")
    assert explanation.same_outcome
    assert len(explanation.packets) == 3
    for packet in explanation.packets:
        assert packet.waited > 0.5
        assert "s1->s2 behind" in packet.verdict
        assert "of bulk" in packet.verdict
        worst = max(packet.hops, key=lambda hop: hop.wait)
        assert {"bulk/1", "bulk/2"} >= {worst.before[0].flow, worst.before[1].flow}
        assert sum(one.share for one in worst.before) + worst.rest == pytest.approx(1)
        assert worst.stamp == "order"


def test_under_virtual_clock_it_is_not(results):
    packet = explain(results["virtual-clock"], "voice", packets=1).packets[0]
    assert packet.waited < 0.05
    assert all(one.stamp == "time" for one in packet.hops)
    # The clock of a flow that keeps to its reservation is one packet's time ahead.
    assert packet.hops[0].lead == pytest.approx(160 * 8 / 64e3, rel=1e-3)
    assert "sent faster" not in packet.verdict


def test_a_flow_ahead_of_its_reservation_waits_for_itself(results):
    packet = explain(results["virtual-clock"], "fast", packets=1).packets[0]
    assert "its own flow sent faster than its reservation of 100.0 kbit/s" in packet.verdict
    assert packet.hops[0].lead > 0.1


def test_a_datagram_waits_for_everybody(results):
    packet = explain(results["virtual-clock"], "bulk/1", packets=1).packets[0]
    assert packet.hops[0].stamp == "datagram"
    assert "it has no reservation" in packet.verdict


def test_delays_add_up(results):
    for packet in explain(results["fifo"], "voice").packets:
        crossing = 2 * (160 * 8 / 1e6 + 0.005)
        assert packet.delay == pytest.approx(packet.waited + crossing, abs=1e-9)
        assert packet.hops[0].arrived == pytest.approx(packet.sent)


def test_it_is_the_largest_delay_of_all_replications(results):
    for name in ("voice", "bulk"):
        explanation = explain(results["fifo"], name, packets=1)
        rows = [row for row in results["fifo"].flows.to_pylist() if row["group"] == name]
        worst = max(rows, key=lambda row: row["delay_max"])
        assert (explanation.flow, explanation.replication) == (worst["flow"], worst["replication"])
        assert explanation.packets[0].delay == worst["delay_max"]


def test_a_wrong_name_gets_the_nearest(results):
    with pytest.raises(tidegate.TidegateError, match="did you mean `voice`"):
        explain(results["fifo"], "vioce")
    with pytest.raises(tidegate.TidegateError, match="its flows are voice, fast"):
        explain(results["fifo"], "x")
    with pytest.raises(tidegate.TidegateError, match="at least 1"):
        explain(results["fifo"], "voice", packets=0)


def test_the_command(results, tmp_path):
    directory = results["fifo"].save(tmp_path / "run")
    done = call("explain", directory, "--flow", "bulk", "--packets", 2)
    assert done.exit_code == 0, done.stderr
    assert "of the flows of bulk, the one with the largest delay" in done.stdout
    assert "served before it" in done.stdout
    assert "another outcome" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    document = json.loads(call("explain", directory, "--flow", "voice", "--json").stdout)
    assert document["flow"] == "voice"
    assert document["packets"][0]["hops"][0]["link"] == "s1->s2"
    done = call("explain", directory, "--flow", "vioce")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "did you mean" in done.stderr
    assert call("explain", tmp_path, "--flow", "voice").exit_code == 1


def test_another_outcome_is_said(results, tmp_path):
    directory = results["fifo"].save(tmp_path / "run")
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["fingerprints"] = ["0" * 16] * 3
    (directory / "manifest.json").write_text(json.dumps(manifest))
    assert not explain(directory, "voice").same_outcome
    assert "another outcome than these results hold" in call("explain", directory, "--flow", "voice").stdout


def test_a_flow_of_which_nothing_arrived():
    text = SCENARIO.replace('"100p"', '"1p"').replace("10s", "100ms")
    silent = tidegate.simulate(text.replace('"voice", ', '"voice", start = "99ms", '))
    explanation = explain(silent, "voice")
    assert explanation.packets == ()


def test_a_gates_stamps_are_those_of_its_file(tmp_path):
    (tmp_path / "gate.toml").write_text(
        """
version = 1
gate = { inside = "a", outside = "b", up = "1mbit", down = "1mbit" }
port = { scheduler = SCHEDULER }
flow = [{ name = "voice", match = { dscp = 46 }, reserve = "80kbit" }]
"""
    )
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        """
version = 1
duration = "5s"
topology = { kind = "gate", file = "gate.toml" }
[[flow]]
name = "call"
from = "inside"
to = "outside"
headers = { flow = "10.0.0.1:5004>192.0.2.1:5004/udp", dscp = 46 }
size = "200B"
source = { kind = "poisson", rate = "70kbit" }
[[flow]]
name = "bulk"
from = "inside"
to = "outside"
headers = { flow = "10.0.0.2:80>192.0.2.1:5004/tcp" }
size = "1500B"
source = { kind = "greedy" }
"""
    )
    text = (tmp_path / "gate.toml").read_text()
    tdm = '{ kind = "tdm", rate = "1mbit", slot = "1500B", slots = 10 }'
    for scheduler, known in (('"virtual-clock"', True), (tdm, False)):
        (tmp_path / "gate.toml").write_text(text.replace("SCHEDULER", scheduler))
        (packet,) = explain(tidegate.simulate(scenario, replications=1), "call", packets=1).packets
        assert (packet.hops[0].lead is not None) == known


def test_verdicts():
    sender = Sender("a", None, 100.0, {"b/1": "b", "b/2": "b", "c": "c"})

    def judged(*ahead, delay=1.0, queue=1):
        before = [{"flow": flow, "bytes": size} for flow, size in ahead]
        met = {
            "link": "x->y", "arrived": 0.0, "started": 0.9, "queue": queue, "stamp": 7, "ahead": before,
        }  # fmt: skip
        return verdict(delay, [hop(met, 1000.0, stamp_is_known=True)], sender)

    assert judged(("c", 9)) == "waited 900.0 ms at x->y behind 1 packet, which is of c"
    assert judged(("c", 9), ("c", 9)).endswith("behind 2 packets, all of them of c")
    assert judged(("a", 9), ("a", 9), ("c", 1)).endswith("behind 3 packets, 2 of them its own")
    assert judged(("b/1", 9), ("b/2", 9), ("c", 10), ("d", 1)).endswith(
        "4 packets, 2 of them of 2 flows of b"
    )
    assert judged(("c", 9), ("d", 8), ("e", 7)).endswith("behind 3 packets, 1 of them of c and 1 of d")
    assert judged().endswith("for the packet in service")
    assert judged(delay=100.0).startswith("hardly waited: 99.10 s of its 100.0 s")


def test_stamps():
    met = {"link": "x->y", "arrived": 1.0, "started": 1.5, "queue": 0, "ahead": []}
    late = hop(met | {"stamp": ORIGIN_TICKS + 3 * 10**11}, 1e6, stamp_is_known=True)
    assert (late.stamp, late.lead) == ("time", pytest.approx(2.0))
    assert hop(met | {"stamp": NEVER_TICKS}, 1e6, stamp_is_known=True).stamp == "datagram"
    assert hop(met | {"stamp": 12}, 1e6, stamp_is_known=False).stamp == "other"
