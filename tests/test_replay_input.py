"""Input of a replay, and which of its flows cross the link and are protected."""

import gzip
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tidegate
from captures import OFFICE, pcap
from conftest import call
from tidegate.replay import direction, plan, replay
from tidegate.replay.buffer import buffer_limit
from tidegate.replay.names import FiveTuple, is_five_tuple, readable_names
from tidegate.replay.scenario import scenario_toml

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_what_looks_like_a_call_a_video_or_a_shell_is_protected_and_bulk_is_not(office):
    protected = {flow.name: flow for flow in office.plan.protected}
    assert {name: flow.kind for name, flow in protected.items()} == {
        "udp-40000": "call",
        "udp-5004": "video",
        "ssh-1": "shell",
    }
    assert [flow.name for flow in office.plan.flows if flow.reserve] == ["udp-5004", "udp-40000", "ssh-1"]
    voice, video = protected["udp-40000"], protected["udp-5004"]
    # 64 kbit/s of sound is 85.6 kbit/s on the wire, and 1 Mbit/s of video must not get the link.
    assert 80_000 < voice.mean_rate < 90_000
    assert voice.mean_rate <= voice.reserve <= 2 * voice.mean_rate
    assert video.mean_rate <= video.reserve <= 2 * video.mean_rate
    assert office.plan.packets == 12869
    assert len(office.plan.flows) == 123
    assert office.plan.reserved <= 0.95 * 3e6
    assert office.plan.longest_packet == 1514
    assert [flow.bytes for flow in office.plan.flows] == sorted(
        (flow.bytes for flow in office.plan.flows), reverse=True
    )


def test_buffers():
    assert buffer_limit("100ms", 3_000_000, 1514) == "37500B"
    assert buffer_limit("1ms", 3_000_000, 1514) == "15140B"
    assert buffer_limit("100p", 3_000_000, 1514) == "100p"
    assert buffer_limit("unlimited", 3_000_000, 1514) is None
    unlimited = plan(OFFICE, 3_000_000, buffer="unlimited")
    assert "buffer" not in scenario_toml(unlimited, scheduler="fifo")


def test_names():
    flows = [
        "10.0.0.1:5000>10.0.0.2:53/udp",
        "10.0.0.2:443>10.0.0.1:5001/tcp",
        "10.0.0.2:443>10.0.0.1:5002/tcp",
        "[::1]:5000>[::2]:6000/udp",
        "10.0.0.1>10.0.0.2/icmp",
        "10.0.0.1>10.0.0.2/tcp",
        "10.0.0.1>10.0.0.2/99",
        "other",
    ]
    assert all(map(is_five_tuple, flows))
    names = ["dns", "https-1", "https-2", "udp-5000", "icmp", "tcp-fragments", "ip-99", "other"]
    assert readable_names(flows) == names
    assert not any(map(is_five_tuple, ["all", "voice", "a>b/udp", "10.0.0.1:x>10.0.0.2:3/udp"]))
    assert FiveTuple.read("other") is None


def test_a_list_without_flows_is_a_trace(tmp_path):
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress("".join(f"{k * 0.02:.3f} 200\n" for k in range(200)).encode()))
    assert replay(path, rate="200kbit").verdict.kind == "nothing-to-protect"
    played = replay(path, rate="200kbit", target="50ms", protect=["trace"])
    assert [flow.name for flow in played.plan.flows] == ["trace"]
    assert played.plan.flows[0].reserve >= 80_000
    assert played.broken() == []
    written = played.write_scenario(tmp_path / "list.toml").read_text()
    assert 'kind = "trace"' in written
    assert tidegate.simulate(tmp_path / "list.toml").fingerprints


def test_flows_with_free_names_get_a_verdict_and_reservations(tmp_path):
    """A call beside a transfer, named by words: what the same packets get when 5-tuples name them."""
    rows = [(at / 50, 214, "voice call (Ann)") for at in range(500)]
    rows += [(at / 400, 1514, "backup") for at in range(4000)]
    free, tuples = tmp_path / "free.csv", tmp_path / "tuples.csv"
    lines = [f"{at:.4f},{size},{flow}" for at, size, flow in sorted(rows)]
    free.write_text("\n".join(["time,size,flow", *lines]) + "\n")
    whole = free.read_text()
    for name, flow in (
        ("voice call (Ann)", "10.0.0.1:1>10.0.0.2:2/udp"),
        ("backup", "10.0.0.1:3>10.0.0.2:4/tcp"),
    ):
        whole = whole.replace(name, flow)
    tuples.write_text(whole)
    played, other = replay(free, rate="4500kbit"), replay(tuples, rate="4500kbit")
    assert [flow.name for flow in played.plan.protected] == ["voice-call-Ann"]
    assert [flow.name for flow in other.plan.protected] == ["udp-1"]
    assert played.verdict.kind == other.verdict.kind == "reservations-help"
    assert played.plan.reserved == other.plan.reserved > 0
    assert played.broken() == []
    assert [one.delay_p99 for one in played.flows["fifo"]] == [one.delay_p99 for one in other.flows["fifo"]]
    named = replay(free, rate="4500kbit", protect=["backup"], target="1s")
    assert [flow.flow for flow in named.plan.protected] == ["backup"]
    again = tidegate.simulate(played.write_scenario(tmp_path / "again.toml", "fifo"))
    assert again.fingerprints == played.results["fifo"].fingerprints


