"""Scenarios in a Linux kernel in virtual time: the plan everywhere, the kernel itself where it is built."""

import json
import os
import re
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from conftest import call
from tidegate import TidegateError, backends
from tidegate.source import resolve
from tidegate_lab.gate_in_kernel import trial
from tidegate_lab.testbed import backend, lockstep, measure, qdisc, records, runs
from tidegate_lab.testbed.network import CLOCK_STEP
from tidegate_lab.testbed.plan import described, plan
from tidegate_lab.testbed.recorder import SLOT
from tidegate_lab.uml import build

VERIFY = os.environ.get("TIDEGATE_VERIFY")
needs_verify = pytest.mark.skipif(not VERIFY, reason="takes a minute: set TIDEGATE_VERIFY")
RECORDS = Path(__file__).parents[1] / "crates/core/tests/kernel"
"""Records of the kernel, as core's tests read them."""
TIMES = re.compile(r"^start \d+$", re.MULTILINE)
"""When a record began: the time that the kernel took until then."""
STEPS = 5
"""Steps of the kernel's clock by which two starts may be apart: each look at it takes one."""

DUMBBELL = """
version = 1
name = "dumbbell"
duration = "3s"
warmup = "1s"
topology = { kind = "dumbbell", pairs = 2, rate = "10mbit", delay = "10ms", access = { rate = "1gbit" } }
port = "fifo"
switch = { buffer = "50p" }

[[connection]]
name = "upload"
from = "l1"
to = "r1"
size = "1500B"
transport = { kind = "tcp", stack = "rfc", congestion = "cubic" }

[[flow]]
name = "call"
from = "l2"
to = "r2"
size = "200B"
source = { kind = "poisson", rate = "80kbit" }
"""


def planned(tmp_path, text=DUMBBELL, sets=()):
    scenario = resolve(text, sets).scenario
    found = described(scenario)
    arrivals, _ = runs.drawn(scenario, 1, found)
    return found, plan(scenario, found, arrivals, tmp_path)


def test_without_the_kernel_the_command_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "a.toml").write_text(DUMBBELL)
    refused = call("lab", "run", tmp_path / "a.toml")
    assert refused.exit_code == 1
    assert "the laboratory's kernel is not built yet" in refused.stderr
    assert "help: run `tidegate lab kernel`" in refused.stderr


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TidegateError, match=r"apt install make gcc flex bison bc xz-utils tar iproute2$"):
        build.check_tools()


def test_every_flow_has_an_address_and_a_route_along_its_links(tmp_path):
    found, made = planned(tmp_path)
    for index, flow in enumerate(found["flows"]):
        address = f"10.0.0.{index + 1}/32"
        places = [node for node, own in enumerate(made["nodes"]) if f"addr add {address} dev lo" in own["ip"]]
        assert places == [found["links"][flow["route"][-1]]["to"]]
        on_the_way = {
            node
            for node, own in enumerate(made["nodes"])
            if any(line.startswith(f"route add {address} ") for line in own["ip"])
        }
        assert on_the_way == {found["links"][at]["from"] for at in flow["route"]}
    # Both directions of a link have one cable.
    assert sorted(link["cable"] for link in made["links"]) == sorted([*range(len(made["cables"]))] * 2)


