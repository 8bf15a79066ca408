"""The README: short, and every line of it true."""

import re
import subprocess
import sys
import typing
from pathlib import Path

from tidegate import policies

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
CORE = (ROOT / "crates" / "core" / "README.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    """Return the first block of code of a kind."""
    return TEXT.partition(f"```{kind}\n")[2].partition("```")[0]


def test_it_has_at_most_120_lines() -> None:
    assert len(TEXT.splitlines()) <= 120


def test_it_counts_the_policies() -> None:
    kinds = [policies.SchedulerKind, policies.DropperKind, policies.MeterKind]
    counts = [len(typing.get_args(kind)) for kind in kinds]
    said = re.search(r"\*\*(\d+) schedulers, (\d+) droppers and (\d+) meters\*\*", TEXT)
    assert said
    assert [int(number) for number in said.groups()] == counts


def test_its_python_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", block("python")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "voice" in done.stdout
    assert len(block("python").strip().splitlines()) <= 8


def test_its_rust_is_the_example_of_the_crate_which_runs_as_a_test() -> None:
    shown = block("rust").strip()
    assert shown in CORE
    assert len([line for line in shown.splitlines() if line]) <= 13


def test_its_figures_of_speed_are_those_of_the_benchmarks() -> None:
    tables = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in row.split("|")[1:-1]] for row in tables.splitlines() if "| 1 ms |" in row
    ]
    known = [f"| {row[0]} | {row[2]} | {row[3]} |" for row in rows]
    shown = TEXT.partition("<!-- bench -->\n")[2].partition("<!-- /bench -->")[0].splitlines()[2:]
    assert len(shown) == 5
    assert set(shown) <= set(known)
    counts = [row.split("|")[3].strip() for row in shown]
    said = re.search(r"\*\*(\S+) instructions.*csg-htsim takes (\S+) and ns-3 ([\d,]+);", TEXT)
    assert said
    assert said.groups() == (counts[0], counts[1], counts[3])


def test_its_claims_are_those_of_the_pages() -> None:
    settings = re.search(r"(\d+) of 24 settings agree", TEXT)
    assert settings
    assert re.search(
        rf"\b{settings[1]} of (?:the )?24\b", (ROOT / "docs" / "linux.md").read_text(encoding="utf-8")
    )
    households = re.search(r"20,000 households in (\d+) MB", TEXT)
    assert households
    assert f"{households[1]} MB" in (ROOT / "docs" / "subscribers.md").read_text(encoding="utf-8")
