"""Differences between scenarios."""

import json

import pytest

import tidegate
from conftest import call

FIRST = """version = 1
duration = "2s"
topology = { kind = "chain", switches = 2, rate = "1mbit" }
port = "fifo"
[[flow]]
name = "a"
from = "s1"
to = "s2"
size = "250B"
source = { kind = "poisson", rate = "400kbit" }
[[flow]]
name = "b"
from = "s1"
to = "s2"
size = "250B"
source = { kind = "cbr", rate = "100kbit" }
"""

HEAD, A, B = FIRST.split("[[flow]]\n")
SECOND = (
    HEAD.replace("1mbit", "1000kbit").replace('"fifo"', '{ scheduler = "wfq" }')
    + "[[flow]]\n"
    + B
    + "[[flow]]\n"
    + A.replace("400kbit", "0.5mbit")
)


def test_flows_are_compared_by_name_and_quantities_by_meaning():
    found = [(one.key, one.first, one.second) for one in tidegate.differences(FIRST, SECOND)]
    assert found == [
        ("flow.a.source.rate", "400kbit", "0.5mbit"),
        ("port", "fifo", None),
        ("port.scheduler", None, "wfq"),
    ]
    assert tidegate.differences(FIRST, FIRST.replace("2s", "2000ms")) == []


def test_the_differences_are_overrides_that_lead_from_one_to_the_other():
    other = FIRST.replace("400kbit", "0.5mbit").replace("2s", "3s")
    sets = [(one.key, one.second) for one in tidegate.differences(FIRST, other)]
    assert tidegate.simulate(FIRST, sets=sets).fingerprints == tidegate.simulate(other).fingerprints


def test_the_command(tmp_path):
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(FIRST)
    other.write_text(SECOND)
    done = call("diff", one, other)
    assert done.exit_code == 0, done.stderr
    assert "flow.a.source.rate" in done.stdout
    keys = [row["key"] for row in json.loads(call("diff", one, other, "--json").stdout)["differences"]]
    assert keys == ["flow.a.source.rate", "port", "port.scheduler"]
    assert call("diff", one, one).stdout == "no difference\n"
    assert call("diff", one, one, "--set", "duration=9s").stdout == "no difference\n"
    missing = call("diff", one, tmp_path / "none.toml")
    assert missing.exit_code == 1
    assert "none.toml" in missing.stderr


@pytest.mark.parametrize("text", ["x", "version = 1\n"])
def test_a_file_with_a_mistake_is_refused(tmp_path, text):
    (tmp_path / "one.toml").write_text(FIRST)
    (tmp_path / "bad.toml").write_text(text)
    done = call("diff", tmp_path / "one.toml", tmp_path / "bad.toml")
    assert done.exit_code == 1
    assert "bad.toml" in done.stderr