def test_a_byte_order_mark_before_a_list_is_passed_over(tmp_path):
    text = "time,size,flow\n" + "".join(f"{at / 50:.2f},214,a\n" for at in range(100))
    for name, content in (
        ("csv", text),
        ("list", text.replace("time,size,flow\n", "").replace(",a", "").replace(",", " ")),
    ):
        plain, marked = tmp_path / f"plain.{name}", tmp_path / f"marked.{name}"
        plain.write_text(content)
        marked.write_bytes(b"\xef\xbb\xbf" + content.encode())
        zipped = tmp_path / f"marked.{name}.gz"
        zipped.write_bytes(gzip.compress(marked.read_bytes()))
        seen = [replay(path, rate="1mbit").results["fifo"].fingerprints for path in (plain, marked, zipped)]
        assert seen[0] == seen[1] == seen[2]


def test_any_number_of_flows_is_played(tmp_path):
    """20,000 flows: one of them a call, which gets its reservation; every other one is played as well."""
    path = tmp_path / "many.csv"
    call_ = [(at / 50, 214, "192.168.1.9:40000>203.0.113.5:5004/udp") for at in range(500)]
    others = [
        (at / 2000 + 1e-4, 200, f"192.168.{at >> 8 & 127}.{at & 255}:{1024 + at % 60000}>203.0.113.9:53/udp")
        for at in range(20_000)
    ]
    rows = [f"{at:.5f},{size},{flow}" for at, size, flow in sorted(call_ + others)]
    path.write_text("\n".join(["time,size,flow", *rows]) + "\n")
    began = time.monotonic()
    played = replay(path, rate="3500kbit")
    assert len(played.plan.flows) == 20_001
    assert [flow.flow for flow in played.plan.protected] == ["192.168.1.9:40000>203.0.113.5:5004/udp"]
    for outcomes in played.flows.values():
        assert sum(outcome.sent for outcome in outcomes) == 20_500
    assert played.broken() == []
    assert time.monotonic() - began < 120
    scenario = played.write_scenario(tmp_path / "many.toml", "fifo")
    assert scenario.stat().st_size < 100_000
    assert tidegate.simulate(scenario).fingerprints == played.results["fifo"].fingerprints


