"""Writes into README.md some of what the demo prints.

Run it from the repository's root, in `.venv`, after a change of the demo.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

SHOWN = ("voice", "ssh", "web", "download", "liar")
"""Kinds of traffic that the README has room for."""


def fill(text: str, name: str, body: str) -> str:
    """Return `text` with `body` between the markers `name`."""
    return re.sub(
        rf"<!-- {name} -->\n.*?<!-- /{name} -->", f"<!-- {name} -->\n{body}<!-- /{name} -->", text, flags=re.S
    )


def main() -> None:
    """Fill the place."""
    readme = ROOT / "README.md"
    tidegate = Path(sys.executable).with_name("tidegate")
    demo = subprocess.run([tidegate, "demo"], cwd=ROOT, check=True, capture_output=True, text=True)
    lines = demo.stdout.split("\n\n")[1].splitlines()
    table = "\n".join(lines[:2] + [line for line in lines[2:] if line.startswith(SHOWN)])
    readme.write_text(fill(readme.read_text(), "demo", f"```text\n{table}\n```\n"))


if __name__ == "__main__":
    main()
