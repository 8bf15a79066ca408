import errno
import gzip
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import make_replay
import pytest

import tidegate
from conftest import call
from tidegate.replay import direction, plan, replay
from tidegate.replay.buffer import buffer_limit
from tidegate.replay.files import MARK
from tidegate.replay.names import FiveTuple, is_five_tuple, readable_names
from tidegate.replay.scenario import scenario_toml

ROOT = Path(__file__).resolve().parents[1]
OFFICE = ROOT / "examples" / "captures" / "office.pcap"
VOICE, VIDEO = "10.77.2.20:40000>10.77.1.20:40000/udp", "10.77.2.30:5004>10.77.1.30:5004/udp"
DATA = ROOT.parent / "shared" / "data"
CAPTURES = [
    "ndpi-netflix.pcap",
    "ndpi-snapchat_call_v1.pcapng",
    "ndpi-starcraft_battle.pcap",
    "ndpi-teams.pcap",
    "ndpi-wa_video.pcap",
    "sipp-g711a.pcap",
    "tcpreplay-test.pcap",
    "zeek-206_example_a.pcap",
    "zeek-bro.org.pcap",
    "zeek-chromium-115.0.5790.110-google-de-fragmented.pcap",
    "zeek-cwd-navigation.pcap",
    "zeek-m57-long-49583-80.pcap",
    "zeek-modbusBig.pcap",
]
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"real captures are not at {DATA}")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """The command writes its scenario where it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def office():
    return replay(OFFICE, rate="3mbit")


def outcome(played, scheduler, flow):
    at = next(at for at, one in enumerate(played.plan.flows) if one.flow == flow)
    return played.plan.flows[at], played.flows[scheduler][at]


def pcap(packets, at_end=b""):
    """A capture of UDP packets: (seconds, source port, bytes on the wire)."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
    for at, port, size in packets:
        ip = bytes(
            [0x45, 0, *struct.pack(">H", size - 14), 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
        )
        frame = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", port, 9, size - 34, 0)
        out += struct.pack("<IIII", int(at), round(at % 1 * 1e6), len(frame), size) + frame
    return out + at_end


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


def test_the_written_scenario_has_the_same_outcome(office, tmp_path):
    for scheduler, results in office.results.items():
        path = office.write_scenario(tmp_path / f"{scheduler}.toml", scheduler)
        again = tidegate.simulate(path)
        assert again.fingerprints == results.fingerprints
    text = path.read_text()
    assert text.startswith(MARK)
    assert text.count(f'"{VOICE}"') == 1
    assert text.count("[[flow]]") == 123


def test_a_file_that_a_person_has_changed_is_not_replaced(office, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("# mine\n")
    for write in (office.write_scenario, office.write_gate):
        with pytest.raises(tidegate.TidegateError, match="is not as a replay wrote it"):
            write(path)
        assert path.read_text() == "# mine\n"
        ours = write(write(tmp_path / "ours.toml"))
        changed = ours.read_text() + "# and this\n"
        ours.write_text(changed)
        with pytest.raises(tidegate.TidegateError, match="--force replaces it"):
            write(ours)
        assert ours.read_text() == changed
        assert "# and this" not in write(ours, force=True).read_text()


def test_the_command_replaces_what_it_wrote_and_keeps_what_was_changed():
    assert call("replay", OFFICE, "--rate", "3mbit").exit_code == 0
    assert call("replay", OFFICE, "--rate", "4mbit").exit_code == 0
    for name in ("office.toml", "office-gate.toml"):
        path = Path(name)
        whole = path.read_text()
        path.write_text(whole + "# mine\n")
        done = call("replay", OFFICE, "--rate", "3mbit")
        assert done.exit_code == 1
        assert f"{name}: is not as a replay wrote it" in done.stderr
        assert path.read_text() == whole + "# mine\n"
        assert call("replay", OFFICE, "--rate", "3mbit", "--force").exit_code == 0
        assert "# mine" not in path.read_text()


def test_captures_whose_names_differ_have_files_of_their_own(tmp_path):
    for name in ("a.1.pcap", "a.2.pcap"):
        (tmp_path / name).write_bytes(OFFICE.read_bytes())
        assert call("replay", name, "--rate", "3mbit").exit_code == 0
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"a.1.toml", "a.1-gate.toml", "a.2.toml", "a.2-gate.toml"}
    assert not any(name.endswith(".part") for name in written)


def test_a_full_disk_is_one_message(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    done = call("replay", OFFICE, "--rate", "3mbit")
    assert done.exit_code == 1
    assert done.stderr == "tidegate: office.toml: cannot be written: No space left on device\n"
    assert list(tmp_path.iterdir()) == []


def test_the_gate_file_is_one_that_a_gate_takes(office, tmp_path):
    path = office.write_gate(tmp_path / "gate.toml")
    assert tidegate._tidegate.gate(["tidegate gate", "check", str(path)]) == 0
    text = path.read_text()
    # A client's port is another one next time; a call's ports are all that tells it.
    assert 'protocol = "tcp", outside_port = 22' in text
    assert 'protocol = "udp", inside_port = 40000, outside_port = 40000' in text
    assert text.count("down = { reserve = ") == 3
    gated = tomllib.loads(text)
    reserved = [tidegate._tidegate.parse_rate(flow["down"]["reserve"]) for flow in gated["flow"]]
    assert sum(reserved) == office.plan.reserved


def test_flows_that_a_gate_cannot_tell_apart_share_a_rule(tmp_path):
    rows = [
        f"{at / 20 + flow / 1000:.3f},120,10.0.0.{9 - flow}:22>10.9.9.9:{4000 + flow}/tcp"
        for at in range(200)
        for flow in (0, 0, 1)
    ]
    path = tmp_path / "shells.csv"
    path.write_text("\n".join(["time,size,flow", *rows]).replace("10.0.0.8", "10.0.0.9") + "\n")
    played = replay(path, rate="1mbit")
    assert len(played.plan.protected) == 2
    text = played.write_gate(tmp_path / "gate.toml").read_text()
    assert text.count("[[flow]]") == 1
    assert f'reserve = "{tidegate._tidegate.show_rate(played.plan.reserved)}"' in text


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
    assert FiveTuple.read(flows[1]).opposite == FiveTuple.read("10.0.0.1:5001>10.0.0.2:443/tcp")
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


def test_a_csv_file_that_names_its_flows(tmp_path):
    path = tmp_path / "free.csv"
    rows = [f"{k * 0.01:.2f},{100 + k % 2},{'ab'[k % 2]}" for k in range(400)]
    path.write_text("\n".join(["time,size,flow", *rows]) + "\n")
    played = replay(path, rate="200kbit")
    assert [flow.name for flow in played.plan.flows] == ["trace/b", "trace/a"]
    assert all(flow.kept is None and flow.delay_p99 for flow in played.flows["fifo"])
    free = path.rename(tmp_path / "names.csv")
    path.write_text(free.read_text().replace(",a", ",10.0.0.1:1>10.0.0.2:2/udp").replace(",b", ",other"))
    with pytest.raises(tidegate.TidegateError, match="names its flows freely"):
        replay(free, rate="200kbit", protect=["trace/a"])
    again = replay(path, rate="200kbit", protect=["udp-1"])
    assert next(flow for flow in again.flows["virtual-clock"] if flow.name == "udp-1").kept


def test_more_flows_than_are_played(tmp_path):
    path = tmp_path / "many.csv"
    rows = [f"{k * 1e-4:.4f},100,10.0.{k >> 8}.{k & 255}:1>10.9.9.9:2/udp" for k in range(5001)]
    path.write_text("\n".join(["time,size,flow", *rows]) + "\n")
    done = call("replay", path, "--rate", "10mbit")
    assert done.exit_code == 0, done.stderr
    assert "not played: more than 5000 flows" in done.stdout
    done = call("replay", path, "--rate", "10mbit", "--scenario", tmp_path / "many.toml")
    assert done.exit_code == 1
    assert "at most 5000" in done.stderr


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


WRONG = {
    "truncated": (pcap([], at_end=b"\x01\x02"), "is truncated"),
    "empty": (b"", "holds no packets"),
    "no-packets": (pcap([]), "holds no packets"),
    "not-a-capture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "is not a capture"),
    "backwards": (pcap([(9, 1, 100), (3, 1, 100)]), "time goes back"),
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


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--rate", "3mb", "no unit of a rate"),
        ("--scheduler", "fif", "did you mean `fifo`?"),
        ("--buffer", "64k", "write `64kB`"),
        ("--buffer", "10B", ""),
        ("--target", "20", "unit"),
        ("--scheduler", ",", "at least one scheduler"),
        ("--protect", "udp-50004", "did you mean `udp-5004`?"),
        ("--protect", "nobody", "they are udp-5004, http-1"),
        ("--inside", "10.77.1.10/24", "prefixes such as 192.168.0.0/16"),
        ("--inside", "192.168.0.0/16", "say with --inside"),
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
    assert "only what goes down, to the inside" in done.stdout
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


def test_a_verdict_where_fifo_is_enough(tmp_path):
    path = tmp_path / "call.pcap"
    path.write_bytes(pcap([(at / 50, 4000, 214) for at in range(500)]))
    verdict = replay(path, rate="1mbit").verdict
    assert (verdict.kind, verdict.worse) == ("no-scheduler-needed", ())
    assert verdict.sentences == ("FIFO keeps 20 ms for udp-9: no scheduler needed",)


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


def test_throughput_is_what_run_says(office):
    for scheduler, results in office.results.items():
        by_flow = {row["flow"]: row["throughput"] for row in results.flows.to_pylist()}
        assert {flow.name: flow.throughput for flow in office.flows[scheduler]} == by_flow


def test_what_stands_before_a_cut_is_played(tmp_path):
    whole = OFFICE.read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[: len(whole) // 2])
    done = call("replay", path, "--rate", "3mbit")
    assert done.exit_code == 0, done.stderr
    assert "the file is cut off in packet " in done.stdout
    again = call("run", "cut.toml")
    assert again.exit_code == 0, again.stderr


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


def check_row(row, path, capfd):
    """What is said of a replay is true of its simulation, and a gate takes its file."""
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
