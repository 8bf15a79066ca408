"""Replays keep what they promise, and what they say is true."""

import json
import random

import make_replay
import pytest

import tidegate
from captures import CAPTURES, DATA, OFFICE, ROOT, VIDEO, VOICE, needs_data, outcome, pcap
from conftest import call
from tidegate.replay import plan, replay

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_promises_are_kept_where_fifo_misses_the_targets(office):
    assert office.broken() == []
    for flow in (VOICE, VIDEO):
        planned, kept = outcome(office, "virtual-clock", flow)
        assert kept.kept is True
        assert kept.loss == 0
        assert kept.delay_p99 <= planned.promised_p99 * 1.001
        _, late = outcome(office, "fifo", flow)
        assert late.on_target is False
        assert late.within < 0.99


@pytest.mark.parametrize("rate", ["2mbit", "4mbit", "10mbit", "30mbit"])
@pytest.mark.parametrize("buffer", [None, "60p", "unlimited"])
def test_promises_hold_at_other_rates(rate, buffer):
    played = replay(OFFICE, rate=rate, buffer=buffer)
    assert any(flow.kept for flow in played.flows["virtual-clock"])
    assert played.broken() == []


def test_nothing_is_under_way_at_the_end(office):
    for results in office.results.values():
        for row in results.flows.to_pylist():
            assert row["sent_packets"] == row["received_packets"] + row["dropped_packets"]


def test_every_scheduler_gets_the_same_packets(office):
    fifo, clock = (results.flows for results in office.results.values())
    assert fifo["sent_bytes"].equals(clock["sent_bytes"])
    assert sum(fifo["sent_bytes"].to_pylist()) == office.plan.bytes


def random_traffic(seed, path):
    """Flows of random bursts as CSV, some of them large."""
    rng = random.Random(seed)
    packets = []
    for flow in range(rng.randint(2, 8)):
        at, size, burst = rng.random(), rng.randint(60, 1500), rng.randint(1, 30)
        gap = rng.uniform(0.001, 0.1)
        while at < 4:
            packets += [(at, rng.randint(40, size), flow)] * rng.randint(1, burst)
            at += rng.expovariate(1 / gap)
    rows = [f"{at:.6f},{size},10.0.0.1:{5000 + flow}>10.0.0.2:9/udp" for at, size, flow in sorted(packets)]
    path.write_text("\n".join(["time,size,flow", *rows]) + "\n")
    return sum(size for _, size, _ in packets) * 8 / 4


