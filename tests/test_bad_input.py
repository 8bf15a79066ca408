"""Bad input: one message on stderr, exit code 1, and nothing written."""

import pytest

from conftest import call

LINES = {
    "unknown key": (('duration = "2s"', 'duratoin = "2s"'), ["chain.toml:3:1", "did you mean `duration`"]),
    "missing unit": (('rate = "1mbit"', 'rate = "1"'), ["chain.toml:5:", "needs a unit"]),
    "zero rate": (('rate = "1mbit"', 'rate = "0mbit"'), ["chain.toml:5:"]),
    "unknown node": (('to = "s3"', 'to = "s4"'), ["chain.toml:", "`s4`"]),
    "too much reserved": (('reserve = "200kbit"', 'reserve = "300kbit"'), ["chain.toml:", "300kbit"]),
    "no such kind": (('kind = "poisson"', 'kind = "poison"'), ["did you mean `poisson`"]),
    "no TOML": (("version = 1", "version = = 1"), ["chain.toml:1:"]),
}


@pytest.mark.parametrize("case", LINES)
def test_a_mistake_is_answered_with_its_place(chain, case):
    (right, wrong), words = LINES[case]
    chain.write_text(chain.read_text().replace(right, wrong))
    for command in (["check"], ["run", "--json"]):
        done = call(*command, chain)
        assert_one_message(done, *words)


def test_an_unreachable_destination_is_answered_with_its_place(chain):
    chain.write_text(chain.read_text().replace('to = "s3"', 'to = "far"') + '[[node]]\nname = "far"\n')
    assert_one_message(call("check", chain), "chain.toml:12:", "no route from s1 to far")


def test_a_gate_file_is_recognised(tmp_path):
    gate = tmp_path / "gate.toml"
    gate.write_text('version = 1\ngate = { inside = "a", outside = "b", up = "1mbit", down = "1mbit" }\n')
    for command in ("check", "run"):
        assert_one_message(call(command, gate), "gate.toml:2:1: this is a gate file", "tidegate gate check")


def test_an_unknown_node_is_answered_with_the_list(chain):
    chain.write_text(chain.read_text().replace('to = "s3"', 'to = "server"'))
    assert_one_message(call("check", chain), "there is no node `server`", "it is one of s1, s2, s3")


def test_a_rate_as_people_write_it_leads_to_one_that_is_accepted(chain):
    for typed, right in (("1 Mb/s", "`1mbit`"), ("1 Mbit/s", "`1mbit`"), ("10M", "`10mbit`")):
        wrong = call("check", chain, "--set", f"flow.voice.source.rate={typed}")
        assert_one_message(wrong, f"--set flow.voice.source.rate={typed}: ", right)
        done = call("check", chain, "--set", f"flow.voice.source.rate={right.strip('`')}")
        assert done.exit_code == 0


def test_missing_and_odd_files_are_named(tmp_path):
    assert_one_message(call("run", tmp_path / "none.toml"), "none.toml: cannot be read: No such file")
    assert_one_message(call("run", tmp_path), "is a folder")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert_one_message(call("check", binary), "binary.toml")
    huge = tmp_path / "huge.toml"
    with huge.open("wb") as file:
        file.truncate(100_000_000)
    assert_one_message(call("check", huge), "huge.toml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--replications", "0"], "replications must be at least 1"),
        (["--replications", "-2"], "replications must be at least 1"),
        (["--jobs", "0"], "jobs must be at least 1"),
        (["--seed", "-1"], "seeds are from 0 to"),
        (["--set", "port.scheduler"], "key=value"),
        (["--set", "=fifo"], "key=value"),
        (["--set", "port.schedulr=fifo"], "did you mean `scheduler`"),
        (["--set", "flow.voice.source.rate=64"], "needs a unit"),
    ],
)
def test_unusable_options_are_refused(chain, tmp_path, options, words):
    out = tmp_path / "out"
    assert_one_message(call("run", chain, "--out", out, *options), words)
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_refused_before_the_run(endless, tmp_path):
    assert_one_message(call("run", endless, "--out", endless / "out"), "cannot be written: Not a directory")
    assert_one_message(call("run", endless, "--out", endless), "is a file")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    assert_one_message(call("run", endless, "--out", tmp_path / "mine"), "holds no results of tidegate")


@pytest.mark.parametrize(
    ("schedulers", "words"),
    [
        ("fifo,virtual-clok", "did you mean `virtual-clock`"),
        ("fifo", "at least two"),
        (",", "at least two"),
        ("fifo,fifo", "named twice"),
    ],
)
def test_unusable_comparisons_are_refused(chain, schedulers, words):
    assert_one_message(call("compare", chain, "--scheduler", schedulers), words)


def assert_one_message(done, *words):
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("tidegate: ")
    assert done.stderr.count("tidegate: ") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
