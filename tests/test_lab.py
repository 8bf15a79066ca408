"""The laboratory: its arithmetic everywhere, its experiments as root with TIDEGATE_VERIFY."""

import json
import os
import struct
import subprocess
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from conftest import call, start
from tidegate import TidegateError
from tidegate_lab import capture, experiments, measures, net, probed
from tidegate_lab.capture import SLOT, Packets
from tidegate_lab.measures import Bar, Column, Outcome, Row

VERIFY = os.environ.get("TIDEGATE_VERIFY")


def packets(times, lengths=None):
    count = len(times)
    lengths = [1000] * count if lengths is None else lengths
    columns = [times, lengths, [17] * count, [1] * count, [2] * count, range(count)]
    return Packets(*(np.array(list(column), dtype=np.int64) for column in columns))


def slot(seconds, nanoseconds, frame):
    header = struct.pack("<IIIHHIIHHI", 1, len(frame), len(frame), 66, 80, seconds, nanoseconds, 0, 0, 0)
    return (header.ljust(66, b"\0") + frame)[:SLOT].ljust(SLOT, b"\0")


def udp(number, ethertype=0x0800):
    ip = bytes([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 7, 0, 1, 10, 7, 0, 2])
    ports = struct.pack(">HHHH", 1234, 5004, 0, 0)
    return b"\2" * 12 + struct.pack(">H", ethertype) + ip + ports + struct.pack(">Q", number) + bytes(300)


def test_a_ring_is_read_as_the_kernel_writes_it():
    ring = slot(5, 7, udp(41)) + slot(5, 9, udp(0, 0x0806)) + slot(6, 0, udp(42)) + bytes(2 * SLOT)
    read = capture.parse(ring)
    assert read.time.tolist() == [5_000_000_007, 6_000_000_000]
    assert read.number.tolist() == [41, 42]
    assert (read.protocol.tolist(), read.source.tolist()) == ([17, 17], [1234, 1234])
    assert (read.target.tolist(), read.length.tolist()) == ([5004, 5004], [350, 350])
    assert len(read.between(0, 6_000_000_000)) == 1
    assert len(capture.parse(bytes(SLOT))) == 0


def test_the_rate_is_that_of_even_departures_whatever_their_ends():
    even = [ix * 1_000_000 for ix in range(1000)]
    assert measures.rate(packets(even)) == pytest.approx(8e6, rel=1e-9)
    # Eight together every 8 ms: as fast, wherever in a burst the time ends.
    bursts = [ix // 8 * 8_000_000 for ix in range(1003)]
    assert measures.rate(packets(bursts)) == pytest.approx(8e6, rel=1e-4)
    first, last = even.copy(), even.copy()
    first[0] -= 500_000
    last[-1] += 500_000
    assert measures.rate(packets(first)) == pytest.approx(8e6, rel=1e-5)
    assert measures.rate(packets(last)) == pytest.approx(8e6, rel=1e-5)


def test_delays_are_of_the_packets_that_came():
    spans, lost = measures.delays(packets([0, 100, 200]), packets([50, 175]))
    assert (spans.tolist(), lost) == (pytest.approx([50e-9, 75e-9]), 1)


def test_a_line_sends_one_after_the_other():
    # 1000 bytes at 8 Mbit/s take 1 ms.
    behind = measures.behind_line(packets([0, 0, 500_000, 10_000_000]), 8e6)
    assert behind.time.tolist() == [0, 1_000_000, 2_000_000, 10_000_000]


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([1.0], 0.99, 1.0), ([1.0, 2.0, 3.0, 4.0], 0.5, 2.0), (list(map(float, range(100))), 0.99, 98.0)],
)
def test_a_quantile_is_one_of_the_values(values, share, expected):
    assert measures.quantile(np.array(values), share) == expected


def test_the_least_part_that_passes_in_a_window():
    sent = packets(range(0, 400, 10))
    assert measures.least_passed(sent, packets([at + 5 for at in range(0, 400, 10)]), 100) == 1.0
    # In the second window, the packets of its second half are late; the last window is left out.
    late = [at + (500 if 150 <= at < 200 or at >= 300 else 5) for at in range(0, 400, 10)]
    assert measures.least_passed(sent, packets(late), 100) == 0.5
    assert measures.least_passed(sent, packets([]), 100) == 0.0
    assert measures.least_passed(packets([]), packets([]), 100) == 0.0


