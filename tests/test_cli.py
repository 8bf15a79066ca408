"""The `tidegate` command, within this process."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import tidegate
from conftest import call
from plans import OFFICE
from tidegate.cli import COMMANDS

ALL = (*COMMANDS, "lab", "paper")
"""With those of the distributions beside this one."""


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_run_shows_groups_links_and_the_fingerprint(chain):
    done = call("run", chain)
    assert done.exit_code == 0, done.stderr
    for word in ("chain · seed 1 · 2 s", "voice", "kbit/s", "s1->s2", "2 idle links not shown"):
        assert word in done.stdout
    assert "no interval from one run" in done.stdout
    assert tidegate.simulate(chain).fingerprints[0] in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stderr == ""


def test_run_with_replications_shows_intervals(chain):
    done = call("run", chain, "--replications", 6, "--seed", 4)
    assert "seeds 4 to 9 · 6 runs of 2 s" in done.stdout
    assert "±" in done.stdout
    assert "and 2 more" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_run_json_is_one_document_in_base_units(chain):
    done = call("run", chain, "--json", "--replications", 3)
    document = json.loads(done.stdout, parse_constant=no_constant)
    results = tidegate.simulate(chain, replications=3)
    assert document["scenario"] == "chain"
    assert document["seeds"] == [1, 2, 3]
    assert document["fingerprint"] == results.fingerprints[0]
    assert document["fingerprints"] == list(results.fingerprints)
    assert [row["flow"] for row in document["flows"]] == ["voice", "data/1", "data/2", "data/3", "data/4"]
    assert [row["group"] for row in document["groups"]] == ["voice", "data"]
    voice, data = results.groups()
    assert document["groups"][1]["throughput"] == data.throughput.mean
    assert document["groups"][1]["ci95"]["throughput"] == data.throughput.half_width
    assert document["flows"][0]["delay_mean"] == pytest.approx(voice.delay_mean.mean)
    assert document["links"][0]["utilisation"] == results.link_rows()[0].utilisation.mean
    assert document["notes"] == []


def test_run_json_of_one_run_has_no_intervals(chain):
    document = json.loads(call("run", chain, "--json").stdout)
    assert document["notes"] == ["no interval from one run"]
    rows = [*document["flows"], *document["groups"], *document["links"]]
    assert all(half_width is None for row in rows for half_width in row["ci95"].values())


def test_run_writes_its_results(chain, tmp_path):
    out = tmp_path / "out"
    done = call("run", chain, "--out", out, "--set", "port.scheduler=fifo")
    assert f"results in {out}" in done.stdout
    loaded = tidegate.Results.load(out)
    assert loaded.overrides == (("port.scheduler", "fifo"),)
    assert loaded.series.num_rows > 0
    assert loaded.base_dir == tmp_path


def test_many_groups_are_cut_with_a_note(chain):
    flow = 'from = "s1"\nto = "s2"\nsize = "50B"\nsource = { kind = "cbr", rate = "1kbit" }\n'
    chain.write_text(chain.read_text() + "".join(f'[[flow]]\nname = "f{n}"\n{flow}' for n in range(60)))
    done = call("run", chain)
    assert "22 more groups not shown" in done.stdout
    assert len(json.loads(call("run", chain, "--json").stdout)["groups"]) == 62


def test_compare_shows_paired_differences(chain):
    done = call("compare", chain, "--scheduler", "fifo,virtual-clock", "--replications", 3)
    assert done.exit_code == 0, done.stderr
    assert "2 policies · 3 runs of 2 s each" in done.stdout
    assert "difference" in done.stdout
    assert "*" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_compare_takes_more_than_two(chain):
    schedulers = ("--scheduler", "fifo", "--scheduler", "strict-priority,virtual-clock")
    done = call("compare", chain, *schedulers, "--replications", 2)
    assert "Δ" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_compare_takes_parameters_of_schedulers(chain):
    done = call("compare", chain, "--scheduler", 'fifo, { kind = "virtual-clock" }', "--replications", 1)
    assert done.exit_code == 0, done.stderr


def test_compare_json_is_one_document(chain):
    done = call("compare", chain, "--scheduler", "fifo,virtual-clock", "--replications", 8, "--json")
    document = json.loads(done.stdout, parse_constant=no_constant)
    assert document["policies"] == ["fifo", "virtual-clock"]
    [row] = [row for row in document["rows"] if (row["group"], row["metric"]) == ("voice", "delay_mean")]
    assert row["unit"] == "s"
    assert row["values"]["fifo"]["mean"] > row["values"]["virtual-clock"]["mean"]
    assert row["differences"]["virtual-clock"]["excludes_zero"] is True


def test_check_sums_up_in_one_line(chain):
    done = call("check", chain)
    assert done.stdout == "OK: chain: 3 nodes, 4 one-way links, 5 flows, 2 s\n"
    assert done.exit_code == 0


def test_check_json_is_one_document(chain):
    document = json.loads(call("check", chain, "--json").stdout)
    assert document == {
        "scenario": "chain",
        "seed": 1,
        "duration": 2.0,
        "warmup": 0.2,
        "nodes": 3,
        "links": 4,
        "groups": ["voice", "data"],
        "flows": 5,
        "warnings": [],
        "notes": [],
        "points": None,
    }


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("command", ["", *ALL, "credit size", "gate up", "gate observe", "gate status"])
def test_help_has_one_style(command, columns):
    """No broken line, no summary cut short, no word broken at its hyphen, no type of Python."""
    words = [sys.executable, "-c", "from tidegate.cli import main; main()", *command.split(), "--help"]
    environment = {**os.environ, "COLUMNS": str(columns)}
    shown = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    lines = shown.splitlines()
    assert lines[0].startswith("Usage: tidegate")
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith(("...", "-")) and not line.startswith("Usage")]
    assert not re.search(r"<(bool|int|float|str|path)", shown)
    assert "Options:" in shown


def test_every_command_has_json(chain, tmp_path):
    """Commands that need no root print one document; of the others the option is known."""
    out = tmp_path / "out"
    capture = Path(__file__).parents[1] / "examples" / "captures" / "office.pcap"
    gate = Path(__file__).parents[1] / "examples" / "gates" / "office.toml"
    requirements = tmp_path / "requirements.toml"
    requirements.write_text(OFFICE)
    arguments = {
        "demo": [["demo", "--replications", 1, "--out", tmp_path]],
        "run": [["run", chain, "--out", out]],
        "compare": [["compare", chain, "--scheduler", "fifo,virtual-clock", "--replications", 1]],
        "sweep": [["sweep", chain, "--set", "port.policy=fifo,drr", "--replications", 1, "--jobs", 1]],
        "score": [["score", "fq-codel", "--suite", "guarantee"]],
        "check": [["check", chain]],
        "bound": [["bound", chain]],
        "attack": [["attack", chain, "--flow", "voice", "--tries", 10]],
        "plan": [["plan", requirements, "--replications", 1, "--tries", 5]],
        "replay": [["replay", capture, "--rate", "10mbit"]],
        "contract": [["contract", capture, "--points", 2]],
        "credit": [["credit", "size", "--link", "100gbit", "--length", "2km"]],
        "explain": [["explain", out, "--flow", "voice"]],
        "fairness": [["fairness", out, "--groups", "voice"]],
        "plot": [["plot", out, "--out", tmp_path / "figure.png"]],
        "draw": [["draw", chain, "--out", tmp_path / "network.png"]],
        "report": [["report", out, "--out", tmp_path / "report.html"]],
        "diff": [["diff", chain, chain]],
        "gate": [],
        "schema": [["schema"], ["schema", "--gate"]],
        "reference": [["reference"]],
        "lab": [["lab"]],
        "paper": [["paper"]],
    }
    assert list(arguments) == list(ALL)
    for calls in arguments.values():
        for one in calls:
            done = call(*one, "--json")
            assert done.exit_code == 0, done.stderr
            assert json.loads(done.stdout, parse_constant=no_constant), one
    tool = [sys.executable, "-c", "from tidegate.cli import main; main()", "gate"]
    for command in ("up", "down", "status", "top", "reload", "observe", "check"):
        shown = subprocess.run([*tool, command, "--help"], capture_output=True, text=True, check=True)
        assert "--json" in shown.stdout, command
    checked = subprocess.run([*tool, "check", gate, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(checked.stdout)["inside"]


def test_compare_keeps_the_results_of_each_scheduler(chain, tmp_path):
    out = tmp_path / "cmp"
    schedulers = 'fifo, virtual-clock, { kind = "virtual-clock", stamp = "virtual-clock" }'
    done = call("compare", chain, "--scheduler", schedulers, "--replications", 2, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert len(list(out.iterdir())) == 3
    expected = tidegate.simulate(chain, sets=[("port.scheduler", "fifo")], replications=2)
    assert tidegate.Results.load(out / "fifo").fingerprints == expected.fingerprints
    assert call("plot", out, "--out", tmp_path / "cmp.png").exit_code == 0
    (out / "fifo" / "mine.txt").write_text("mine")
    refused = call("compare", chain, "--scheduler", "fifo,virtual-clock", "--out", out)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "also holds mine.txt" in refused.stderr


def test_differences_of_shares_are_percentage_points(chain):
    shown = call("compare", chain, "--scheduler", "fifo,virtual-clock", "--replications", 3).stdout
    [lost, *_] = [line for line in shown.splitlines() if " lost " in line]
    assert lost.count("%") == 2
    assert lost.count("pp") == 1
    assert "pp: percentage points" in shown


def test_the_throughput_of_links_stands_beside_that_of_groups(chain):
    shown = call("run", chain).stdout
    [heading] = [line for line in shown.splitlines() if line.startswith("link ")]
    assert "throughput" in heading
    assert "of groups what was sent after the warm-up" in shown


def test_in_a_narrow_terminal_nothing_is_cut_off(chain, monkeypatch):
    wide = call("run", chain, "--replications", 2).stdout
    monkeypatch.setattr("tidegate.cli.screen.WIDTH", 40)
    narrow = call("run", chain, "--replications", 2).stdout
    assert max(map(len, narrow.splitlines())) <= 40
    [group] = [at for at, line in enumerate(narrow.splitlines()) if line == "group voice"]
    shown = "\n".join(narrow.splitlines()[group : group + 9])
    for heading in ("flows", "throughput", "lost", "mean delay", "p99 delay", "queueing"):
        assert f"  {heading}: " in shown
        assert heading in " ".join(wide.split()) or heading.split()[0] in wide
    assert shown.count("±") == 6 - 1


ESCAPES = "\x1b[2J\x1b]0;owned\x07\u009b1m\u202e"


def test_names_cannot_do_anything_to_a_terminal(chain, tmp_path):
    escaped = "".join(f"\\u{ord(one):04x}" for one in ESCAPES)
    chain.write_text(chain.read_text().replace('name = "chain"', f'name = "{escaped}"'))
    for arguments in (["check", chain], ["run", chain], ["run", chain, "--out", tmp_path / f"o{ESCAPES}"]):
        done = call(*arguments)
        assert done.exit_code == 0, done.stderr
        assert not set(ESCAPES) - set("[2J]0;owned1m") & set(done.stdout + done.stderr)
    done = call("run", tmp_path / f"none{ESCAPES}.toml")
    assert done.exit_code == 1
    assert not set(ESCAPES) - set("[2J]0;owned1m") & set(done.stderr)


def test_schema_and_reference_are_printed():
    assert json.loads(call("schema").stdout)["type"] == "object"
    assert call("reference").stdout.startswith("# Scenario reference")


def test_version():
    assert call("--version").stdout == f"tidegate {tidegate.__version__}\n"


def test_gate_is_the_gates_own_command_line(tmp_path):
    assert json.loads(call("schema", "--gate").stdout)["required"] == ["version", "gate"]
    gate = [str(Path(sys.executable).with_name("tidegate")), "gate"]
    office = Path(__file__).parents[1] / "examples" / "gates" / "office.toml"
    run = partial(subprocess.run, capture_output=True, text=True)
    checked = run([*gate, "check", str(office)])
    assert checked.returncode == 0
    assert "inside -> outside at 9500kbit" in checked.stdout
    missing = run([*gate, "check", str(tmp_path / "none.toml")])
    assert missing.returncode == 1
    assert "none.toml: cannot be read" in missing.stderr
    assert run([*gate, "chekc"]).returncode == 2


def test_help_lists_every_command():
    done = call("--help")
    assert done.exit_code == 0
    listed = done.stdout.partition("Commands:")[2]
    assert all(name in listed for name in ALL)
    # Nothing is cut off.
    assert "..." not in listed
    for name in ALL:
        assert call(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["chekc"], "check"), (["check", "--sett", "a=b"], "--set"), (["run"], "FILE")],
)
def test_a_misspelt_command_line_is_answered_with_the_nearest(arguments, words):
    done = call(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
