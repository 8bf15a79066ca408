"""Bad input: one message on stderr, exit code 1, and nothing written."""

import re
import subprocess
import sys

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
        (["--seed", "-1"], "is not from 0 to"),
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


def test_messages_hold_no_numbers_of_the_system(chain, tmp_path):
    trace = chain.read_text().replace(
        '{ kind = "cbr", rate = "64kbit" }', '{ kind = "trace", file = "no.txt" }'
    )
    (tmp_path / "trace.toml").write_text(trace.replace('size = "160B"\n', ""))
    (tmp_path / "gate.toml").write_text(
        'version = 1\nduration = "1s"\ntopology = { kind = "gate", file = "no.toml" }\n'
    )
    for command in (
        ["run", tmp_path / "no.toml"],
        ["check", tmp_path / "no.toml"],
        ["compare", tmp_path / "no.toml", "--scheduler", "fifo,wfq"],
        ["check", tmp_path / "trace.toml"],
        ["check", tmp_path / "gate.toml"],
        ["replay", tmp_path / "no.pcap", "--rate", "1mbit"],
        ["contract", tmp_path / "no.pcap"],
    ):
        done = call(*command)
        assert done.exit_code == 1
        assert "No such file or directory" in done.stderr
        assert "os error" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [["run"], ["check"], ["compare", "--scheduler", "fifo,wfq", "--replications", "1"]],
    ids=lambda one: one[0],
)
def test_a_dash_is_standard_input(chain, command):
    from typer.testing import CliRunner

    from tidegate.cli import app

    def read(text):
        return CliRunner().invoke(app, [command[0], "-", *command[1:]], input=text, prog_name="tidegate")

    done = read(chain.read_text())
    assert done.exit_code == 0, done.output
    bad = read(chain.read_text().replace('"64kbit"', '"64kbits"'))
    assert bad.exit_code == 1
    assert "stdin:13:11: " in bad.stderr


@pytest.mark.parametrize(
    "command", [["replay", "--rate", "1mbit"], ["contract"], ["gate", "check"]], ids=lambda one: one[0]
)
def test_what_reads_no_standard_input_says_so(command):
    done = subprocess.run(
        [sys.executable, "-c", "from tidegate.cli import main; main()", *command, "-"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "standard input cannot be read here" in done.stderr


def test_helps_give_examples_as_examples():
    from tidegate.cli import COMMANDS

    for command in (*COMMANDS, "lab", "paper"):
        shown = subprocess.run(
            [sys.executable, "-c", "from tidegate.cli import main; main()", command, "--help"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        assert not re.search(r"(?<!known)[,:] as (in )?\S*\d", " ".join(shown.split())), command


def test_a_scenario_that_check_accepts_also_runs_and_compares(tmp_path):
    """TOML 1.1 has lines within the braces of a table, which Python's own library refuses."""
    path = tmp_path / "new.toml"
    path.write_text(
        'version = 1\nduration = "200ms"\ntopology = { kind = "chain", switches = 2, rate = "1mbit" }\n'
        'flow = [{ name = "a", from = "s1", to = "s2", size = "500B",\n'
        '          source = { kind = "poisson", rate = "400kbit" } }]\n'
    )
    both = ["--scheduler", "fifo,wfq", "--replications", "2", "--out", tmp_path / "both"]
    for command in (
        ["check", path],
        ["run", path, "--out", tmp_path / "out"],
        ["compare", path, *both],
        ["explain", tmp_path / "out", "--flow", "a"],
        ["plot", tmp_path / "both", "--out", tmp_path / "x.png"],
    ):
        done = call(*command)
        assert done.exit_code == 0, done.output