@pytest.mark.parametrize("name", experiments.PROBED)
def test_a_described_experiment_names_columns_and_a_gate_that_runs(name):
    plan = tomllib.loads(Path(probed.__file__).with_name(f"{name}.toml").read_text())
    assert {bar["column"] for bar in plan["bar"]} <= {column.name for column in probed.COLUMNS}
    assert all(len({"at_least", "at_most"} & set(bar)) == 1 for bar in plan["bar"])
    if "gate" in plan:
        assert call("gate", "check", Path(probed.__file__).with_name(plan["gate"])).exit_code == 0


def test_how_far_apart_shares_are():
    assert measures.spread([99.0, 100.0, 101.0]) == pytest.approx(0.02)
    assert measures.spread([0.0, 0.0]) == 0.0


def test_a_bar_holds_or_not_or_says_nothing():
    assert Bar("x", "s", 1.0, 1.0).holds is True
    assert Bar("x", "s", 1.1, 1.0).holds is False
    assert Bar("x", "s", 1.1, 1.0, at_least=True).holds is True
    assert Bar("x", "s", 0.9, 1.0, at_least=True).holds is False
    assert Bar("x", "s", 9.0, 1.0, conclusive=False).holds is None


def test_what_says_nothing_is_repeated_at_most_twice():
    runs = iter(range(10))
    assert measures.repeated(lambda: next(runs), lambda run: run == 1) == 1
    runs = iter(range(10))
    assert measures.repeated(lambda: next(runs), lambda _: False) == 2


def outcome(measured=0.5):
    return Outcome(
        "voice",
        "a call",
        (Column("p99", "p99", "s"), Column("lost", "lost", "share")),
        (Row("gate", {"p99": measured}),),
        (Bar("p99 of the call", "s", measured, 1.0),),
        "delay",
        {"gate": np.array([0.1, 0.2, measured])},
    )


@pytest.mark.parametrize(("measured", "code", "said"), [(0.5, 0, "yes"), (2.0, 3, "no")])
def test_the_command_prints_rows_and_bars_and_writes_them(monkeypatch, tmp_path, measured, code, said):
    monkeypatch.setattr(experiments, "carry_out", lambda *_: outcome(measured))
    done = call("lab", "voice", "--out", tmp_path / "out")
    assert done.exit_code == code, done.output
    assert "p99 of the call" in done.stdout
    assert "lost" not in done.stdout, "nothing was measured of it"
    assert done.stdout.split()[-1] == said
    assert (tmp_path / "out" / "voice.png").stat().st_size > 1000
    document = json.loads((tmp_path / "out" / "voice.json").read_text())
    assert document["rows"] == [{"name": "gate", "p99": measured, "lost": None}]
    assert json.loads(call("lab", "voice", "--json").stdout) == document


def test_experiments_are_listed_and_a_wrong_name_is_answered_with_them():
    listed = call("lab")
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in experiments.NAMES)
    wrong = call("lab", "speech")
    assert wrong.exit_code == 1
    assert (
        "it is one of voice, shaping, fairness, household, starvation, reports, overload, flood, late, "
        "gigabit" in wrong.stderr
    )


def test_without_root_or_tools_there_is_one_clear_message(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    refused = call("lab", "voice")
    message, *advice = refused.stderr.splitlines()
    assert refused.exit_code == 1
    assert "takes root" in message or "needs" in message
    assert all(line.startswith("  help: ") for line in advice)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TidegateError, match="needs `ip`, `tc`"):
        net.check_permitted()


def test_the_simulator_predicts_the_call_of_the_same_file():
    from tidegate_lab import voice

    fifo, clock = (row.figures for row in voice.predict())
    assert fifo["p99"] >= voice.FIFO_AT_LEAST
    assert clock["p99"] <= voice.MTU_TIME
    assert clock["lost"] == 0.0


def permitted():
    try:
        net.check_permitted()
        with net.Net():
            return None
    except TidegateError as error:
        return str(error)