WRONG = {
    "truncated": (pcap([], at_end=b"\x01\x02"), "is truncated"),
    "empty": (b"", "holds no packets"),
    "no-packets": (pcap([]), "holds no packets"),
    "not-a-capture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "is not a capture"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_file_that_cannot_be_used_gets_one_message(kind, tmp_path):
    content, words = WRONG[kind]
    path = tmp_path / f"{kind}.pcap"
    path.write_bytes(content)
    out = tmp_path / "out"
    done = call("replay", path, "--rate", "1mbit", "--out", out)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert words in done.stderr
    assert str(path) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not out.exists()


def two_way(tmp_path, hosts=("192.168.1.9", "198.51.100.7"), up=100, down=1000):
    """A conversation of two hosts: the first one asks from port 5000, the second one answers from port 80."""
    client, server = hosts
    rows = ["time,size,flow"]
    for at in range(100):
        rows.append(f"{at / 50:.2f},{up},{client}:5000>{server}:80/udp")
        rows.append(f"{at / 50:.2f},{down},{server}:80>{client}:5000/udp")
    path = tmp_path / "two-way.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_one_direction_crosses_the_link(tmp_path):
    path = two_way(tmp_path)
    down = plan(path, 10**6)
    assert (down.direction, down.inside) == ("down", ("192.168.0.0/16",))
    assert [flow.flow for flow in down.flows] == ["198.51.100.7:80>192.168.1.9:5000/udp"]
    assert (down.bytes, down.other_bytes, down.longest_packet) == (100_000, 10_000, 1000)
    up = plan(path, 10**6, way="up")
    assert [flow.flow for flow in up.flows] == ["192.168.1.9:5000>198.51.100.7:80/udp"]
    assert (up.bytes, up.other_bytes, up.longest_packet) == (10_000, 100_000, 100)
    turned = plan(path, 10**6, inside=["198.51.100.0/24"])
    assert (turned.direction, turned.flows[0].flow) == ("up", down.flows[0].flow)
    done = call("replay", path, "--rate", "1mbit")
    assert "only what goes down, to the inside (192.168.0.0/16), crosses the link" in done.stdout
    assert "100 other packets (10 kB) not played" in done.stdout
    results = replay(path, rate="1mbit").results["fifo"]
    assert results.flows["sent_packets"].to_pylist() == [100]


@pytest.mark.parametrize(
    ("hosts", "inside"),
    [
        (("10.1.2.3", "10.9.9.9"), "10.1.2.3/32"),
        (("203.0.113.5", "198.51.100.7"), "203.0.113.5/32"),
        (("127.0.0.1", "127.0.0.1"), "127.0.0.1/32"),
    ],
)
def test_a_direction_is_found_where_addresses_say_little(hosts, inside, tmp_path):
    found = plan(two_way(tmp_path, hosts), 10**6)
    assert found.inside == (inside,)
    assert [flow.bytes for flow in found.flows] == [100_000]


def test_a_direction_without_traffic_is_answered():
    flow = FiveTuple.read("10.0.0.1:1>198.51.100.1:2/udp")
    with pytest.raises(tidegate.TidegateError, match="no flow of the capture goes down"):
        direction.find([flow], [100], inside=["10.0.0.0/8"], way="down")


def test_a_download_is_never_protected_by_itself(tmp_path):
    path = tmp_path / "bulk.csv"
    rows = ["time,size,flow"]
    for at in range(2000):
        rows.append(f"{at / 200:.3f},1514,198.51.100.7:443>192.168.1.9:5000/tcp")
        rows.append(f"{at / 200:.3f},1292,198.51.100.7:443>192.168.1.9:5001/udp")
        rows.append(f"{at / 200:.3f},1470,198.51.100.7:5201>192.168.1.9:5002/udp")
    path.write_text("\n".join(rows) + "\n")
    assert plan(path, 10**8).protected == []
    assert [flow.name for flow in plan(path, 10**8, protect=["quic"]).protected] == ["quic"]


def test_what_stands_before_a_cut_is_played(tmp_path):
    whole = OFFICE.read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[: len(whole) // 2])
    done = call("replay", path, "--rate", "3mbit")
    assert done.exit_code == 0, done.stderr
    assert "the file is cut off in packet " in done.stdout
    for command in ("run", "check"):
        again = call(command, "cut.toml")
        assert again.exit_code == 0
        assert "cut.pcap is cut off in packet " in again.stderr


def test_padding_behind_a_compressed_capture_is_passed_over(tmp_path):
    path = tmp_path / "padded.pcap.gz"
    path.write_bytes(gzip.compress(OFFICE.read_bytes()) + bytes(5000))
    assert plan(path, 3_000_000).packets == 12869


def test_a_pipe_is_one_message(tmp_path):
    pipe = tmp_path / "pipe.pcap"
    os.mkfifo(pipe)
    done = call("replay", pipe, "--rate", "1mbit")
    assert done.exit_code == 1
    assert done.stderr == (
        f"tidegate: {pipe}: is a pipe or a device: expected a regular file, which can be read again\n"
    )
    scenario = tmp_path / "pipe.toml"
    scenario.write_text(
        'version = 1\nduration = "1s"\ntopology = { kind = "chain", switches = 2, rate = "1mbit" }\n'
        'flow = [{ name = "a", from = "s1", to = "s2", source = { kind = "trace", file = "pipe.pcap" } }]\n'
    )
    done = call("check", scenario)
    assert done.exit_code == 1
    assert "is a pipe or a device" in done.stderr


def test_ctrl_c_ends_the_reading_of_a_scenario(tmp_path):
    """Reading waits for a writer that never comes."""
    pipe = tmp_path / "scenario.toml"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", "from tidegate.cli import main; main()", "check", str(pipe)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    ended = threading.Timer(20, process.kill)
    ended.start()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate()
    ended.cancel()
    assert (process.returncode, complaint) == (130, "tidegate: interrupted\n")


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "escape.csv"
    rows = [f"{at / 50:.2f},100,\x1b[2J{at % 2}" for at in range(100)]
    path.write_text("\n".join(["time,size,flow", *rows]) + "\n")
    assert "\x1b" not in call("replay", path, "--rate", "1mbit").stdout
