"""Classes in results: the summaries, and what `tidegate run` shows of them."""

from pathlib import Path

import pytest

import tidegate
from conftest import call

SCENARIO = """version = 1
name = "classes"
duration = "10s"
warmup = "2s"
topology = { kind = "chain", switches = 2, rate = "2mbit" }
port = { scheduler = "wf2q-plus" }
switch = { buffer = "60p" }
class = [
    { name = "voice", scheduler = "fifo", reserve = "500kbit" },
    { name = "data", scheduler = "fifo", reserve = "1500kbit" },
    { name = "other", scheduler = "fifo" },
]
[[flow]]
name = "call"
count = 5
class = "voice"
from = "s1"
to = "s2"
size = "200B"
source = { kind = "cbr", rate = "80kbit" }
[[flow]]
name = "backup"
class = "data"
from = "s1"
to = "s2"
size = "1500B"
source = { kind = "poisson", rate = "3mbit" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "classes.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_a_class_borrows_what_others_leave(scenario: Path) -> None:
    """The calls use 400 of their 500 kbit/s; the backup has the rest of the link and borrows 100 kbit/s."""
    results = tidegate.simulate(str(scenario), replications=2)
    rows = {row.class_name: row for row in results.class_rows() if row.link == "s1->s2"}
    assert list(rows) == ["voice", "data", "other"]
    voice, data, other = rows.values()
    assert voice.throughput.mean == pytest.approx(400_000, rel=0.01)
    assert (voice.borrowed.mean, voice.dropped.mean) == (0, 0)
    assert data.throughput.mean == pytest.approx(1_600_000, rel=0.01)
    assert data.borrowed.mean == pytest.approx(data.throughput.mean - 1_500_000)
    assert data.utilisation.mean == pytest.approx(0.8, rel=0.01)
    assert data.dropped.mean > 100
    assert (other.packets.mean, other.borrowed.mean) == (0, None)


def test_classes_are_shown(scenario: Path) -> None:
    """Idle classes are left out."""
    done = call("run", scenario)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("class "))
    assert [line.split()[0] for line in lines[start + 2 : start + 4]] == ["voice", "data"]
    assert not lines[start + 4].strip()
    assert "borrowed: throughput of a class beyond its reservation" in done.stdout