def namespaces():
    return set(
        subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.fixture
def laboratory():
    reason = permitted()
    if reason is not None:
        pytest.skip(reason)
    before = namespaces()
    yield
    # Others may have made or removed some meanwhile; ours are gone.
    assert not [name for name in namespaces() - before if name.startswith(f"tglab{os.getpid()}")]


@pytest.mark.usefixtures("laboratory")
def test_a_network_that_fails_while_it_is_made_is_removed(monkeypatch):
    def fail(*_):
        raise TidegateError("no")

    monkeypatch.setattr(net.Net, "command", fail)
    with pytest.raises(TidegateError), net.Net():
        pass


@pytest.mark.usefixtures("laboratory")
def test_an_experiment_that_is_terminated_removes_its_namespaces():
    running = start("lab", "gigabit")
    ours = f"tglab{running.pid}x"
    for _ in range(300):
        if any(name.startswith(ours) for name in namespaces()) or running.poll() is not None:
            break
        time.sleep(0.1)
    running.terminate()
    _, said = running.communicate(timeout=30)
    assert running.returncode == 143, said
    assert not [name for name in namespaces() if name.startswith(ours)]


@pytest.mark.usefixtures("laboratory")
@pytest.mark.parametrize("interface", [net.GATE_INSIDE, net.GATE_OUTSIDE])
def test_captures_see_frames_and_no_super_packets(interface):
    """Those that a gate joins are cut where they leave it, of TCP and of UDP."""
    with net.Net() as made:
        features = made.command(made.name("box"), "ethtool", "--show-features", interface)
    for feature in ("tcp-segmentation-offload", "generic-segmentation-offload", "tx-udp-segmentation"):
        assert f"{feature}: off" in features


@pytest.mark.usefixtures("laboratory")
def test_packets_are_stamped_at_both_ends_of_the_kernels_bridge():
    from tidegate_lab import kernel, traffic

    with net.Net() as made:
        kernel.tbf(made, 1_000_000, 100)
        near = capture.Capture(made, "box", net.GATE_INSIDE, 1000)
        far = capture.at_host(made, "outside", 1000, (9000,))
        traffic.start_udp(made, 9000, 500, 100_000, net.processors()[0])
        subprocess.run(["sleep", "1"], check=True)
        sent, came = near.read(), far.read()
    spans, lost = measures.delays(sent.where(sent.target == 9000), came.where(came.target == 9000))
    assert len(spans) > 5
    assert lost <= 1
    assert spans.min() >= 0


needs_verify = pytest.mark.skipif(not VERIFY, reason="takes a minute of a quiet machine: set TIDEGATE_VERIFY")


def judge(name, seconds, certain):
    """Carry out an experiment: what is certain holds on any machine, the rest is only shown."""
    done = experiments.carry_out(name, seconds, print)
    shown = "\n".join(
        f"{bar.name}: {bar.measured:.6g}, bar {bar.limit:.6g}, holds: {bar.holds}" for bar in done.bars
    )
    print(shown)
    broken = [bar.name for bar in done.bars if bar.holds is False and bar.name in certain]
    assert not broken, shown
    silent = [bar.name for bar in done.bars if bar.holds is None]
    if silent:
        pytest.skip(f"the gate was too late to say anything of: {', '.join(silent)}")
    return done


@needs_verify
@pytest.mark.usefixtures("laboratory")
def test_a_call_beside_bulk_waits_for_one_packet():
    done = judge(
        "voice",
        4.0,
        {
            "FIFO, p99 delay of the call",
            "VirtualClock, p99 delay of the call",
            "VirtualClock, packets of the call lost",
            "VirtualClock, bulk flows apart",
        },
    )
    assert len(done.rows) == 18


@needs_verify
@pytest.mark.usefixtures("laboratory")
def test_departures_keep_the_rate():
    rates = {f"gate, rate error at {rate}" for rate in ("400.0 kbit/s", "10.00 Mbit/s", "33.00 Mbit/s")}
    done = judge("shaping", 4.0, rates)
    assert rates < {bar.name for bar in done.bars}


@needs_verify
@pytest.mark.usefixtures("laboratory")
def test_ten_flows_share_a_gigabit():
    judge("gigabit", 4.0, {"gate: flows apart", "gate, packet: flows apart"})


@needs_verify
@pytest.mark.usefixtures("laboratory")
def test_a_flood_of_many_hosts_takes_nothing_from_a_reserved_call():
    ways = [f"{io}, {times} times" for io in ("packet", "ring", "ring-batch") for times in ("1.5", "3")]
    lost = {f"{way}: lost of the call" for way in ways}
    done = judge("flood", 4.0, lost)
    assert lost < {bar.name for bar in done.bars}


def test_the_files_of_the_experiments_are_in_order():
    folder = Path(experiments.__file__).parent
    for name in ("voice.toml", "backlog.toml", "flood-gate.toml", "gigabit.toml"):
        assert call("gate", "check", folder / name).exit_code == 0
