"""The tutorial, from an empty folder: every file and every command as it stands, and what is printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"(?:<!-- create (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```", re.DOTALL)


def carried_out(folder: Path, line: str) -> str:
    """What a command of the page prints, on either stream."""
    program, *arguments = shlex.split(line)
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


def test_the_tutorial_prints_what_stands_there(tmp_path: Path) -> None:
    commands = 0
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["body"], encoding="utf-8")
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                line, *expected = part.splitlines()
                printed = carried_out(tmp_path, line)
                assert is_shown(expected, printed.splitlines()), f"{line}\n{printed}"
                commands += 1
    assert commands == 8
    assert (tmp_path / "results.png").stat().st_size > 20_000
