"""Warnings reach whoever runs a scenario, and examples give none that they should not."""

import json
import re
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate.scenario_warnings import brief, of_several

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
DEFECTS = Path(__file__).parent / "defects"

# Every warning of an example is true, and meant: credit keeps what waits in front of the first
# link, and the receivers that pay answer to marks while the senders that pay do not.
MEANT = {
    "bufferbloat": "`reserve` of `call` has no effect",
    "credit-adaptive": "without a limit, all that waits takes memory",
    "credit-back-pressure": "without a limit, all that waits takes memory",
    "receiver-pay": "marks packets of connection `receiver-4` and drops those of `sender-4`",
}
# Overloads and late starts of the papers' base scenarios, most of which a measure sets otherwise: a
# switch of unlimited memory is what Pincheira, and Kung and Morris, assume.
PAPERS = {
    "allocated_capacity/cbr": ["`reserve` of `c0` and 9 more flows has no effect"],
    "allocated_capacity/ten": ["`reserve` of `c0` and 9 more flows has no effect"],
    "allocated_capacity/two-way": ["`reserve` of `c0` and 39 more flows has no effect"],
    "allocated_capacity/wide": ["`reserve` of `c0` and 9 more flows has no effect"],
    "axel/admitted": ["without a limit, all that waits takes memory"],
    "axel/misbehaving-large": ["without a limit, all that waits takes memory"],
    "axel/misbehaving-small": ["without a limit, all that waits takes memory"],
    "axel/worst-case": ["without a limit, all that waits takes memory"],
    "credit/buffers": ["without a limit, all that waits takes memory", "would start at 3600s"],
    "credit/bursts": ["without a limit, all that waits takes memory"],
    "credit/comparison": ["would start at 3600s"],
    "credit/comparison-gfc": ["would start at 3600s"],
    "credit/figure-10": ["would start at 3600s"],
    "credit/figure-5": ["would start at 3600s"],
    "credit/pool": ["without a limit, all that waits takes memory"],
    "credit/tcp": ["would start at 3600s"],
}


def scenarios(folder):
    """Return the scenarios in a folder: no files of gates or plans, nor what a scenario reads."""
    texts = ((path, path.read_text()) for path in sorted(folder.rglob("*.toml")))
    return [
        path for path, text in texts if re.search(r"^duration", text, re.MULTILINE) and "[[wish]]" not in text
    ]


@pytest.mark.parametrize("path", scenarios(EXAMPLES), ids=lambda path: path.stem)
def test_examples_give_no_warning_that_is_not_meant(path):
    found = tidegate.load(path).warnings
    meant = MEANT.get(path.stem)
    assert len(found) == (meant is not None), found
    assert all(meant in warning for warning in found)


def test_papers_give_no_warning_that_is_not_meant():
    papers = ROOT / "papers" / "tidegate_papers"
    found = {
        str(path.relative_to(papers).with_suffix("")): tidegate.load(path).warnings
        for path in scenarios(papers)
    }
    assert len(found) > 20
    assert {name for name, warnings in found.items() if warnings} == PAPERS.keys()
    for name, expected in PAPERS.items():
        assert len(found[name]) == len(expected), found[name]
        assert all(words in warning for words, warning in zip(expected, found[name], strict=True)), found[
            name
        ]


# A file, and what is said of it: the figures are worked out below or in
# `crates/formats/tests/warnings/main.rs`.
DEFECT = {
    "g5-parallel": "no flow's route uses link s1->s2#2",
    "diff-without-meter": "WRED on link core->out tells packets apart by colour",
    "abr-without-rate-control": "more connection controls its rate: an ABR source then sends at its peak",
    "pool-below-buckets": "the pool of `s` holds 60p, and needs 64p for flows within their buckets, 62p",
    # 1,048,576 B of data in packets of 1,500 B for 1,460 B, in each round trip of 100.06 ms: 86
    # Mbit/s.
    "g10-long-fat": "gets about 86mbit of the 1gbit of link left->right",
}