def test_open_loop_flows_send_what_the_simulator_draws(tmp_path):
    found, made = planned(tmp_path)
    (call_flow,) = (flow for flow in made["flows"] if flow["kind"] == "datagrams")
    packets = np.fromfile(tmp_path / call_flow["packets"], dtype=np.int64).reshape(-1, 2)
    assert set(packets[:, 1]) == {200}
    assert (np.diff(packets[:, 0]) > 0).all()
    log, tables = backends.logged_run(resolve(DUMBBELL).scenario, 1)
    row = next(row for row in tables["flows"].to_pylist() if row["flow"] == "call")
    assert (packets[:, 0] >= 1e9).sum() == row["sent_packets"]
    assert found["flows"][0]["name"] in {"call", "upload"}
    assert len(log.time) == len(log.event)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fifo", "pfifo limit 49"),
        ("codel", "codel limit 49 target 5000us interval 100000us ecn"),
        ("fq-codel", "fq_codel limit 49 flows 1024 quantum 1514 target 5000us interval 100000us ecn"),
        ("fq-pie", "fq_pie limit 49 flows 1024 quantum 1514 target 15000us tupdate 14000us ecn"),
        ("pie", "pie limit 49 target 15000us tupdate 14000us ecn dq_rate_estimator"),
        (
            "red",
            "red limit 73500 min 6000 max 21000 avpkt 500 burst 80 probability 0.1 bandwidth 10000000bit ecn "
            "harddrop",
        ),
        ("fifo + codel(limit=30p)", "codel limit 29 target 5000us interval 100000us ecn"),
        ("fifo + drop-tail(limit=30p)", "pfifo limit 29"),
        (
            "fifo + red(min_th=10p, max_th=11p, max_p=1, weight=0.5, mean_packet=1500B, limit=30p)",
            "red limit 43500 min 13500 max 15000 avpkt 1500 burst 9 probability 1.0 bandwidth 10000000bit "
            "ecn harddrop",
        ),
    ],
)
def test_a_policy_is_the_kernels_queueing_discipline(tmp_path, policy, expected):
    found, made = planned(tmp_path, sets=[("port.policy", policy)])
    bottleneck = next(at for at, link in enumerate(found["links"]) if link["rate"] == 10_000_000)
    assert made["links"][bottleneck]["qdisc"] == [f"qdisc add dev @ parent 1:1 handle 10: {expected}"]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([("port.policy", "virtual-clock")], "no queueing discipline like virtual-clock"),
        ([("connection.upload.transport.recovery", "reno-1990")], "loss recovery `reno-1990`"),
        (
            [("connection.upload.transport", '{ kind = "tcp", congestion = "prague", ecn = "on" }')],
            "congestion control `prague`",
        ),
        ([("flow.call.size", "40B")], "shorter than a datagram"),
        (
            [("port.policy", "fifo + red(min_th=10p, max_th=11p, weight=1)")],
            "`tc` derives RED's weight from a burst, and none gives 1 here",
        ),
        (
            [("port.policy", "fifo + codel(limit=30kB)")],
            "no queueing discipline like a dropper with a limit in bytes",
        ),
        (
            [("port.policy", "drr++ + codel(scope=flow, limit=30p)")],
            "no queueing discipline like a limit for each flow",
        ),
    ],
)
def test_what_the_kernel_lacks_is_refused_before_it_starts(tmp_path, sets, message):
    with pytest.raises(TidegateError, match=message):
        planned(tmp_path, sets=sets)


def test_a_link_that_loses_packets_is_refused(tmp_path):
    link = """
version = 1
duration = "1s"
link = [{ from = "a", to = "b", rate = "1mbit", loss = 0.1 }]
node = [{ name = "a" }, { name = "b" }]
flow = [{ name = "f", from = "a", to = "b", size = "100B", source = { kind = "cbr", rate = "10kbit" } }]
"""
    with pytest.raises(TidegateError, match="link `a->b`: loss is not carried over"):
        planned(tmp_path, link)


def test_a_limit_of_bytes_is_one_of_packets_where_the_kernel_counts_those():
    assert qdisc.packets({"bytes": 15_000}, 1500) == 9
    assert qdisc.packets({"packets": 1}, 1500) == 1


def slot(time, flow, identification, flags, sequence, payload, ecn=0):
    ip = struct.pack(">BBHHHBBH", 0x45, ecn, 40 + payload, identification, 0x4000, 64, 6, 0)
    ip += bytes([10, 0, 0, 9]) + bytes([10, 0, 0, flow + 1])
    tcp = struct.pack(">HHIIBBHHH", 5000, 5000, sequence, 0, 5 << 4, flags, 0, 0, 0)
    frame = bytes(12) + b"\x08\x00" + ip + tcp
    header = struct.pack("<IIIHHIIHHI", 1, 54 + payload, len(frame), 66, 80, 5, time, 0, 0, 0)
    return (header.ljust(66, b"\0") + frame).ljust(SLOT, b"\0")


def test_records_are_read_as_the_kernel_writes_them(tmp_path):
    numbers = [65_534, 65_535, 0, 1]
    # An answer to an opening segment has no identification; opening segments have, each its own.
    ring = slot(99, 1, 65_533, 2, 98, 0) + slot(100, 1, 0, 18, 99, 0)
    ring += b"".join(slot(200, 1, number, 16, 100 + 1000 * at, 1000, 3) for at, number in enumerate(numbers))
    ring += slot(200, 77, 1, 16, 0, 0)
    (tmp_path / "ring").write_bytes(ring)
    packets = records.read(tmp_path / "ring", 5_000_000_000, 3)
    # Packets of one step of the clock keep their order; those of no flow are left out.
    assert packets.time.tolist() == [99, 100, 200, 201, 202, 203]
    assert packets.flow.tolist() == [1] * 6
    assert packets.number.tolist() == [65_533, -1, *numbers]
    assert records.unwrapped(packets.number, 65_533).tolist() == [0, -1, 1, 2, 3, 4]
    assert packets.payload.tolist() == [0, 0, 1000, 1000, 1000, 1000]
    assert packets.is_marked.tolist() == [False, False, True, True, True, True]


