import gzip
import json
import struct
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate.replay import plan, replay
from tidegate.replay.names import is_five_tuple, opposite, readable_names
from tidegate.replay.scenario import MARK, buffer_limit, scenario_toml

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
    for time, port, size in packets:
        ip = bytes(
            [0x45, 0, *struct.pack(">H", size - 14), 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
        )
        frame = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", port, 9, size - 34, 0)
        out += struct.pack("<IIII", int(time), round(time % 1 * 1e6), len(frame), size) + frame
    return out + at_end


def test_suggestions_for_the_office_are_sensible(office):
    voice, _ = outcome(office, "fifo", VOICE)
    # 64 kbit/s of sound is 85.6 kbit/s on the wire.
    assert 80_000 < voice.mean_rate < 90_000
    assert voice.mean_rate <= voice.reserve <= 2 * voice.mean_rate
    assert office.plan.packets == 12869
    assert len(office.plan.flows) == 123
    assert office.plan.reserved <= 0.95 * 3e6
    assert office.plan.longest_packet == 1514
    reserved = {flow.name for flow in office.plan.flows if flow.reserve}
    assert reserved == {"udp-40000", "udp-5004", "ssh-1", "icmp"}
    assert [flow.bytes for flow in office.plan.flows] == sorted(
        (flow.bytes for flow in office.plan.flows), reverse=True
    )


def test_virtual_clock_keeps_its_promises_and_fifo_breaks_them(office):
    assert office.broken("virtual-clock") == []
    for flow in (VOICE, VIDEO):
        planned, kept = outcome(office, "virtual-clock", flow)
        assert kept.kept is True
        assert kept.loss == 0
        assert kept.delay_p99 <= planned.promised_p99 * 1.001
        _, broken = outcome(office, "fifo", flow)
        assert broken.kept is False
        assert broken.within < 0.99


@pytest.mark.parametrize("rate", ["2mbit", "4mbit", "10mbit", "30mbit"])
@pytest.mark.parametrize("buffer", ["100ms", "unlimited"])
def test_promises_hold_at_other_rates(rate, buffer):
    played = replay(OFFICE, rate=rate, schedulers=["virtual-clock"], buffer=buffer)
    assert any(flow.kept for flow in played.flows["virtual-clock"])
    assert played.broken("virtual-clock") == []


def test_nothing_is_under_way_at_the_end(office):
    for results in office.results.values():
        for row in results.flows.to_pylist():
            assert row["sent_packets"] == row["received_packets"] + row["dropped_packets"]


def test_every_scheduler_gets_the_same_packets(office):
    fifo, clock = (results.flows for results in office.results.values())
    assert fifo["sent_bytes"].equals(clock["sent_bytes"])
    assert sum(fifo["sent_bytes"].to_pylist()) == office.plan.bytes


def test_a_packet_that_is_lost_breaks_the_promise():
    played = replay(OFFICE, rate="3mbit", schedulers=["virtual-clock"], buffer="4p")
    video = next(flow for flow in played.flows["virtual-clock"] if flow.name == "udp-5004")
    assert video.loss > 0.01
    assert video.kept is False


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


def test_a_scenario_replaces_no_file_of_somebody_else(office, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("# mine\n")
    with pytest.raises(tidegate.TidegateError, match="no replay has written it"):
        office.write_scenario(path)
    assert path.read_text() == "# mine\n"
    assert office.write_scenario(office.write_scenario(tmp_path / "ours.toml")).exists()


def test_speed_and_repeat():
    slow = replay(OFFICE, rate="3mbit", target="100ms")
    fast = replay(OFFICE, rate="30mbit", target="10ms", buffer="10ms", speed=10)
    pairs = list(zip(slow.plan.flows, fast.plan.flows, strict=True))
    assert all(a.reserve is None or b.reserve == 10 * a.reserve for a, b in pairs)
    assert fast.plan.span == pytest.approx(slow.plan.span / 10)
    assert fast.broken("virtual-clock") == []
    (_, a), (_, b) = (outcome(played, "fifo", VOICE) for played in (slow, fast))
    assert b.loss == a.loss
    assert b.delay_mean == pytest.approx(a.delay_mean / 10, rel=1e-3)
    twice = replay(OFFICE, rate="3mbit", repeat=2, schedulers=["fifo"])
    assert sum(flow.sent for flow in twice.flows["fifo"]) == 2 * 12869
    for wrong in ({"speed": 0.0}, {"speed": float("nan")}, {"repeat": 0}, {"speed": 1e9}):
        with pytest.raises(tidegate.TidegateError):
            replay(OFFICE, rate="3mbit", **wrong)


def test_buffers():
    office = plan(OFFICE, 3_000_000, target=0.02)
    assert buffer_limit(office, "100ms") == "37500B"
    assert buffer_limit(office, "1ms") == "15140B"
    assert buffer_limit(office, "100p") == "100p"
    assert buffer_limit(office, "unlimited") is None
    assert "buffer" not in scenario_toml(office, scheduler="fifo", buffer=None)


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
    assert opposite(flows[1]) == "10.0.0.1:5001>10.0.0.2:443/tcp"
    assert opposite("other") is None


def test_a_list_without_flows_is_a_trace(tmp_path):
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress("".join(f"{k * 0.02:.3f} 200\n" for k in range(200)).encode()))
    played = replay(path, rate="200kbit", target="50ms")
    assert [flow.name for flow in played.plan.flows] == ["trace"]
    assert played.plan.flows[0].reserve >= 80_000
    assert played.broken("virtual-clock") == []
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
    path.write_text(path.read_text().replace(",a", ",10.0.0.1:1>10.0.0.2:2/udp").replace(",b", ",other"))
    assert replay(path, rate="200kbit").flows["virtual-clock"][0].kept is not None


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
        VOICE.removesuffix("/udp"),
        "85.63 kbit/s",
        "open loop",
        "103 smaller flows not shown",
        "37500B",
        "virtual-clock: all 4 promises are kept",
        "fifo: 4 of 4 promises not kept",
        "the least that can is 82.25 ms",
    ):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= 100 or str(out) in done.stdout
    assert (
        tidegate.Results.load(out / "fifo").fingerprints
        == tidegate.simulate(tidegate.load(out / "office.toml", [("port.scheduler", "fifo")])).fingerprints
    )