@pytest.mark.parametrize("seed", range(24))
def test_no_promise_is_broken_whatever_the_traffic_and_the_buffer(seed, tmp_path):
    mean = random_traffic(seed, tmp_path / "a.csv")
    rng = random.Random(f"link {seed}")
    seen = plan(tmp_path / "a.csv", 10**6)
    protect = rng.sample([flow.name for flow in seen.flows], max(1, len(seen.flows) // 2))
    played = replay(
        tmp_path / "a.csv",
        rate=int(mean * rng.uniform(0.5, 2)),
        buffer=rng.choice([None, "20p", "100p", "20kB", "200kB", "unlimited"]),
        target=rng.uniform(0.02, 1.0),
        protect=protect,
        speed=rng.choice([1.0, 3.0]),
        repeat=rng.choice([1, 1, 3]),
    )
    assert {flow.name for flow in played.plan.protected} == set(protect)
    assert played.broken() == []
    for flow, under in zip(played.plan.flows, played.flows["virtual-clock"], strict=True):
        assert flow.reserve is None or (under.loss == 0 and under.kept)
        assert (flow.reserve is None) is (flow.promised_p99 is None)


def test_random_traffic_is_often_promised_something(tmp_path):
    """The property above says nothing where nothing is promised."""
    made = 0
    for seed in range(24):
        mean = random_traffic(seed, tmp_path / "a.csv")
        names = [flow.name for flow in plan(tmp_path / "a.csv", 10**6).flows]
        made += sum(
            flow.reserve is not None
            for flow in plan(tmp_path / "a.csv", int(mean), target=0.3, protect=names).flows
        )
    assert made > 24


def test_a_buffer_too_small_for_the_bursts_leaves_their_flow_out():
    held = replay(OFFICE, rate="3mbit", buffer="4p")
    video = next(flow for flow in held.plan.protected if flow.name == "udp-5004")
    assert (video.reserve, video.reason) == (None, "no-buffer")
    (said,) = (one for one in held.verdict.sentences if one.startswith("udp-5004 is left out"))
    enough = said.split("a queue of ")[1].split()[0]
    assert enough.endswith("p")
    enlarged = replay(OFFICE, rate="3mbit", buffer=enough)
    assert next(flow for flow in enlarged.plan.protected if flow.name == "udp-5004").reserve


def test_the_queue_is_sized_for_the_promises_unless_it_is_given():
    sized, given = (plan(OFFICE, 2_601_089, buffer=buffer) for buffer in (None, "100ms"))
    assert given.buffer == "32514B"
    assert not given.sized
    assert sized.sized
    assert 32514 < int(sized.buffer.removesuffix("B")) <= 2 * 32514
    assert sum(flow.reserve is not None for flow in given.flows) == 2
    assert sum(flow.reserve is not None for flow in sized.flows) == 3


def test_a_flow_that_does_not_fit_changes_nothing_for_the_others():
    names = ["udp-40000", "udp-5004"]
    alone = plan(OFFICE, 3_000_000, protect=names[:1])
    beside = plan(OFFICE, 3_000_000, protect=names, target=0.02)
    voice, video = (next(flow for flow in beside.flows if flow.name == name) for name in names)
    assert voice.reserve == alone.protected[0].reserve
    assert voice.target == 0.02
    assert (video.reserve, video.reason) == (None, "link-too-slow")


def test_a_delay_is_queueing_and_own_transmission(tmp_path):
    capture = tmp_path / "a.pcap"
    capture.write_bytes(pcap([(0, 1, 1000), (0, 1, 500)]))
    played = replay(capture, rate="1mbit", schedulers=["fifo"])
    assert played.flows["fifo"][0].delay_max == pytest.approx(1500 * 8 / 1e6)


def test_speed_and_repeat():
    slow = replay(OFFICE, rate="3mbit", target="100ms", buffer="100ms")
    fast = replay(OFFICE, rate="30mbit", target="10ms", buffer="10ms", speed=10)
    pairs = list(zip(slow.plan.flows, fast.plan.flows, strict=True))
    assert all(a.reserve is None or b.reserve == 10 * a.reserve for a, b in pairs)
    assert fast.plan.span == pytest.approx(slow.plan.span / 10)
    assert fast.plan.reserved == 10 * slow.plan.reserved > 0
    assert fast.broken() == []
    (_, a), (_, b) = (outcome(played, "fifo", VOICE) for played in (slow, fast))
    assert b.loss == a.loss
    assert b.delay_mean == pytest.approx(a.delay_mean / 10, rel=1e-3)
    twice = replay(OFFICE, rate="3mbit", repeat=2, schedulers=["fifo"])
    assert sum(flow.sent for flow in twice.flows["fifo"]) == 2 * 12869
    for wrong in ({"speed": 0.0}, {"speed": float("nan")}, {"repeat": 0}, {"speed": 1e9}):
        with pytest.raises(tidegate.TidegateError):
            replay(OFFICE, rate="3mbit", **wrong)


def test_the_command_says_what_matters(tmp_path):
    out = tmp_path / "out"
    done = call("replay", OFFICE, "--rate", "3mbit", "--out", out)
    assert done.exit_code == 0, done.stderr
    for words in (
        "123 flows, 12869 packets",
        VIDEO.removesuffix("/udp"),
        "85.63 kbit/s",
        "UDP, 50 packets/s of 214 B",
        "open loop",
        "115 more flows not shown",
        "37500B",
        "it holds one direction only",
        "udp-40000 needs 131 kbit/s",
        "20 ms for udp-40000 and 100 ms for udp-5004",
        "the others pay 27 % of their throughput",
    ):
        # Wherever its lines are broken.
        assert words in " ".join(done.stdout.split()), words
    assert max(map(len, done.stdout.splitlines())) <= 100 or str(out) in done.stdout
    assert (
        tidegate.Results.load(out / "fifo").fingerprints
        == tidegate.simulate(tidegate.load(out / "office.toml", [("port.scheduler", "fifo")])).fingerprints
    )


def test_the_command_in_json():
    done = call("replay", OFFICE, "--rate", "3mbit", "--json", "--scheduler", "virtual-clock")
    document = json.loads(done.stdout)
    assert document["promises"] == {"made": 3, "broken": []}
    assert document["verdict"]["kind"] == "not-compared"
    assert document["flows"][0]["flow"] == VIDEO
    assert document["flows"][0]["schedulers"]["virtual-clock"]["kept"] is True
    assert any("open loop" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--rate", "3mb", "not a unit of rate"),
        ("--scheduler", "fif", "did you mean `fifo`?"),
        ("--buffer", "64k", "write `64kB`"),
        ("--buffer", "10B", ""),
        ("--target", "20", "unit"),
        ("--scheduler", ",", "at least one scheduler"),
        ("--protect", "udp-50004", "did you mean `udp-5004`?"),
        ("--protect", "nobody", "they are udp-5004, http-1"),
        ("--inside", "10.77.1.10/24", "prefixes such as 192.168.0.0/16"),
        ("--inside", "192.168.0.0/16", "on the inside of the link with --inside"),
        ("--direction", "sideways", "a direction is `up` or `down`"),
        ("--speed", "0", "a speed is from 0.001 to 1000"),
    ],
)
def test_a_mistake_in_an_option_is_answered(option, value, words):
    options = {"--rate": "3mbit"} | {option: value}
    done = call("replay", OFFICE, *(part for pair in options.items() for part in pair))
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert (done.exit_code == 1) is bool(words)


def test_a_verdict_where_fifo_is_enough(tmp_path):
    path = tmp_path / "call.pcap"
    path.write_bytes(pcap([(at / 50, 4000, 214) for at in range(500)]))
    verdict = replay(path, rate="1mbit").verdict
    assert (verdict.kind, verdict.worse) == ("no-scheduler-needed", ())
    assert verdict.sentences == ("FIFO keeps 20 ms for udp-9: no scheduler needed",)


def test_throughput_is_what_run_says(office):
    for scheduler, results in office.results.items():
        by_flow = {row["flow"]: row["throughput"] for row in results.flows.to_pylist()}
        assert {flow.name: flow.throughput for flow in office.flows[scheduler]} == by_flow


def check_row(row, path, capfd):
    """Statements about a replay are true of its simulation, and a gate takes its file."""
    played, verdict = row.replay, row.replay.verdict
    assert played.broken() == []
    for flow in played.plan.protected:
        before, after = (
            next(one for one in played.flows[scheduler] if one.name == flow.name)
            for scheduler in ("fifo", "virtual-clock")
        )
        worse = after.loss > before.loss or (after.delay_p99 or 0) > (before.delay_p99 or 0) * 1.002
        assert worse is (flow.name in verdict.worse)
        assert not worse or any(flow.name in one and "worse" in one for one in verdict.sentences)
    gate = played.write_gate(path, force=True)
    assert (gate is None) is (played.plan.reserved == 0)
    assert gate is None or tidegate._tidegate.gate(["tidegate gate", "check", str(gate)]) == 0
    capfd.readouterr()


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("name", ["office.pcap", *CAPTURES])
def test_promises_hold_on_real_captures_and_nobody_is_worse_off_unsaid(name, everything, tmp_path, capfd):
    path = OFFICE if name == "office.pcap" else DATA / "pcap" / name
    if not path.exists():
        pytest.skip(f"real captures are not at {DATA}")
    for row in make_replay.rows(path, everything=everything):
        check_row(row, tmp_path / "gate.toml", capfd)


@needs_data
def test_the_table_of_the_page_is_what_replays_come_to():
    page = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    assert make_replay.table() in page


@needs_data
def test_the_bellcore_trace():
    played = replay(
        DATA / "packets" / "BC-pAug89-first100001.TL.gz", rate="10mbit", protect=["trace"], target="20ms"
    )
    (trace,) = played.plan.flows
    assert trace.packets == 100_001
    assert trace.mean_rate == pytest.approx(1.473e6, rel=1e-3)
    assert trace.mean_rate < trace.reserve < 9_500_000
    assert played.broken() == []
    # Alone on the link, every scheduler does the same.
    assert played.results["fifo"].fingerprints == played.results["virtual-clock"].fingerprints