def test_packets_are_followed_from_port_to_port():
    def seen(times, numbers):
        count = len(times)
        columns = [np.array(times), np.zeros(count, int), np.array(numbers), np.full(count, 1000)]
        return records.Packets(*columns, np.zeros(count, bool), np.zeros(count, int), np.zeros(count, int))

    found = {
        ("started", 0): seen([0, 10, 20, 30], [0, 1, 2, 3]),
        ("received", 0): seen([5, 15, 25, 35], [0, 1, 2, 3]),
        ("started", 1): seen([5, 40], [0, 2]),
        ("received", 1): seen([9, 44], [0, 2]),
    }
    sent = np.array([[0, 1000], [10, 1000], [20, 1000], [30, 1000]])
    flow = measure.follow(0, {"route": [0, 1]}, found, sent)
    assert flow.received.tolist() == [9, -1, 44, -1]
    # The last one may still wait.
    assert flow.lost_at.tolist() == [-1, 1, -1, -1]
    assert flow.queueing.tolist() == [0, 0, 15, 0]
    row = measure.flow_row(flow, 0, 100)
    assert (row["sent_packets"], row["received_packets"], row["dropped_packets"]) == (4, 2, 1)
    assert row["delay_max"] == pytest.approx(24e-9)


def test_runs_in_the_kernel_repeat_to_the_nanosecond(kernel):
    for policy in ("fifo", "red", "pie"):
        source = resolve(DUMBBELL, [("port.policy", policy)])
        one, other = (runs.run_once(kernel, source, 3, 0).fingerprint for _ in range(2))
        assert one == other, policy


@pytest.mark.usefixtures("kernel")
def test_seeds_are_replications_in_the_kernel_too():
    results = backend.run(resolve(DUMBBELL, [("port.policy", "pie")]), replications=2, seed=1)
    assert len(set(results.fingerprints)) == 2


def test_a_packet_alone_takes_what_its_lines_take(kernel):
    source = resolve(DUMBBELL, [("connection.upload.start", "2900ms")])
    outcome = runs.run_once(kernel, source, 1, 0)
    row = next(row for row in outcome.tables["flows"].to_pylist() if row["flow"] == "call")
    alone = 200 * 8 * (1 / 10e6 + 2 / 1e9) + 10e-3
    assert row["delay_p50"] == pytest.approx(alone, abs=2e-6)
    assert row["dropped_packets"] == 0


@pytest.mark.usefixtures("kernel")
def test_the_kernel_and_the_simulator_are_two_columns(tmp_path):
    (tmp_path / "a.toml").write_text(DUMBBELL)
    done = call("compare", tmp_path / "a.toml", "--on", "sim,linux", "--replications", 2, "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["policies"] == ["sim", "linux"]
    (row,) = (row for row in document["rows"] if (row["group"], row["metric"]) == ("upload", "throughput"))
    assert row["values"]["linux"]["mean"] == pytest.approx(row["values"]["sim"]["mean"], rel=0.05)


@pytest.mark.usefixtures("kernel")
def test_a_call_keeps_the_gates_bound_beside_floods_and_reloads():
    done = trial.carry_out(2.0, 20, 1)
    assert done.failures == []
    assert (done.figures["lost"], done.figures["late"]) == (0, 0)
    assert done.figures["floods"] > 4000
    # The line is full: the call would wait behind others without its reservation.
    assert done.figures["packets"] == 111


def test_a_packet_over_its_bound_is_found(tmp_path):
    def ring(name, rows):
        frames = [datagram(*row) for row in rows]
        (tmp_path / name).write_bytes(b"".join(frames))
        return records.Ring(tmp_path / name, 5_000_000_000)

    sent = ring("sent", [(0, 0), (50_000_000, 1), (100_000_000, 2)])
    # 1000 bytes take 8 ms at the reserved rate: the second leaves 3 ms later, the third never.
    left = ring("left", [(8_000_000, 0), (61_000_000, 1)])
    figures = trial._figures(sent, left, 2e-3)
    assert (figures["packets"], figures["lost"], figures["late"]) == (3, 1, 1)
    assert figures["latest"] == pytest.approx(3e-3)


def datagram(time, number):
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 986, 0, 0, 64, 17, 0) + bytes([10, 0, 0, 1, 192, 0, 2, 1])
    frame = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHHI", 4000, 5004, 966, 0, number)
    header = struct.pack("<IIIHHIIHHI", 1, 1000, len(frame), 66, 80, 5, time, 0, 0, 0)
    return (header.ljust(66, b"\0") + frame).ljust(SLOT, b"\0")


