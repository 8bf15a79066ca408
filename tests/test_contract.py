"""`tidegate contract` and its API, the filter of contracts in scenarios, and the workahead along routes."""

import gzip
import json
import math
import random
import tomllib

import pytest

import tidegate
from captures import DATA, OFFICE, VOICE, needs_data, pcap
from conftest import CHAIN, call

BURSTY = [
    (number // 10 * 0.1, 1000) for number in range(1000)
]  # ten packets of 1000 bytes at once, every 100 ms: 800 kbit/s


def listed(path, packets):
    path.write_text("".join(f"{at:.6f} {size}\n" for at, size in packets))
    return path


def drawn(seed, count=400):
    draw = random.Random(seed)
    at, packets = 0.0, []
    for _ in range(count):
        at += draw.choice([0.0005, 0.001, 0.002, 0.05])
        packets.append((round(at, 6), draw.choice([40, 576, 1500])))
    return packets


def backlog(packets, rate):
    """W by the definition: drained between arrivals, which count whole."""
    most = held = last = 0.0
    for at, size in packets:
        held = max(0.0, held - (at - last) * rate / 8) + size
        most, last = max(most, held), at
    return most


def assert_one_message(done, *words):
    assert done.exit_code == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("tidegate: ")
    for word in words:
        assert word in done.stderr, done.stderr


def test_the_curve_is_w_by_its_definition(tmp_path):
    packets = drawn(1)
    found = tidegate.contract(listed(tmp_path / "a.txt", packets), points=20)
    assert found.content == "packets"
    assert (found.packets, found.bytes) == (400, sum(size for _, size in packets))
    assert [point.rate for point in found.curve] == sorted({point.rate for point in found.curve})
    assert found.curve[0].rate == found.mean_rate
    assert found.curve[-1].rate == found.peak_rate
    for point in found.curve:
        exact = backlog(packets, point.rate)
        assert exact - 1e-6 <= point.workahead <= exact + 1.001
        # The longest delay is that of the longest backlog.
        assert point.delay_max == pytest.approx(exact * 8 / point.rate, rel=1e-6)
        assert point.delay_p99 <= point.delay_max
    ahead = [point.workahead for point in found.curve]
    assert ahead == sorted(ahead, reverse=True)
    assert len(found.curve.to_pandas()) == len(found.curve)


def test_a_rate_may_be_asked_for(tmp_path):
    file = listed(tmp_path / "a.txt", BURSTY)
    found = tidegate.contract(file, rate="1.6mbit")
    assert found.asked == tidegate.contract(file, rate=1_600_000).asked
    assert (found.asked.workahead, found.asked.delay_max) == (10_000, 0.05)
    assert (found.fitting.reserve, found.fitting.workahead) == (1_600_000, 10_000)
    assert not found.notes or "below" not in found.notes[-1]
    assert "below the mean rate" in tidegate.contract(file, rate="100kbit").notes[-1]


def scenario(keys, source, size=""):
    return (
        'version = 1\nduration = "60s"\ntopology = { kind = "chain", switches = 2, rate = "100mbit" }\n'
        f'[[flow]]\nname = "a"\nfrom = "s1"\nto = "s2"\n{keys}{size}{source}\n'
    )


def test_the_contract_that_is_suggested_lets_everything_pass_and_less_does_not(tmp_path):
    for seed in range(5):
        file = listed(tmp_path / f"{seed}.txt", drawn(seed))
        fitting = tidegate.contract(file, rate=tidegate.contract(file).mean_rate * (seed + 1)).fitting
        source = f'source = {{ kind = "trace", file = "{file}" }}\nenvelope = {{ excess = "drop" }}'
        [row] = tidegate.simulate(scenario(fitting.toml, source)).groups()
        assert (row.sent.mean, row.discarded.mean) == (400, 0), fitting
        less = fitting.toml.replace(f'"{fitting.workahead}B"', f'"{max(1500, fitting.workahead - 2)}B"')
        [row] = tidegate.simulate(scenario(less, source)).groups()
        assert row.discarded.mean > 0 or fitting.workahead <= 1502
        # A policer at the port drops what the envelope would have.
        port = 'port = { scheduler = "fifo", meter = "policer" }\n[[flow]]'
        policed = scenario(less, source.split("\n")[0]).replace("[[flow]]", port, 1)
        [dropped] = tidegate.simulate(policed).groups()
        assert dropped.dropped.mean == row.discarded.mean


def test_flows_of_a_capture_are_taken_together_or_by_name(tmp_path):
    together = tidegate.contract(OFFICE, points=5)
    assert together.packets == sum(flow.packets for flow in together.flows) == 12869
    assert [flow.bytes for flow in together.flows] == sorted(
        (flow.bytes for flow in together.flows), reverse=True
    )
    voice = tidegate.contract(OFFICE, flow=VOICE, points=5)
    [seen] = [flow for flow in voice.flows if flow.flow == VOICE]
    assert (voice.packets, voice.bytes) == (seen.packets, seen.bytes)
    several = tidegate.contract(OFFICE, flow="*>*/udp", points=5)
    udp = [flow for flow in several.flows if flow.flow.endswith("/udp")]
    assert several.packets == sum(flow.packets for flow in udp) > voice.packets
    named = tmp_path / "named.csv"
    named.write_text("time,size,flow\n0,100,a\n0.1,100,b\n0.2,300,a\n")
    assert tidegate.contract(named, flow="a").bytes == 400


def test_the_frames_of_a_video_come_whole(tmp_path):
    file = tmp_path / "frames.txt"
    file.write_text("# a comment\n" + "1000\n3000\n0\n2000\n" * 25)
    found = tidegate.contract(file, fps=25, points=10)
    assert (found.content, found.packets, found.duration) == ("frames", 75, 4.0)
    assert found.mean_rate == 1500 * 8 * 25
    assert found.peak_rate == 3000 * 8 * 25
    assert found.curve[-1].workahead == 3000
    columns = tmp_path / "columns.gz"
    lines = "".join(
        f"{n} {n * 40.0} {kind} {size} 30.1\n"
        for n, (kind, size) in enumerate(zip("IBBP" * 25, [1000, 3000, 0, 2000] * 25, strict=True))
    )
    columns.write_bytes(gzip.compress(lines.encode()))
    assert tidegate.contract(columns, fps=25, points=10).curve == found.curve


def test_the_command_says_it_in_words_and_in_json(tmp_path):
    file = listed(tmp_path / "a.txt", drawn(3))
    done = call("contract", file, "--points", 5)
    assert done.exit_code == 0, done.stderr
    for word in ("a.txt: 400 packets", "mean", "peak", "max delay", "p99 delay", 'workahead = "'):
        assert word in done.stdout, done.stdout
    document = json.loads(call("contract", file, "--points", 5, "--json").stdout)
    assert len(document["curve"]) == 5
    assert tomllib.loads(document["fitting"]["toml"])["workahead"] == f"{document['fitting']['workahead']}B"
    shown = call("contract", OFFICE, "--points", 3).stdout
    assert VOICE in shown
    assert "all flows together" in shown
    figure = tmp_path / "curve.png"
    done = call("contract", file, "--rate", "1mbit", "--plot", figure)
    assert done.exit_code == 0, done.stderr
    assert "figure in" in done.stdout
    assert "at the given rate" in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_bad_input_has_one_message(tmp_path):
    file = listed(tmp_path / "a.txt", BURSTY)
    frames = tmp_path / "frames.txt"
    frames.write_text("1000\n2000\n")

    def written(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    for arguments, words in (
        ((tmp_path / "none.txt",), ["none.txt", "No such file"]),
        ((tmp_path,), ["directory"]),
        ((written("empty.txt", ""),), ["empty.txt", "holds no packets"]),
        ((written("comments.txt", "# only\n"),), ["comments.txt", "holds no packets"]),
        ((written("binary", b"\x00\x01\x02\x03" * 100),), ["binary", "is not a capture"]),
        ((written("half.txt", "0 100\n1 -5\n"),), ["half.txt: line 2", "-5"]),
        ((written("back.txt", "1 100\n0 100\n"),), ["back.txt: line 2", "time goes back"]),
        ((written("once.txt", "1 100\n1 100\n"),), ["all packets have one time"]),
        ((written("one.pcap", pcap([(0.5, 7, 100)])),), ["all packets have one time"]),
        ((frames,), ["frames of a video", "--fps"]),
        ((frames, "--fps", "0"), ["more than 0"]),
        ((frames, "--fps", "nan"), ["more than 0"]),
        ((frames, "--fps", "1e-300"), ["does not end"]),
        ((frames, "--fps", "25", "--flow", "a"), ["one flow"]),
        ((file, "--fps", "25"), ["holds packets"]),
        ((file, "--format", "frames", "--fps", "25"), ["a.txt: line 1", "bytes of a frame"]),
        ((frames, "--format", "packets"), ["frames.txt: line 1", "two columns"]),
        ((written("zeros.txt", "0\n0\n"), "--fps", "25"), ["holds no frame of any bytes"]),
        ((written("negative.txt", "5\n-1\n"), "--fps", "25"), ["negative.txt: line 2", "-1"]),
        ((written("huge.txt", "5\n99999999999\n"), "--fps", "25"), ["huge.txt: line 2", "99999999999"]),
        ((written("binary.txt", "\x01\x02\n"), "--format", "frames", "--fps", "25"), ["expected text"]),
        ((written("cut.gz", gzip.compress(b"5\n" * 9)[:9]), "--fps", "25"), ["cut.gz"]),
        ((file, "--flow", "b"), ["`b` matches no flow", "the file holds all"]),
        ((file, "--rate", "fast"), ["rate"]),
        ((file, "--rate", "100tbit"), ["rate"]),
        ((file, "--points", "1"), ["2 to 1000 points"]),
    ):
        assert_one_message(call("contract", *arguments), *words)
    with pytest.raises(tidegate.TidegateError, match="not `text`"):
        tidegate.contract(file, content="text")


def test_a_file_that_is_cut_off_says_so(tmp_path):
    whole = gzip.compress("".join(f"{number * 7 % 5000}\n" for number in range(20_000)).encode())
    file = tmp_path / "cut.gz"
    file.write_bytes(whole[: len(whole) // 2])
    assert "is cut off in line" in tidegate.contract(file, fps=25, points=2).notes[0]


@needs_data
def test_real_videos_and_traces_have_their_known_rates():
    for name, fps, mean, most in (
        ("video/Terse_Jurassic.dat.gz", 25, 3831.5, 16745),
        ("video/silence-h264-cif-q10.movietrace.data.gz", 30, 59447.0, None),
        ("video/starwars-intraframe.frames.txt.gz", 24, 27791.2, 78459),
    ):
        found = tidegate.contract(DATA / name, fps=fps, points=4)
        assert found.content == "frames"
        assert found.mean_rate == pytest.approx(mean * 8 * fps, rel=1e-4)
        # Nothing is above a frame in its interval.
        assert found.curve[-1].workahead == found.longest_packet
        assert most is None or found.longest_packet == most
        assert found.curve[-1].delay_max == pytest.approx(1 / fps, rel=1e-6)
    bellcore = tidegate.contract(DATA / "packets" / "BC-pAug89-first100001.TL.gz", points=4)
    assert (bellcore.packets, bellcore.bytes) == (100_001, 46_417_808)
    assert bellcore.mean_rate == pytest.approx(1.473e6, rel=1e-3)


def test_videos_in_scenarios(tmp_path):
    (tmp_path / "frames.txt").write_text("1000\n3000\n0\n2000\n" * 5)
    for spread, keys in (("frame", ""), ("peak", ', peak = "1mbit"')):
        source = (
            f'source = {{ kind = "video", file = "{tmp_path}/frames.txt", fps = 20, first = 0, '
            f'spread = "{spread}"{keys} }}'
        )
        [row] = tidegate.simulate(scenario("", source, 'size = "600B"\nstop = "60s"\n')).groups()
        # A minute of a second of 30,000 bytes, in packets of 600: 2 + 5 + 4 of them for each four
        # frames.
        assert row.sent.mean == 60 * 5 * (2 + 5 + 4)
    for content, words in (("", "holds no packets"), ("0\n", "no frame of any bytes"), ("1\nx\n", "line 2")):
        (tmp_path / "frames.txt").write_text(content)
        with pytest.raises(tidegate.TidegateError, match=words):
            tidegate.simulate(scenario("", source, 'size = "600B"\n'))
    (tmp_path / "frames.txt").write_text("1\n2\n")
    with pytest.raises(tidegate.TidegateError, match="has 2 frames, and no frame 2"):
        tidegate.simulate(scenario("", source.replace("first = 0", "first = 2"), 'size = "600B"\n'))


def test_the_workahead_of_flows_is_in_a_table_of_its_own(tmp_path):
    results = tidegate.simulate(CHAIN, replications=3, workahead=(1, 1.5))
    plain = tidegate.simulate(CHAIN, replications=3)
    assert results.fingerprints == plain.fingerprints
    assert plain.workahead.num_rows == 0
    assert plain.workahead_rows() == []
    frame = results.workahead.to_pandas()
    assert len(frame) == 3 * 5 * 3 * 2
    for _, places in frame.groupby(["replication", "flow", "factor"], observed=True):
        ahead = list(places["workahead"])
        assert list(places["hop"]) == [0, 1, 2]
        assert list(places["link"]) == ["", "s1->s2", "s2->s3"]
        assert math.isnan(places["increase"].iloc[0])
        for hop in (1, 2):
            assert places["increase"].iloc[hop] == pytest.approx(ahead[hop] / ahead[hop - 1] - 1)
            assert places["increase_from_source"].iloc[hop] == pytest.approx(ahead[hop] / ahead[0] - 1)
    voice = frame[(frame["flow"] == "voice") & (frame["hop"] == 0)]
    # Evenly spaced at its rate, it is never more than a packet ahead.
    assert set(voice["workahead"]) == {160}
    rows = results.workahead_rows()
    assert len(rows) == 5 * 3 * 2
    one = next(row for row in rows if row["flow"] == "data/1" and row["hop"] == 2 and row["factor"] == 1)
    of_runs = frame[(frame["flow"] == "data/1") & (frame["hop"] == 2) & (frame["factor"] == 1)]
    assert one["workahead"] == pytest.approx(of_runs["workahead"].mean())
    assert one["ci95"]["workahead"] > 0
    saved = tidegate.Results.load(results.save(tmp_path / "out"))
    assert saved.workahead.equals(results.workahead)
    for factors in ([0], [-1], [float("nan")], [101], [1, 1.0]):
        with pytest.raises(tidegate.TidegateError, match="factor"):
            tidegate.simulate(CHAIN, workahead=factors)


def test_run_shows_the_workahead_of_each_group(chain):
    done = call("run", chain, "--workahead", "1,1.02", "--replications", 2)
    assert done.exit_code == 0, done.stderr
    assert "W at source" in done.stdout
    assert "1.02 r" in done.stdout
    assert "W at source" not in call("run", chain).stdout
    document = json.loads(call("run", chain, "--workahead", "1", "--json").stdout)
    assert {row["flow"] for row in document["workahead"]} >= {"voice"}
    assert json.loads(call("run", chain, "--json").stdout)["workahead"] == []
    assert_one_message(call("run", chain, "--workahead", "1,x"), "--workahead 1,x")
    assert_one_message(call("run", chain, "--workahead", ""), "--workahead")
    assert_one_message(call("run", chain, "--workahead", "0"), "0.01 to 100")
