import json
import math
import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidegate
from conftest import call
from tidegate.explain import explain
from tidegate.explain.journey import NEVER_TICKS, ORIGIN_TICKS, WAITING, hop
from tidegate.explain.verdict import Sender, Sent, verdict

SIM_DEFECTS = Path(__file__).parent.parent / "crates" / "sim" / "tests" / "defects"

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
    assert "kept to its reservation of 64.00 kbit/s" in packet.verdict


def test_a_flow_ahead_of_its_reservation_waits_for_itself(results):
    packet = explain(results["virtual-clock"], "fast", packets=1).packets[0]
    assert "its own flow sent faster than its reservation of 100.0 kbit/s" in packet.verdict
    assert packet.hops[0].lead == pytest.approx(packet.ahead, rel=1e-9)
    assert packet.ahead > 0.1


def test_a_burst_of_a_flow_that_states_no_bucket_is_told_without_blame():
    slower = SCENARIO.replace('reserve = "100kbit"', 'reserve = "200kbit"')
    under = slower.replace("switch =", 'port = { scheduler = "virtual-clock" }\nswitch =')
    (packet,) = explain(tidegate.simulate(under), "fast", packets=1).packets
    assert "which states no bucket, sent a burst ahead of its reservation of 200.0 kbit/s" in packet.verdict


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
    assert "the outcome of this version" not in done.stdout
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
    done = call("explain", directory, "--flow", "voice")
    assert "which the same version made of the same files" in done.stdout
    manifest["tidegate_version"] = "0.0.1"
    (directory / "manifest.json").write_text(json.dumps(manifest))
    done = call("explain", directory, "--flow", "voice")
    assert (
        f"the outcome of tidegate {tidegate.__version__} differs from these results of 0.0.1" in done.stdout
    )


def test_a_file_that_changed_is_named(tmp_path):
    (tmp_path / "packets.txt").write_text("0.1 500\n0.2 500\n")
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        'version = 1\nduration = "1s"\ntopology = { kind = "chain", switches = 2, rate = "1mbit" }\n'
        'flow = [{ name = "a", from = "s1", to = "s2", source = { kind = "trace", file = "packets.txt" } }]\n'
    )
    directory = tidegate.simulate(scenario).save(tmp_path / "run")
    assert explain(directory, "a").changed_files == ()
    (tmp_path / "packets.txt").write_text("0.1 500\n0.2 900\n")
    explanation = explain(directory, "a")
    assert (explanation.same_outcome, explanation.changed_files) == (False, ("packets.txt",))
    said = call("explain", directory, "--flow", "a").stdout
    assert "`packets.txt` changed after they were made" in said
    assert "version" not in said


def added_up(packet):
    """Return whether the causes of a packet's delay, and of its time at each link, add up."""
    assert math.fsum(cause.seconds for cause in packet.causes) == pytest.approx(packet.delay, abs=1e-9)
    assert math.fsum(cause.share for cause in packet.causes) == pytest.approx(1)
    for met in packet.hops:
        waited = [cause.seconds for cause in met.causes if cause.kind in WAITING | {"packets"}]
        assert math.fsum(waited) == pytest.approx(met.wait, abs=1e-9)
        shares = [before.share for before in met.before]
        assert all(0 <= share <= 1 for share in [*shares, met.rest])
        assert sum(shares) <= 1 + 1e-9
    return {cause.kind: cause.share for cause in packet.causes}


@pytest.mark.parametrize(
    ("file", "kind", "said"),
    [
        ("port-ceiling", "port ceiling", "under the ceiling of the port"),
        ("tdm", "slot", "for a slot of its own"),
        ("credit", "no credit", "without credit"),
        ("trace-link", "no opportunity", "until the link could send"),
    ],
)
def test_shaping_is_not_blamed_on_traffic(file, kind, said):
    (packet,) = explain(tidegate.simulate(SIM_DEFECTS / f"explain-{file}.toml"), "f", packets=1).packets
    shares = added_up(packet)
    assert shares[kind] > shares.get("packets", 0.0)
    assert said in packet.verdict


