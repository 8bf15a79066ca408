"""Studies of twelve lines: each block of the page is a program that runs as it stands."""

import re
import subprocess
import sys

import pytest

from files import ROOT

PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
STUDIES = dict(re.findall(r"^## (.*?)\n.*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


def carried_out(study, folder):
    (folder / "examples").symlink_to(ROOT / "examples")
    script = folder / "study.py"
    script.write_text(STUDIES[study], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_there_are_four() -> None:
    assert len(STUDIES) == 4


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_at_most_twelve_lines(study):
    assert sum(bool(line.strip()) for line in STUDIES[study].splitlines()) <= 12


def test_queues_are_compared(tmp_path):
    lines = carried_out("Queues compared", tmp_path)
    p99 = {words[0]: float(words[2]) for words in (line.split() for line in lines)}
    assert list(p99) == ["fifo", "codel", "pie", "fq-codel"]
    assert p99["fifo"] > p99["codel"] > p99["fq-codel"]
    assert (tmp_path / "queues.png").stat().st_size > 20_000


def test_a_sweep_has_error_bars(tmp_path):
    lines = carried_out("A sweep with error bars", tmp_path)
    calls = [line for line in lines if " call " in f" {line} "]
    assert len(calls) == 9
    assert (tmp_path / "sweep.png").stat().st_size > 20_000


def test_a_scheduler_of_ones_own_is_compared(tmp_path):
    lines = carried_out("A scheduler of one's own", tmp_path)
    assert sum("least-sent" in line for line in lines) == sum("fq-codel" in line for line in lines) > 5


def test_completion_times_are_by_size(tmp_path):
    lines = carried_out("Completion times of a list of sizes", tmp_path)
    rows = [line.split() for line in lines if line[:1].isdigit()]
    assert [int(float(row[0])) for row in rows] == [1000 * 2**exponent for exponent in range(10)]
    medians = [float(row[1]) for row in rows]
    assert medians == sorted(medians)
    assert all(float(row[2]) >= float(row[1]) for row in rows)
