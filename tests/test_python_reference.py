"""The page of all public names."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_is_what_the_docstrings_say() -> None:
    command = [sys.executable, ROOT / "docs" / "make_python_reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_explained() -> None:
    page = (ROOT / "docs" / "python-reference.md").read_text()
    for entry in page.split("\n### ")[1:]:
        heading, _, text = entry.partition("\n")
        assert text.replace("```text", "").strip().count(" ") >= 1, f"{heading} has no docstring"