@pytest.mark.parametrize("file", ["traceback", "wrong"])
def test_a_multicast_flow_is_explained_by_the_slowest_of_all_copies(file, tmp_path):
    """x floods the way to h3 alone, whatever the order of the destinations."""
    results = tidegate.simulate(SIM_DEFECTS / f"explain-multicast-{file}.toml")
    explanation = explain(results, "m", packets=5)
    assert explanation.destinations == 2
    (row,) = [row for row in results.flows.to_pylist() if row["flow"] == "m"]
    assert explanation.packets[0].delay == row["delay_max"]
    for packet in explanation.packets:
        assert packet.to == "h3"
        assert [hop.link for hop in packet.hops] == ["h1->hub", "hub->h3"]
        assert "of x" in packet.verdict
        added_up(packet)
    # All copies of all packets: both destinations are among them.
    every = explain(results, "m", packets=10_000).packets
    assert len(every) == row["received_packets"]
    assert {packet.to for packet in every} == {"h2", "h3"}
    said = call("explain", results.save(tmp_path / "run"), "--flow", "m").stdout
    assert "to 2 destinations: the slowest of all copies" in said
    assert " to h3, sent at" in said


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
    sender = Sender("a", None, None, 100.0, {"b/1": "b", "b/2": "b", "c": "c"})

    def judged(*before, delay=1.0, **kept):
        kept = {kind.replace("_", " "): took for kind, took in kept.items()}
        served = [dict(zip(("flow", "packets", "bytes"), one, strict=True)) for one in before]
        met = MET | {"before": [one | {"took": one["bytes"] / 100} for one in served], "causes": kept}
        return verdict(Sent(100, delay, None), [hop(met, delay)], sender)

    assert judged(("c", 1, 9)) == "waited 900.0 ms at x->y behind 1 packet, which is of c"
    assert judged(("c", 2, 18)).endswith("behind 2 packets, all of them of c")
    assert judged(("a", 2, 18), ("c", 1, 1)).endswith("behind 3 packets, 2 of them its own")
    assert judged(("b/1", 1, 9), ("b/2", 1, 9), ("c", 1, 10), ("d", 1, 1)).endswith(
        "4 packets, 2 of them of 2 flows of b"
    )
    assert judged(("c", 1, 9), ("d", 1, 8), ("e", 1, 7)).endswith("3 packets, 1 of them of c and 1 of d")
    assert judged().endswith("for the packet in service")
    assert judged(delay=100.0).startswith("hardly waited: 99.10 s of its 100.0 s")
    assert judged(port_ceiling=0.9) == "waited 900.0 ms at x->y, 100.0 % of it under the ceiling of the port"
    assert judged(("c", 2, 18), no_credit=0.45).endswith(
        "50.00 % of it without credit, behind 2 packets, all of them of c"
    )
    assert judged(("c", 2, 80), slot=0.1).endswith(
        "behind 2 packets, all of them of c, 11.11 % of it for a slot of its own"
    )


MET = {
    "link": "x->y",
    "arrived": 0.0,
    "held": 0.0,
    "queue": 1,
    "started": 0.9,
    "stamp": 7,
    "before": [],
    "causes": {},
}


def test_a_shaper_is_named_where_it_made_the_packet_late():
    sender = Sender("a", None, None, 100.0, {})
    # The first one is an envelope at the source: the delay begins when it lets the packet go.
    shaped = MET | {"link": "y->z", "held": 0.5, "causes": {"shaper": 0.5}}
    hops = [hop(MET | {"started": 0.1, "held": 5.0}, 2.0), hop(shaped, 2.0)]
    assert verdict(Sent(100, 2.0, None), hops, sender).startswith("waited 900.0 ms at y->z")
    hops[1] = hop(shaped | {"started": 0.2}, 2.0)
    assert verdict(Sent(100, 2.0, None), hops, sender) == "its own shaper at y->z held it for 500.0 ms"


def test_stamps():
    met = MET | {"arrived": 1.0, "started": 1.5}
    late = hop(met | {"stamp": ORIGIN_TICKS + 3 * 10**11}, 1e6)
    assert (late.stamp, late.lead) == ("time", pytest.approx(2.0))
    assert hop(met | {"stamp": NEVER_TICKS}, 1e6).stamp == "datagram"
    assert hop(met | {"stamp": 12}, 1e6, stamp_is_known=False).stamp == "other"


DEFECTS = Path(__file__).parent / "defects"


def test_time_in_the_flows_own_envelope_is_not_queueing():
    (packet,) = explain(tidegate.simulate(DEFECTS / "envx.toml"), "a", packets=1).packets
    crossing = 2 * (500 * 8 / 1e6 + 0.005)
    assert packet.delay == pytest.approx(packet.waited + crossing, abs=1e-9)
    assert all(hop.wait <= packet.delay for hop in packet.hops)
    # Packets of both flows are 500 B: none waits for longer than all that was served before it, and
    # one more.
    assert all(hop.wait <= (hop.packets_before + 1) * 500 * 8 / 1e6 + 1e-9 for hop in packet.hops)