@pytest.mark.parametrize("name", DEFECT)
def test_what_check_warns_of_appears_in_run_results_json_and_compare(name, tmp_path):
    path = DEFECTS / f"{name}.toml"
    short = ["--set", "duration=30ms", "--set", "warmup=0s"]
    checked = call("check", path, *short)
    said = [line for line in checked.stderr.splitlines() if line.startswith("warning: ")]
    assert any(DEFECT[name] in line for line in said), checked.stderr
    ran = call("run", path, *short, "--json", "--out", tmp_path / "run")
    assert ran.exit_code == 0, ran.output
    assert all(line in ran.stderr for line in said)
    warnings = json.loads(ran.stdout)["warnings"]
    assert [brief(one) for one in warnings] == said
    assert json.loads(call("check", path, *short, "--json").stdout)["warnings"] == warnings
    loaded = tidegate.Results.load(tmp_path / "run")
    assert list(loaded.warnings) == warnings
    assert DEFECT[name] in repr(loaded)
    assert "warning: " in loaded._repr_html_()
    compared = call(
        "compare", path, *short, "--scheduler", "fifo,virtual-clock", "--replications", 2, "--json"
    )
    assert compared.exit_code == 0, compared.output
    (warned, *_) = [one for one in json.loads(compared.stdout)["warnings"] if DEFECT[name] in one]
    assert warned.startswith(f"{path}:")
    assert DEFECT[name] in compared.stderr


RESERVED = """\
version = 1
duration = "200ms"
topology = { kind = "chain", switches = 2, rate = "1mbit" }
switch = { buffer = "20p" }
[[flow]]
name = "a"
from = "s1"
to = "s2"
reserve = "500kbit"
size = "500B"
source = { kind = "cbr", rate = "400kbit" }
"""


def test_a_comparison_warns_of_what_no_policy_reads_and_names_those_with_a_warning_of_their_own():
    assert "`reserve` of `a` has no effect" in tidegate.simulate(RESERVED).warnings[0]
    assert tidegate.compare(RESERVED, ["fifo", "virtual-clock"], replications=1).warnings == []
    (one,) = tidegate.compare(RESERVED, ["fifo", "round-robin"], replications=1).warnings
    assert "`reserve` of `a` has no effect" in one
    under = {
        name: tidegate.source.of_text(RESERVED, [("switch.buffer", buffer)]).scenario.warnings
        for name, buffer in (("short", "100B"), ("long", "20p"))
    }
    said = of_several(under)
    assert [line.partition(": ")[0] for line in said if "are all lost there" in line] == ["short"]


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ([("switch.buffer", "100B")], "the buffer of `s1` holds 100B, and packets of `a` have 500B"),
        ([("flow.a.start", "200ms")], "the run is over after 200ms, and `a` would start at 200ms"),
    ],
)
def test_what_cannot_be_meant_is_said_and_true(sets, words):
    results = tidegate.simulate(RESERVED, sets=[("port.scheduler", "virtual-clock"), *sets])
    assert words in results.warnings[0]
    (group,) = results.groups()
    assert group.received.mean == 0


@pytest.mark.parametrize(("size", "overloads"), [(1000, False), (1500, True), (4000, True)])
def test_a_recording_that_overloads_a_link_without_a_limit_is_warned_of(tmp_path, size, overloads):
    """A packet each 10 ms: 1,250 bytes fill a link of 1 Mbit/s."""
    (tmp_path / "times.txt").write_text("".join(f"{0.01 * number:.3f} {size}\n" for number in range(100)))
    path = tmp_path / "played.toml"
    path.write_text(
        'version = 1\nduration = "2s"\ntopology = { kind = "chain", switches = 2, rate = "1mbit" }\n'
        '[[flow]]\nname = "a"\nfrom = "s1"\nto = "s2"\nsource = { kind = "trace", file = "times.txt" }\n'
    )
    found = tidegate.load(path).warnings
    assert len(found) == overloads
    if overloads:
        offered = {1500: "1200kbit", 4000: "3200kbit"}[size]
        assert f"carries 1mbit, and is offered {offered} from 0s on" in found[0]
    assert tidegate.load(path, [("switch.buffer", "100p")]).warnings == []
    # A burst that is over at once is no load.
    (tmp_path / "times.txt").write_text("".join(f"{0.0001 * number:.4f} {size}\n" for number in range(100)))
    assert tidegate.load(path).warnings == []


def test_replay_passes_warnings_on(tmp_path, monkeypatch):
    """A queue that is shorter than the packets of the capture."""
    monkeypatch.chdir(tmp_path)
    capture = ROOT / "examples" / "captures" / "office.pcap"
    done = call("replay", capture, "--rate", "3mbit", "--buffer", "300B", "--json")
    assert done.exit_code == 0, done.output
    (warning,) = json.loads(done.stdout)["warnings"]
    assert "300B" in warning
    assert "they are all lost there" in warning
    assert brief(warning) in done.stderr
    assert json.loads(call("replay", capture, "--rate", "3mbit", "--json").stdout)["warnings"] == []
