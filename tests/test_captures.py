"""Captures, as Wireshark reads them."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time

import pyarrow.compute as pc
import pytest

import tidegate
from files import ROOT

TCP = ROOT / "examples" / "tcp.toml"
# The warm-up is over at once: tables count every packet, as a capture does.
WHOLE = [("warmup", "0s")]

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")

MIXED = """
version = 1
name = "mixed"
duration = "10s"
topology = { kind = "dumbbell", pairs = 2, rate = "10mbit", delay = "10ms" }
port = { scheduler = "fifo", dropper = { kind = "codel" } }
[[connection]]
name = "marked"
from = "l1"
to = "r1"
size = "1500B"
transport = { kind = "tcp", stack = "rfc", ecn = "on", handshake = "on" }
[[flow]]
name = "call"
from = "l2"
to = "r2"
size = "200B"
source = { kind = "cbr", rate = "64kbit" }
"""


def fields(capture, shown, *names):
    """Return the fields that tshark reads from the packets that a filter shows."""
    wanted = [part for name in names for part in ("-e", name)]
    command = ["tshark", "-r", str(capture), "-Y", shown, "-T", "fields", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def count(capture, shown):
    return len(fields(capture, shown, "frame.number"))


@needs_tshark
@pytest.mark.parametrize("recovery", ["reno-1990", "newreno", "sack"])
def test_wireshark_finds_the_retransmissions_that_the_table_counts(recovery, tmp_path):
    capture = tmp_path / "sender.pcapng"
    sets = [*WHOLE, *((f"connection.{name}.transport.recovery", recovery) for name in ("there", "back"))]
    results = tidegate.simulate(TCP, captures={"l1-left": capture}, sets=sets)
    (counted,) = [row["retransmissions"] for row in results.flows.to_pylist() if row["flow"] == "there"]
    assert counted > 20
    again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    assert count(capture, again) == counted
    assert count(capture, "_ws.malformed || ip.checksum.status == 0 || tcp.analysis.ack_lost_segment") == 0
    assert (count(capture, "tcp.options.sack.count") > 0) == (recovery == "sack")


@needs_tshark
def test_marks_handshakes_and_times_are_those_of_the_run(tmp_path):
    capture = tmp_path / "bottleneck.pcapng"
    results = tidegate.simulate(MIXED, captures={"left->right": capture})
    flows = {row["flow"]: row for row in results.flows.to_pylist()}
    assert count(capture, "_ws.malformed") == 0
    # Packets whose last bit is in at their destination after the end of the run are not received.
    marked = count(capture, "ip.dsfield.ecn == 3")
    assert marked > 10
    assert 0 <= marked - flows["marked"]["marked_packets"] <= 1
    assert 0 <= count(capture, "udp") - flows["call"]["received_packets"] <= 1
    [[flags, shift]] = fields(capture, "tcp.flags.syn == 1", "tcp.flags.ack", "tcp.options.wscale.shift")
    assert (flags, shift) in [("0", "7"), ("False", "7")]
    comments = [one for [one] in fields(capture, "udp", "frame.comment")]
    assert comments[:3] == ["call #0", "call #1", "call #2"]
    times = [float(one) for [one] in fields(capture, "frame", "frame.time_epoch")]
    assert times == sorted(times)
    # The SYN of 40 bytes takes 0.32 µs at 1 Gbit/s and 32 µs at 10 Mbit/s.
    assert times[0] == pytest.approx(32.32e-6)
    (link,) = [row for row in results.links.to_pylist() if row["link"] == "left->right"]
    assert len(times) == pytest.approx(link["packets"], abs=1)


GATE = """
version = 1
gate = { inside = "a", outside = "b", up = "1mbit", down = "1mbit" }
"""
BESIDE_GATE = """
version = 1
name = "gate"
duration = "2s"
topology = { kind = "gate", file = "gate.toml" }