@pytest.mark.usefixtures("kernel")
def test_results_of_the_kernel_are_replaced_and_say_what_ran(tmp_path):
    (tmp_path / "a.toml").write_text(DUMBBELL)
    for _ in range(2):
        done = call("lab", "run", tmp_path / "a.toml", "--out", tmp_path / "out")
        assert done.exit_code == 0, done.stderr
    about = json.loads((tmp_path / "out" / "manifest.json").read_text())["backend"]
    assert about["kernel"].startswith("6.")
    assert any("pfifo" in line for line in about["qdiscs"]["left->right"])
    assert call("run", tmp_path / "a.toml", "--out", tmp_path / "out").exit_code == 0


def test_an_unknown_backend_is_answered_with_the_known_ones(tmp_path):
    (tmp_path / "a.toml").write_text(DUMBBELL)
    wrong = call("compare", tmp_path / "a.toml", "--on", "sim,bsd")
    assert wrong.exit_code == 1
    assert "help: it is one of sim, linux" in wrong.stderr


def test_policies_do_what_the_kernels_do_packet_by_packet(kernel):
    for _, _, row in lockstep.compare(kernel, 500, 2):
        assert row["packets"] in (500, 504)
        assert row["differing"] == 0, row
        assert row["apart"] <= STEPS * CLOCK_STEP * 1e-9, row


def packets(record):
    """Return the packets of a record: what arrived when, how long each waited, and what became of it."""
    rows = [line.split() for line in TIMES.sub("", record).splitlines() if line and line[0] != "#"]
    return rows, [re.fullmatch(r"(\d*)(\D*)", row[4]).groups() for row in rows]


@needs_verify
def test_the_kernel_does_what_was_recorded(kernel):
    """Where the temporary folder has a longer name, the kernel looks at its clock another number of times.

    Two packets that come within such a step of a decision may then change places.
    """
    names = []
    for name, (text,), row in lockstep.compare(kernel, 3000, 7):
        (came, fates), (recorded, expected) = packets(text), packets((RECORDS / f"{name}.txt").read_text())
        assert [one[1:4] for one in came] == [one[1:4] for one in recorded], name
        apart = [abs(int(one[0]) - int(other[0])) for one, other in zip(came, recorded, strict=True)]
        assert max(apart) <= STEPS, name
        # Dropped, marked or sent: of each as many.
        kinds = [Counter((bool(wait), kind) for wait, kind in one) for one in (fates, expected)]
        assert kinds[0] == kinds[1], name
        waited, before = (sum(int(wait or 0) for wait, _ in one) for one in (fates, expected))
        assert waited == pytest.approx(before, rel=0.01), name
        assert row["differing"] == 0, row
        names.append(name)
    assert sorted(names) == sorted(file.stem for file in RECORDS.glob("*.txt"))


def test_packets_are_divided_into_runs():
    assert lockstep._counts(7, None) == [7]
    assert lockstep._counts(7, 7) == [7]
    assert lockstep._counts(8, 3) == [3, 3, 2]


def test_only_a_policy_that_exists_is_compared():
    refused = call("lab", "policies", "--only", "no-such-policy")
    assert refused.exit_code == 1
    assert "no policy has `no-such-policy` in its name" in refused.stderr


def test_reds_weight_is_the_one_that_tc_derives_from_a_burst():
    for exponent in range(2, 12):
        for least in (2.0, 9.0, 54.0):
            burst = qdisc._burst(2.0**-exponent, least, {"name": "a->b"})
            kept = [burst + 1 - least <= (1 - (1 - 2.0**-one) ** burst) * 2.0**one for one in range(1, 32)]
            assert kept.index(True) + 1 == exponent, (exponent, least)