def test_the_command_in_json():
    done = call("replay", OFFICE, "--rate", "3mbit", "--json", "--scheduler", "virtual-clock")
    document = json.loads(done.stdout)
    assert document["promises"] == {"virtual-clock": {"made": 4, "broken": []}}
    assert document["flows"][0]["flow"] == VIDEO
    assert document["flows"][0]["schedulers"]["virtual-clock"]["kept"] is True
    assert any("open loop" in note for note in document["notes"])


WRONG = {
    "truncated": (pcap([(0, 1, 100)], at_end=b"\x01\x02"), "is truncated"),
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
        ("--speed", "0", "a speed is from 0.001 to 1000"),
    ],
)
def test_a_mistake_in_an_option_is_answered(option, value, words):
    options = {"--rate": "3mbit"} | {option: value}
    done = call("replay", OFFICE, *(part for pair in options.items() for part in pair))
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert (done.exit_code == 1) is bool(words)


@needs_data
@pytest.mark.parametrize("rate", ["500kbit", "2mbit"])
@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures_keep_their_promises(name, rate):
    played = replay(DATA / "pcap" / name, rate=rate, buffer="unlimited")
    assert any(flow.kept is not None for flow in played.flows["virtual-clock"])
    assert played.broken("virtual-clock") == []


@needs_data
def test_the_bellcore_trace():
    played = replay(DATA / "packets" / "BC-pAug89-first100001.TL.gz", rate="10mbit")
    (trace,) = played.plan.flows
    assert trace.packets == 100_001
    assert trace.mean_rate == pytest.approx(1.473e6, rel=1e-3)
    assert trace.mean_rate < trace.reserve < 9_500_000
    assert played.broken("virtual-clock") == []
    # Alone on the link, every scheduler does the same.
    assert played.results["fifo"].fingerprints == played.results["virtual-clock"].fingerprints
