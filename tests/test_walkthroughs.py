"""Pages that lead: every file and every command as it stands there, and what is printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tidegate.cli import COMMANDS

ROOT = Path(__file__).parents[1]
VERIFY = os.environ.get("TIDEGATE_VERIFY") == "1"
BLOCK = re.compile(r"(?:<!-- create (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```", re.DOTALL)


def carried_out(folder: Path, line: str, fails: bool = True) -> str:
    """Return what a command of the page prints, on either stream; it may fail unless told otherwise."""
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
    """Return whether the lines follow each other in the output; `...` stands for any number of lines."""
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


class Walk(NamedTuple):
    """The commands of a page that are carried out.

    Attributes:
        commands: Number of them: none is lost by a slip in the page.
        without: Start of the others; `test_blocks.py` says which test carries those out.
        fails: Whether a command may fail: the page shows what a mistake is answered with.
        long: Whether `make verify` alone carries them out.
    """

    commands: int
    without: tuple[str, ...] = ()
    fails: bool = False
    long: bool = False


WALKED = {
    # `make` has a folder of its own.
    "README.md": Walk(4, without=("make ", "tidegate gate ")),
    "docs/tutorial.md": Walk(8, fails=True),
    "docs/data-centre.md": Walk(7, long=True),
    "docs/choosing.md": Walk(3),
    "docs/abr.md": Walk(2),
    "docs/contracts.md": Walk(4),
    "docs/credit.md": Walk(5),
    "docs/packets.md": Walk(2),
    "docs/plans.md": Walk(3),
    "docs/replay.md": Walk(1),
    "docs/report.md": Walk(3, long=True),
    "docs/score.md": Walk(2, long=True),
    "docs/service-profiles.md": Walk(5, long=True),
    "docs/side-by-side.md": Walk(1),
    "docs/sweeps.md": Walk(3, long=True),
}


def shown(page: Path, walk: Walk) -> list[str]:
    """Return the commands of a page that are carried out."""
    lines = re.findall(r"^\$ (tidegate .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [line for line in lines if not line.startswith(walk.without)]


def carry_out(page: Path, folder: Path, walk: Walk) -> int:
    """Write the files of a page and carry out its commands; returns how many there were."""
    commands = 0
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            (folder / block["file"]).write_text(block["body"], encoding="utf-8")
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                line, *rest = part.splitlines()
                # A command that takes root is not output of the one before it.
                expected = [one for one in rest if not one.startswith("# ")]
                if line.startswith(walk.without):
                    continue
                printed = carried_out(folder, line, walk.fails)
                assert is_shown(expected, printed.splitlines()), f"{line}\n{printed}"
                commands += 1
    return commands


@pytest.mark.parametrize("page", WALKED)
def test_the_commands_of_a_page_print_what_it_shows(page: str, tmp_path: Path) -> None:
    if WALKED[page].long and not VERIFY:
        pytest.skip("long: set TIDEGATE_VERIFY=1")
    capture = ROOT / "examples" / "captures" / "office.pcap"
    if page != "docs/tutorial.md":
        # The tutorial begins with an empty folder.
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        for name in ("office.pcap", "CAPTURE.pcap"):
            (tmp_path / name).symlink_to(capture)
    assert carry_out(ROOT / page, tmp_path, WALKED[page]) == WALKED[page].commands
    if page == "docs/tutorial.md":
        assert (tmp_path / "results.png").stat().st_size > 20_000


def test_every_command_has_an_example_that_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(tidegate .*)` \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == [*COMMANDS, "lab", "paper"]
    # Those of pages that lead are carried out there, of long ones in `make verify`. The demo has its own
    # test.
    elsewhere = {line for page, walk in WALKED.items() for line in shown(ROOT / page, walk)}
    for name, line in rows:
        assert shlex.split(line)[1] == name
        if name != "demo" and line not in elsewhere:
            carried_out(tmp_path, line, fails=False)