def test_explaining_takes_about_as_long_as_running():
    """A queue of 24,000 packets: every packet of the flow waits behind all of it."""
    results = tidegate.simulate(DEFECTS / "over.toml")
    started = time.perf_counter()
    (packet,) = explain(results, "a", packets=1).packets
    assert time.perf_counter() - started < 20 * max(results.wall_seconds, 0.5)
    assert packet.hops[0].packets_before > 20_000
    assert packet.hops[0].before[0].packets == packet.hops[0].packets_before
    assert packet.hops[0].rest < 0.01


CHAIN = """\
version = 1
duration = "4s"
topology = { kind = "chain", switches = 3, rate = "1mbit", delay = "1ms" }
port = { scheduler = "virtual-clock" }
switch = { buffer = "200p" }
"""

ACCUSED = ("sent faster", "sent a burst ahead of")


@st.composite
def conforming_flow(draw, number):
    """A flow that keeps to what it states: its rate, or an envelope's burst, or an average interval."""
    reserve = draw(st.integers(20, 150)) * 1000
    sizes = draw(st.lists(st.integers(40, 1500), min_size=1, max_size=3))
    shown = ", ".join(f'"{size}B"' for size in sizes)
    head = f'[[flow]]\nname = "f{number}"\nfrom = "s1"\nto = "s3"\nreserve = "{reserve}bit"\n'
    kind = draw(st.sampled_from(["even", "envelope", "interval"]))
    if kind == "even":
        rate = reserve - draw(st.sampled_from([0, 0, 1, 5000]))
        return f'{head}size = [{shown}]\nsource = {{ kind = "cbr", rate = "{rate}bit" }}\n', None
    if kind == "envelope":
        burst = max(sizes) * draw(st.integers(1, 12))
        rate = reserve - draw(st.sampled_from([0, 0, 2000]))
        envelope = f'envelope = {{ rate = "{rate}bit", burst = "{burst}B" }}'
        length = draw(st.integers(2, 30))
        source = f'{{ kind = "on-off", rate = "{reserve}bit", peak = "5mbit", burst = {length} }}'
        return f"{head}size = [{shown}]\n{envelope}\nsource = {source}\n", None
    # As much as a bucket of reserve * interval allows, whenever it is drawn to send.
    interval = draw(st.integers(1, 10)) / 10 + max(sizes) * 8 / reserve
    bucket = tokens = reserve * interval / 8
    at, lines = draw(st.floats(0, 0.5)), []
    while at < 3.9:
        size = draw(st.sampled_from(sizes))
        if size <= tokens:
            tokens -= size
            lines.append(f"{at:.9f} {size}")
            continue
        gap = draw(st.sampled_from([0.3, 1.0])) * interval + (size - tokens) * 8 / reserve + 1e-6
        at, tokens = at + gap, min(bucket, tokens + gap * reserve / 8)
    text = (
        f'{head}interval = "{interval + 1e-6:.9f}s"\nsource = {{ kind = "trace", file = "f{number}.txt" }}\n'
    )
    return text, "\n".join(lines) + "\n"


@settings(
    max_examples=40 if os.environ.get("TIDEGATE_VERIFY") else 8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.data(), st.integers(2, 5))
def test_no_conforming_flow_is_ever_accused(data, count):
    """Beside a flow that sends four times what it reserves, and datagrams that fill what is left."""
    flows = [data.draw(conforming_flow(number)) for number in range(count)]
    offender = (
        '[[flow]]\nname = "offender"\nfrom = "s1"\nto = "s3"\nreserve = "100kbit"\nsize = "700B"\n'
        'source = { kind = "poisson", rate = "400kbit" }\n'
    )
    bulk = '[[flow]]\nname = "bulk"\nfrom = "s2"\nto = "s3"\nsize = "1500B"\nsource = { kind = "greedy" }\n'
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, trace) in enumerate(flows):
            if trace:
                (Path(folder) / f"f{number}.txt").write_text(trace)
        (Path(folder) / "s.toml").write_text(CHAIN + "".join(text for text, _ in flows) + offender + bulk)
        results = tidegate.simulate(Path(folder) / "s.toml", seed=data.draw(st.integers(0, 1000)))
        for number in range(count):
            for packet in explain(results, f"f{number}", packets=5).packets:
                assert not any(word in packet.verdict for word in ACCUSED), packet
        worst = explain(results, "offender", packets=1).packets[0]
        assert "its own flow sent faster than its reservation of 100.0 kbit/s" in worst.verdict
