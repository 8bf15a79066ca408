"""Captures of today: super-packets, one direction, conferences and calls over QUIC."""

import random
import tomllib
from dataclasses import replace

import pytest

import tidegate
from capture_writer import TCP, Capture, Packet
from captures_known import other_half
from tidegate.replay import plan, replay

pytestmark = pytest.mark.usefixtures("elsewhere")

START = 1_700_000_000.0


def call(source="10.0.0.2", destination="192.0.2.1", count=600):
    return [Packet(START + nth * 0.02, source, destination, (40000, 5004), 172, nth) for nth in range(count)]


@pytest.mark.parametrize("protocol", [TCP, 17])
@pytest.mark.parametrize("addresses", [("10.0.0.3", "192.0.2.9"), ("fd00::3", "2001:db8::9")])
def test_a_capture_of_super_packets_gets_the_verdict_of_one_of_segments(protocol, addresses, tmp_path):
    """A call beside a transfer of 6 Mbit/s in trains of 40 segments, captured before and behind offload."""
    # Payload that an MTU of 1,500 B leaves.
    full = 1440 if ":" in addresses[0] else 1460
    payload, segments = (full if protocol == TCP else 1200), 40
    whole, cut = [], []
    period = segments * (payload + 54) * 8 / 6e6
    for train in range(int(12 / period)):
        at, number = START + 0.003 + train * period, train * segments
        first = Packet(at, *addresses, (443, 50000), payload, number, protocol, sequence=number * payload)
        whole.append(replace(first, payload=segments * payload))
        cut += [
            replace(first, at=at + nth * 12e-6, number=number + nth, sequence=(number + nth) * payload)
            for nth in range(segments)
        ]
    if protocol != TCP:
        # The last datagram of a transfer goes alone.
        whole.append(replace(cut[-1], at=START + 12))
        cut.append(whole[-1])
    played = []
    for name, packets in (("whole", whole), ("cut", cut)):
        path = tmp_path / f"{name}.pcap"
        path.write_bytes(Capture.of(call() + packets).pcap())
        played.append(replay(path, rate="10mbit"))
    before, behind = played
    assert [flow.packets for flow in before.plan.flows] == [flow.packets for flow in behind.plan.flows]
    assert [flow.bytes for flow in before.plan.flows] == [flow.bytes for flow in behind.plan.flows]
    assert before.verdict.kind == behind.verdict.kind == "reservations-help"
    assert before.plan.reserved == behind.plan.reserved
    late = [one.flows["fifo"][-1].within for one in played]
    assert late[0] == pytest.approx(late[1], abs=0.05)
    assert before.plan.counts["super_packets"] == len(whole) - (protocol != TCP)
    assert any("the headers repeated" in sentence for sentence in before.plan.mended)


PAIRS = [
    ("192.168.1.20", "203.0.113.5"),
    ("100.64.3.4", "203.0.113.5"),
    ("169.254.7.7", "203.0.113.5"),
    ("172.16.0.9", "198.51.100.1"),
    ("fd12::7", "2001:db8::1"),
]


@pytest.mark.parametrize("halves", [1, 2])
@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("pair", PAIRS)
def test_private_addresses_are_inside_in_every_kind_of_file(pair, up, halves, tmp_path):
    """RFC 1918, 6598, 3927 and 4193, with one direction in the file and with both."""
    packets = call(*(pair if up else pair[::-1]))
    if halves > 1:
        # Less goes the other way.
        packets += other_half(packets[::2])
    path = tmp_path / "call.pcap"
    path.write_bytes(Capture.of(packets).pcap())
    played = replay(path, rate="1mbit")
    assert played.plan.direction == ("up" if up else "down")
    gate = played.write_gate(tmp_path / "gate.toml")
    assert tidegate._tidegate.gate(["tidegate gate", "check", str(gate)]) == 0
    (flow,) = tomllib.loads(gate.read_text())["flow"]
    assert (flow["match"]["inside"], flow["match"]["outside"]) == pair
    assert ("up" in flow, "down" in flow) == (up, not up)


@pytest.mark.parametrize("pair", [("10.0.0.1", "10.0.0.2"), ("203.0.113.5", "198.51.100.7")])
@pytest.mark.parametrize(("ports", "way"), [((40000, 443), "up"), ((443, 40000), "down")])
def test_ports_decide_where_addresses_are_of_one_kind(pair, ports, way, tmp_path):
    path = tmp_path / "call.pcap"
    path.write_bytes(Capture.of(replace(packet, ports=ports) for packet in call(*pair)).pcap())
    assert plan(path, 10**6).direction == way


def test_calls_of_today_are_protected_and_the_verdict_names_what_is_hurt_most(tmp_path):
    """Beside a download: video of one size, a conference over UDP 8801, a game, a call over QUIC."""
    rng = random.Random(3)
    inside, packets = "192.168.1.10", []

    def flow(source, ports, times, payload):
        packets.extend(
            Packet(START + at, source, inside, ports, payload, nth) for nth, at in enumerate(times)
        )

    frames = [frame * 0.04 + nth * 1e-4 for frame in range(750) for nth in range(3 if frame % 25 else 9)]
    flow("203.0.113.6", (5004, 5004), frames, 1200)
    flow("203.0.113.9", (8801, 52000), [k / 30 + n * 2e-4 for k in range(900) for n in range(3)], 1050)
    flow("203.0.113.20", (443, 52100), [k * 0.02 for k in range(1500)], 200)
    flow("203.0.113.8", (27015, 27005), [k / 60 for k in range(1800)], 110)
    at = 0.0
    while at < 30:
        packets.append(
            Packet(
                START + at,
                "203.0.113.7",
                inside,
                (443, 50000),
                1448,
                len(packets),
                TCP,
                sequence=len(packets),
            )
        )
        at += rng.expovariate(6e6 / 8 / 1502)
    path = tmp_path / "today.pcap"
    path.write_bytes(Capture.of(packets).pcapng())
    played = replay(path, rate="6mbit")
    assert {flow.name: flow.kind for flow in played.plan.protected} == {
        "udp-5004": "video",
        "udp-8801": "video",
        "quic": "call",
        "udp-27005": "call",
    }
    late = {
        flow.name: 1 - outcome.within
        for flow, outcome in zip(played.plan.flows, played.flows["fifo"], strict=True)
        if flow.target is not None
    }
    assert played.verdict.hurt == max(late, key=late.get)
    assert f"of the packets of {played.verdict.hurt} are late or lost" in played.verdict.sentences[0]
    (bulk,) = (flow for flow in played.plan.flows if flow.target is None)
    assert (bulk.name, bulk.judged) == ("https", "TCP, which adapts to the link")


def test_transfers_over_quic_are_bulk_in_both_directions(tmp_path):
    """Full packets, paced or in trains, and the acknowledgements of them."""
    for gap, train in ((0.002, 1), (0.005, 1), (0.03, 10)):
        data = [
            Packet(
                START + k * gap + n * 1e-4, "203.0.113.7", "192.168.1.10", (443, 50000), 1250, k * train + n
            )
            for k in range(int(12 / gap))
            for n in range(train)
        ]
        acks = [replace(packet, payload=33) for packet in other_half(data[::2])]
        path = tmp_path / "quic.pcap"
        path.write_bytes(Capture.of(data + acks).pcap())
        for way in ("up", "down"):
            assert plan(path, 10**7, way=way).protected == []