[[flow]]
name = "call"
from = "inside"
to = "outside"
size = "214B"
headers = { flow = "10.7.0.1:5004>192.0.2.1:5060/udp", dscp = "ef" }
source = { kind = "cbr", rate = "64kbit" }
"""


@needs_tshark
def test_headers_are_those_of_the_file_where_a_gate_is_on_the_way(tmp_path):
    (tmp_path / "gate.toml").write_text(GATE)
    (tmp_path / "scenario.toml").write_text(BESIDE_GATE)
    capture = tmp_path / "a.pcapng"
    scenario = tidegate.load(tmp_path / "scenario.toml")
    (link,) = [name for name in scenario.links if name.endswith("->outside")][:1]
    tidegate.simulate(scenario, captures={link: capture})
    seen = fields(capture, "udp", "ip.src", "ip.dst", "udp.dstport", "ip.dsfield.dscp", "ip.len")
    # Sizes of the flow are those of Ethernet frames.
    assert seen[0] == ["10.7.0.1", "192.0.2.1", "5060", "46", "200"]


def test_replay_reads_a_capture(tmp_path):
    capture = tmp_path / "sender.pcapng"
    results = tidegate.simulate(TCP, captures={"l1->left": capture}, sets=[*WHOLE, ("duration", "5s")])
    (sent,) = [row["packets"] for row in results.links.to_pylist() if row["link"] == "l1->left"]
    done = command("replay", str(capture), "--rate", "2mbit", "--json", cwd=tmp_path)
    replayed = json.loads(done.stdout)
    assert f'"packets": {sent}' in done.stdout or sent in found(replayed, "packets")


def found(part, name):
    """Return all values of a name in a document."""
    if isinstance(part, dict):
        own = [part[name]] if name in part else []
        return own + [value for one in part.values() for value in found(one, name)]
    return [value for one in part for value in found(one, name)] if isinstance(part, list) else []


def command(*words, cwd, check=True):
    line = [sys.executable, "-m", "tidegate", *words]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=check)


def test_a_capture_changes_no_outcome(tmp_path):
    plain = tidegate.simulate(TCP, sets=[*WHOLE, ("duration", "5s")])
    captured = tidegate.simulate(
        TCP, captures={"left-right": tmp_path / "a"}, sets=[*WHOLE, ("duration", "5s")]
    )
    assert captured.fingerprints == plain.fingerprints


def test_the_command_says_where_the_packets_are(tmp_path):
    short = ("--set", "duration=1s", "--set", "warmup=0s")
    pcap = ("--pcap", "l1-left=a.pcapng", "--pcap", "right->left=b.pcapng")
    done = command("run", str(TCP), *short, *pcap, cwd=tmp_path)
    assert done.stdout.splitlines()[-2:] == [
        "packets of l1-left in a.pcapng",
        "packets of right->left in b.pcapng",
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"a.pcapng", "b.pcapng"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pcap", "l1-left"], "--pcap l1-left: write it as LINK=FILE, as in s1-s2=out.pcapng"),
        (["--pcap", "=a"], "--pcap =a: write it as LINK=FILE, as in s1-s2=out.pcapng"),
        (["--pcap", "l1-lefft=a"], "there is no link `l1-lefft`\n  help: did you mean `l1-left`?"),
        (
            ["--pcap", "zzz=a"],
            "there is no link `zzz`\n  help: its links are left-right, l1-left, l2-left, r1-right, r2-right",
        ),
        (["--pcap", "l1-left=a", "--pcap", "l1-left=b"], "--pcap l1-left=b: the link l1-left is given twice"),
        (["--pcap", "l1-left=a", "--pcap", "l2-left=a"], "a: two captures have this file"),
        (["--pcap", "l1-left=a", "--replications", "2"], "a capture is of one run, not of 2"),
        (["--pcap", "l1-left=no/a"], "no/a: No such file or directory (os error 2)"),
    ],
)
def test_a_mistake_is_named(words, said, tmp_path):
    done = command("run", str(TCP), *words, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(said), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_packet_that_is_no_ip_packet_ends_the_run(tmp_path):
    text = MIXED.replace('"200B"', '"70kB"')
    with pytest.raises(tidegate.TidegateError, match=r"a\.pcapng: flow `call`: a packet of 70000 bytes"):
        tidegate.simulate(text, captures={"l2-left": tmp_path / "a.pcapng"})
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_leaves_no_capture(tmp_path):
    line = [
        sys.executable,
        "-m",
        "tidegate",
        "run",
        str(TCP),
        "--set",
        "duration=100000s",
        "--pcap",
        "l1-left=a",
    ]
    running = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not (tmp_path / "a.part").exists() or not (tmp_path / "a.part").stat().st_size:
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130
    assert list(tmp_path.iterdir()) == []


def test_parallel_links_are_told_apart(tmp_path):
    text = """
version = 1
name = "parallel"
duration = "1s"
routing = "ecmp"
link = [
    { from = "a", to = "b", rate = "1mbit" },
    { from = "a", to = "b", rate = "1mbit" },
]
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
[[flow]]
name = "f"
count = 20
from = "a"
to = "b"
size = "100B"
source = { kind = "cbr", rate = "20kbit" }
"""
    both = {"a-b": tmp_path / "1", "b-a#2": tmp_path / "2"}
    results = tidegate.simulate(text, captures=both)
    sent = {row["link"]: row["packets"] for row in results.links.to_pylist()}
    assert sent["a->b"]
    assert sent["a->b#2"]
    comments = [len(re.findall(rb"f/\d+ #\d+", path.read_bytes())) for path in both.values()]
    assert comments == [sent["a->b"], sent["a->b#2"]]
    assert pc.sum(results.links.column("packets")).as_py() == sum(comments)
