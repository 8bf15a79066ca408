import gzip
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate.replay import plan

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WORKLOADS = EXAMPLES.parents[1] / "shared" / "data" / "workloads"
LTE = EXAMPLES.parents[1] / "shared" / "data" / "links" / "ATT-LTE-driving-2016.down.gz"
BELLCORE = EXAMPLES.parents[1] / "shared" / "data" / "packets" / "BC-pAug89-first100001.TL.gz"


def python(script, *arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLES / script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo(tmp_path):
    done = call("demo", "--replications", 3, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    printed = done.stdout
    rows = {
        line.split()[0]: line for line in printed.splitlines() if " ± " in line and not line.startswith("±")
    }
    for name in ("voice", "video", "ssh", "ping", "steady"):
        assert " protected " in rows[name]
        assert len(re.findall(r" 0(?:\.0+)? % ± ", rows[name])) == 1
    for name in ("download", "bursts"):
        assert " pays " in rows[name]
    assert (tmp_path / "office.png").stat().st_size > 50_000


def test_the_office_holds_every_flow_of_its_capture_with_the_suggested_reservation():
    protect = ["udp-40000", "udp-5004", "ssh-1", "icmp"]
    capture = EXAMPLES / "captures" / "office.pcap"
    suggested = plan(capture, 10_000_000, target=0.05, buffer="125kB", protect=protect)
    cross = {f"{kind}-{hop}" for kind in ("steady", "bursts") for hop in (1, 2, 3)} | {"liar"}
    flows = [flow for flow in tidegate.load(EXAMPLES / "office.toml").flows if flow not in cross]
    assert len(flows) == len(set(flows)) == len(suggested.flows)
    lines = (EXAMPLES / "office.toml").read_text().splitlines()
    reserved = [line for line in lines if 'kind = "capture"' in line and "reserve" in line]
    expected = [flow for flow in suggested.flows if flow.reserve]
    assert len(reserved) == len(expected)
    for flow in expected:
        (line,) = (line for line in reserved if f'flow = "{flow.flow}"' in line)
        assert f'reserve = "{tidegate._tidegate.show_rate(flow.reserve)}"' in line


def test_a_ceiling_holds_the_liar_and_helps_the_others():
    free, held = (
        tidegate.simulate(tidegate.load(EXAMPLES / "office.toml", sets), replications=1)
        for sets in ((), [("flow.liar.ceiling", "500kbit")])
    )
    lost = [
        next(one for one in results.groups() if one.group == "liar").lost.mean for results in (free, held)
    ]
    assert lost[0] == 0
    assert lost[1] > 0.7

    def dropped(results: tidegate.Results, kind: str) -> int:
        rows = results.tables["flows"].to_pylist()
        return sum(row["dropped_packets"] for row in rows if row["group"].startswith(kind))

    for reserved in ("voice", "video", "ssh", "ping", "steady"):
        assert dropped(held, reserved) == dropped(free, reserved) == 0
    # The rate that the ceiling takes off is there for flows that reserve nothing.
    for others in ("download", "web"):
        assert dropped(held, others) < 0.85 * dropped(free, others)


def test_ten_lines():
    path = EXAMPLES / "ten-lines.toml"
    assert sum(1 for line in path.read_text().splitlines() if not line.startswith("#")) == 10
    comparison = tidegate.compare(path, ["fifo", "virtual-clock"], replications=2)
    lost = comparison.row("voice", "lost").values
    assert lost["fifo"].mean > 0.9
    assert lost["virtual-clock"].mean == 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_clone_is_enough(path):
    assert "shared/data" not in path.read_text()
    seconds = min(3.0, tidegate.load(path).duration)
    results = tidegate.simulate(tidegate.load(path, [("duration", f"{seconds:g}s"), ("warmup", "0s")]))
    assert results.packet_hops > 0


def test_stand_ins_are_what_their_program_makes(tmp_path):
    program = EXAMPLES / "stand-ins" / "make.py"
    (tmp_path / "make.py").write_bytes(program.read_bytes())
    subprocess.run([sys.executable, tmp_path / "make.py"], check=True)
    for name in ("ethernet.txt.gz", "lte.txt.gz"):
        made, kept = (gzip.decompress((folder / name).read_bytes()) for folder in (tmp_path, program.parent))
        assert made == kept


def recorded(path, *sets):
    """No settings, for an example on its stand-in, and those with which it runs on recorded data."""
    absent = pytest.mark.skipif(not path.exists(), reason=f"recorded data are not at {path}")
    return pytest.mark.parametrize(
        "sets", [pytest.param([], id="stand-in"), pytest.param([*sets], id="recorded", marks=absent)]
    )


@recorded(BELLCORE, ("duration", "253s"), ("flow.ethernet.source.file", str(BELLCORE)))
def test_bellcore(sets):
    comparison = tidegate.compare(
        EXAMPLES / "bellcore.toml", ["fifo", "virtual-clock"], replications=2, sets=sets
    )
    p99 = comparison.row("poisson", "delay_p99")
    assert p99.values["fifo"].mean > 5 * p99.values["virtual-clock"].mean
    assert comparison.row("ethernet", "lost").values["fifo"].mean == 0


@recorded(LTE, ("link.tower-phone.trace", str(LTE)))
def test_lte(sets):
    comparison = tidegate.compare(EXAMPLES / "lte.toml", ["fifo", "virtual-clock"], replications=2, sets=sets)
    p99 = comparison.row("call", "delay_p99").values
    assert p99["fifo"].mean > 3 * p99["virtual-clock"].mean
    lost = comparison.row("call", "lost").values["virtual-clock"].mean
    assert 0 < lost < 0.003
    results = tidegate.simulate(EXAMPLES / "lte.toml", replications=1, sets=sets)
    (link,) = results.links.to_pylist()
    # Whoever always has something to send gets all that the trace offers.
    assert link["utilisation"] == pytest.approx(1, abs=0.001)
    assert link["rate"] == pytest.approx(4.56e6 if sets else 4.525e6, rel=0.001)
    # The link also counts those that were sent before the warm-up was over.
    assert link["lost_packets"] >= sum(row["lost_packets"] for row in results.flows.to_pylist()) > 30


def test_captures():
    comparison = tidegate.compare(EXAMPLES / "captures.toml", ["fifo", "virtual-clock"], replications=1)
    lost, p99 = (comparison.row("call", metric).values for metric in ("lost", "delay_p99"))
    assert lost["fifo"].mean > 0
    assert lost["virtual-clock"].mean == 0
    assert p99["virtual-clock"].mean < 0.01 < 0.1 < p99["fifo"].mean


def test_a_scenario_in_python(tmp_path):
    printed = python("python_scenario.py", "--out", tmp_path)
    assert printed.count("neighbour sends") == 4
    assert (tmp_path / "neighbour.png").stat().st_size > 20_000


def test_calls_are_set_up_refused_warned_and_changed():
    text = (EXAMPLES / "calls.toml").read_text()
    assert f"```toml\n{text}```" in (EXAMPLES.parent / "docs" / "flow-network.md").read_text()
    results = tidegate.simulate(tidegate.load(EXAMPLES / "calls.toml"), replications=3)
    call, liar, _ = results.groups()
    # Offered are ten calls on average, and twelve and a half fit beside the liar and the film.
    assert 0 < call.refused.mean < 0.5
    assert call.warned.mean == 0
    assert call.lost.mean == 0
    # Once warned it slows down to what it reserved.
    assert 0 < liar.warned.mean < 0.01
    assert liar.throughput.mean == pytest.approx(64_000, rel=0.01)
    answers = {(row["group"], row["answer"]) for row in results.signals.to_pylist()}
    assert {("call", "granted"), ("call", "refused"), ("call", "torn down"), ("film", "granted")} <= answers
    (reason, *_) = [row["reason"] for row in results.signals.to_pylist() if row["answer"] == "refused"]
    assert reason.startswith("64kbit asked for, ")
    assert reason.endswith(" of 800kbit left")


def test_a_gates_file_is_tried_in_the_simulator_first():
    path = EXAMPLES / "gates" / "office-prediction.toml"
    comparison = tidegate.compare(path, ["fifo", "virtual-clock"], replications=2)
    # Behind one packet of 1538 bytes at 9.5 Mbit/s and the other calls, against the whole upload.
    p99 = comparison.row("calls", "delay_p99").values
    assert p99["virtual-clock"].mean < 0.002 < 0.1 < p99["fifo"].mean
    predicted = comparison.results["virtual-clock"]
    rows = {(row.flow, row.direction): row for row in predicted.gate_rows()}
    assert rows["voice", "up"].flows.mean == 4
    # The upload, and six web conversations, of which one that was idle for 2 s is forgotten.
    assert 5 < rows["computers", "up"].flows.mean <= 7
    assert rows["(no match)", "up"].arrived.mean == 0
    # 24 bytes more than the frame of 214.
    sent = sum(row.throughput.mean for row in predicted.groups() if row.group == "calls")
    assert rows["voice", "up"].throughput.mean == pytest.approx(sent * 238 / 214, rel=0.001)


def test_a_captured_call_goes_through_a_gate_both_ways():
    path = EXAMPLES / "gates" / "office-capture.toml"
    comparison = tidegate.compare(path, ["fifo", "virtual-clock"], replications=1)
    p99 = comparison.row("call", "delay_p99").values
    assert p99["virtual-clock"].mean < 0.02 < 0.2 < p99["fifo"].mean
    back = comparison.row("call-back", "lost").values
    assert back["virtual-clock"].mean == back["fifo"].mean == 0


def test_a_window_over_a_round_trip():
    path = EXAMPLES / "window.toml"
    text = path.read_text()
    round_trip = 0.04 + (1000 + 40) * 8 / 1e6 + 2 * (1000 + 40) * 8 / 1e9
    for window in (3, 7):
        results = tidegate.simulate(
            tidegate.load(path, [("connection.transfer.transport.window", str(window))])
        )
        transfer, answers = results.groups()
        expected = min(window * 8000 / round_trip, 1e6)
        assert transfer.throughput.mean == pytest.approx(expected, rel=0.01)
        assert answers.throughput.mean == pytest.approx(transfer.throughput.mean * 40 / 1000, rel=0.01)
    assert f"{3 * 8 / round_trip:.0f} kbit/s" in text


def test_acknowledgements_are_compressed_in_two_way_traffic():
    path = EXAMPLES / "tcp.toml"
    alone, both = (
        tidegate.simulate(tidegate.load(path, sets)) for sets in ([("connection.back.start", "59s")], [])
    )
    rows = [{row.group: row for row in results.groups()} for results in (alone, both)]
    # A packet of 1000 bytes takes 4 ms: alone, acknowledgements do not wait.
    assert rows[0]["there/ack"].queueing_mean.mean < 0.002 < 0.01 < rows[1]["there/ack"].queueing_mean.mean
    assert rows[0]["there"].throughput.mean > 1.9e6
    assert rows[1]["there"].throughput.mean < 0.9 * rows[0]["there"].throughput.mean


def test_the_videos_keep_the_contract_that_is_found_for_their_file():
    found = tidegate.contract(EXAMPLES / "video-frames.txt", fps=25, rate="1.2mbit")
    scenario = tidegate.load(EXAMPLES / "video.toml")
    [stated] = re.findall(r'^workahead = "(\d+)kB"', (EXAMPLES / "video.toml").read_text(), re.MULTILINE)
    assert found.fitting.workahead <= int(stated) * 1000 < found.fitting.workahead + 1000
    results = tidegate.simulate(scenario, workahead=[1])
    videos = next(row for row in results.groups() if row.group == "video")
    assert videos.discarded.mean == 0
    ahead = {row["flow"]: row["workahead"] for row in results.workahead_rows() if row["hop"] == 0}
    assert len(ahead) == 6
    # In packets at the peak rate they are less ahead than with frames that come whole, but not by
    # much.
    assert all(0.9 * found.fitting.workahead < one <= found.fitting.workahead for one in ahead.values()), (
        ahead
    )
    late = {
        scheduler: next(
            row.delay_max.mean
            for row in tidegate.simulate(scenario, sets=[("port.scheduler", scheduler)]).groups()
            if row.group == "video"
        )
        for scheduler in ("fifo", "virtual-clock")
    }
    assert late["virtual-clock"] < late["fifo"] / 2


def groups(file, *sets):
    results = tidegate.simulate(tidegate.load(EXAMPLES / file, sets))
    return results, {row.group: row for row in results.groups()}


def test_three_providers_and_their_boundaries():
    shorter = [("duration", "50s")]
    results, sold = groups("three-isps.toml", *shorter)
    # Whoever has the larger profile gets its pages sooner.
    times = [sold[who].transfer_mean.mean for who in ("gold", "silver", "plain")]
    assert times == sorted(times)
    assert times[0] < times[2] / 2
    records = {(row.link, row.profile): row for row in results.usage_rows()}
    assert len(records) == 7
    assert records["plain->in1", "nothing"].inside.mean == 0
    # Packets inside at a boundary were inside at the customers', and those that a boundary puts
    # outside stay.
    way = ["out1->in2", "in2->out2", "out2->in3", "in3->out3"]
    inside = [next(row.inside.mean for row in records.values() if row.link == link) for link in way]
    bought = sum(row.inside.mean for row in records.values() if row.link.endswith("->in1"))
    assert bought * 1.01 > inside[0] > 0.9 * bought
    assert all(before * 1.01 > behind for before, behind in itertools.pairwise(inside))
    # With too little bought at the boundary, no more than that is inside behind it, and gold waits
    # longer.
    results, short = groups("three-isps.toml", *shorter, ("profile.one-two.reserve", "2mbit"))
    behind = next(row for row in results.usage_rows() if row.link == "in3->out3")
    assert behind.inside.mean < 1.1 * 2e6 / 8 * 40
    assert short["gold"].transfer_mean.mean > 1.1 * sold["gold"].transfer_mean.mean


def test_three_providers_with_a_measured_distribution():
    if not WORKLOADS.is_dir():
        pytest.skip(f"measured distributions are not at {WORKLOADS}")
    sizes = str(WORKLOADS / "FbHdp_distribution.txt")
    sets = [(f"connection.{who}.data.file", sizes) for who in ("gold", "silver", "plain")]
    _, sold = groups("three-isps.toml", ("duration", "50s"), *sets)
    assert sold["gold"].goodput.mean > 1.5 * sold["plain"].goodput.mean


def test_senders_and_receivers_that_pay():
    shorter = ("duration", "40s")
    paid = {"sender-4": 4e6, "receiver-4": 4e6, "receiver-1": 1e6}
    results, honest = groups("receiver-pay.toml", shorter)
    for who, rate in paid.items():
        assert honest[who].throughput.mean == pytest.approx(rate, rel=0.25), who
    assert honest["sender-4"].marked.mean == honest["cbr"].marked.mean == 0
    assert honest["cbr"].lost.mean > 0.2
    # A receiver is charged for what met congestion inside its profile, and told of what did
    # outside.
    records = {row.profile: row for row in results.usage_rows() if row.link.startswith("right")}
    assert records["r2"].congested_inside.mean > 0
    assert honest["receiver-1"].marked.mean == pytest.approx(
        records["r3"].congested_outside.mean / 1500, rel=0.05
    )
    # It says that it answers to marks, and goes on.
    theft = ("flow.cbr.ecn", "on")
    results, robbed = groups("receiver-pay.toml", shorter, theft)
    assert robbed["cbr"].lost.mean < 0.01
    assert all(robbed[who].throughput.mean < 0.95 * honest[who].throughput.mean for who in paid)
    record = next(row for row in results.usage_rows() if row.profile == "r4")
    assert record.congested_outside.mean > 4 * record.congested_inside.mean
    # A meter that drops leaves its receiver with what it has bought.
    _, held = groups("receiver-pay.toml", shorter, theft, ("link.right-r4.meter.excess", "drop"))
    assert held["cbr"].throughput.mean == pytest.approx(1e6, rel=0.02)


def test_what_keeps_its_profile_is_served_in_either_queue():
    shorter = ("duration", "30s")
    _, rows = groups("guaranteed.toml", shorter)
    for kept in ("keeps-guaranteed", "keeps-statistical"):
        assert rows[kept].lost.mean == 0
        assert rows[kept].delay_p99.mean < 0.08
    for exceeds in ("exceeds-guaranteed", "exceeds-statistical"):
        assert rows[exceeds].lost.mean > 0.4
    # Sold more than there is: what is inside is lost, too, but in its own queue.
    _, oversold = groups("guaranteed.toml", shorter, ("profile.silver.reserve", "5mbit"))
    assert oversold["keeps-statistical"].lost.mean > 0.01
    assert oversold["keeps-guaranteed"].lost.mean == 0
    # One queue with RIO: nobody is told apart but by colour.
    sets = [(f"flow.{who}-statistical.class", "guaranteed") for who in ("keeps", "exceeds")]
    _, together = groups("guaranteed.toml", shorter, ("profile.silver.reserve", "5mbit"), *sets)
    assert together["keeps-guaranteed"].lost.mean > 0


def test_the_fabric_of_144_hosts_is_drawn(tmp_path):
    figure = tmp_path / "figure.png"
    options = "--sizes", "hadoop", "--loads", "0.5", "--seconds", "0.001", "--figure", figure
    lines = python("leaf_spine.py", *options).splitlines()
    slowdowns = {
        tuple(line.split()[2:5]): float(line.split()[-2]) for line in lines if line.startswith("hadoop")
    }
    assert slowdowns.keys() == {
        (control, "to", size) for control in ("cubic", "dctcp") for size in ("100", "10")
    }
    assert all(slowdown >= 0.99 for slowdown in slowdowns.values())
    assert figure.stat().st_size > 20_000


def test_six_policies_side_by_side(tmp_path):
    printed = python("side_by_side.py", "--out", tmp_path)
    delays, losses = printed.split("lost\n")
    heading, *_ = losses.splitlines()
    assert heading.split() == ["fifo", "red", "rio", "codel", "fq-codel", "virtual-clock"]
    voice = next(line for line in losses.splitlines() if line.startswith("voice"))
    lost = [float(share) for share in re.findall(r"([\d.]+) %", voice)]
    assert lost[0] > 1 > lost[-1]
    assert "voice" in delays
    assert (tmp_path / "side-by-side.png").stat().st_size > 50_000
