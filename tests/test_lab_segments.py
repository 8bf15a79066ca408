"""Records of the kernel's senders: their lines, and senders of the simulator that get the same."""

import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

from conftest import call
from tidegate_lab.testbed import segments
from tidegate_lab.testbed.recorder import SLOT

VERIFY = os.environ.get("TIDEGATE_VERIFY")
ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "crates/core/tests/senders"
NOP = b"\x01"
needs_verify = pytest.mark.skipif(not VERIFY, reason="takes a minute: set TIDEGATE_VERIFY")


def stamps(own):
    return NOP + NOP + struct.pack(">BBII", 8, 10, own, 0)


def slot(time, flags, sequence, acknowledged, payload=0, window=0, options=b""):
    options = options.ljust(-(-len(options) // 4) * 4, b"\0")
    header = 20 + len(options)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + header + payload, 0, 0x4000, 64, 6, 0) + bytes(8)
    words = (5000, 5000, sequence % 2**32, acknowledged % 2**32, header // 4 << 4, flags, window, 0, 0)
    frame = bytes(14) + ip + struct.pack(">HHIIBBHHH", *words) + options
    kernel = struct.pack("<IIIHHIIHHI", 1, len(frame) + payload, len(frame), 66, 80, 5, time, 0, 0, 0)
    return (kernel.ljust(66, b"\0") + frame).ljust(SLOT, b"\0")


def test_a_record_has_what_a_sender_got_and_sent(tmp_path):
    # The sequence number passes its greatest value.
    first, now = 2**32 - 100, 5_000_000_000
    scale = NOP + struct.pack(">BBB", 3, 3, 7)
    sack = NOP + NOP + struct.pack(">BBII", 5, 10, (first + 201) % 2**32, (first + 301) % 2**32)
    sent = [
        slot(100, 2, first, 0, options=scale),
        slot(300, 16, first + 1, 1),
        slot(300, 16, first + 1, 1, payload=100),
    ]
    came = [
        slot(300, 18, 0, first + 1, window=65_160, options=scale + stamps(70_000)),
        slot(900, 16 | 0x40, 1, first + 101, window=501, options=stamps(70_001) + sack),
    ]
    (tmp_path / "started-0").write_bytes(b"".join(sent))
    (tmp_path / "received-1").write_bytes(b"".join(came))
    links = [{"from": 0, "to": 1}, {"from": 1, "to": 0}]
    assert list(segments._record(tmp_path, {"links": links}, 0, now)) == [
        "S 100 -1 0",
        f"O 300 {70_000 % 65_536} 65160",
        "S 300 0 0",
        "S 301 0 100",
        f"A 900 100 {501 << 7} {70_001 % 65_536} e 200,300",
    ]


def test_a_word_that_is_in_no_record_is_an_error(tmp_path, kernel):
    del kernel
    wrong = call("lab", "segments", tmp_path, "--only", "vegas")
    assert wrong.exit_code == 1
    assert "no record has `vegas` in its name" in wrong.stderr


@needs_verify
def test_senders_follow_records_that_are_made_anew(tmp_path, kernel):
    del kernel
    made = call("lab", "segments", tmp_path)
    assert made.exit_code == 0, made.stderr
    assert len(list(tmp_path.glob("*.txt"))) == 30
    words = "cargo test --quiet --package tidegate-core --all-features --test senders -- --nocapture"
    found = subprocess.run(
        words.split(),
        cwd=ROOT,
        env=os.environ | {"TIDEGATE_KERNEL_SENDERS": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert len(re.findall(r"^10-.*: Ok", found.stdout, re.MULTILINE)) >= 27
    assert {file.name for file in RECORDS.glob("*.txt")} <= {file.name for file in tmp_path.iterdir()}
