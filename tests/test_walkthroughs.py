"""Pages that lead: every file and every command as it stands there, and what is printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.cli import COMMANDS

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?:<!-- create (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```", re.DOTALL)


def carried_out(folder: Path, line: str, fails: bool = True) -> str:
    """What a command of the page prints, on either stream; it may fail unless told otherwise."""
    program, *arguments = shlex.split(line, comments=True)
    programs = {"tidegate": ["-c", "from tidegate.cli import main; main()"], "python": []}
    done = subprocess.run(
        [sys.executable, *programs[program], *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout, done.stdout
    assert fails or done.returncode == 0, done.stdout
    return done.stdout


def is_shown(expected: list[str], printed: list[str]) -> bool:
    """Whether the lines follow each other in what was printed; `...` stands for any number of lines."""
    gap, rest = False, printed
    for line in expected:
        if line == "...":
            gap = True
            continue
        places = [place for place, one in enumerate(rest) if one.rstrip() == line.rstrip()]
        if not places or (places[0] > 0 and not gap):
            return False
        gap, rest = False, rest[places[0] + 1 :]
    return True


def carry_out(page: str, folder: Path, fails: bool = True, without: tuple[str, ...] = ()) -> int:
    """Write the files of a page and carry out its commands, except some; returns how many there were."""
    commands = 0
    for block in BLOCK.finditer((ROOT / "docs" / page).read_text(encoding="utf-8")):
        if block["file"]:
            (folder / block["file"]).write_text(block["body"], encoding="utf-8")
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                line, *expected = part.splitlines()
                if line.startswith(without):
                    continue
                printed = carried_out(folder, line, fails)
                assert is_shown(expected, printed.splitlines()), f"{line}\n{printed}"
                commands += 1
    return commands


def test_the_tutorial_from_an_empty_folder(tmp_path: Path) -> None:
    assert carry_out("tutorial.md", tmp_path) == 8
    assert (tmp_path / "results.png").stat().st_size > 20_000


def test_the_readme_from_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "CAPTURE.pcap").symlink_to(ROOT / "examples" / "captures" / "office.pcap")
    # `make` has a folder of its own, and a gate takes root: crates/gate/tests/docs.rs.
    assert carry_out("../README.md", tmp_path, fails=False, without=("make", "tidegate gate")) == 7


def test_which_policy_when(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert carry_out("choosing.md", tmp_path) == 3


@pytest.mark.parametrize(("page", "commands"), [("replay.md", 1), ("contracts.md", 4), ("credit.md", 3)])
def test_the_commands_of_a_page(page: str, commands: int, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "office.pcap").symlink_to(ROOT / "examples" / "captures" / "office.pcap")
    assert carry_out(page, tmp_path, fails=False) == commands


def test_every_command_has_an_example_that_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(tidegate .*)` \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == list(COMMANDS)
    for name, line in rows:
        assert shlex.split(line)[1] == name
        if name != "demo":
            # Which has a test of its own.
            carried_out(tmp_path, line, fails=False)
