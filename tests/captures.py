"""The captures that tests of replays play."""

import struct
from pathlib import Path

import pytest

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
