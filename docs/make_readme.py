"""Writes into README.md what comes from elsewhere: the ten-line scenario and what the demo prints.

Run it from the repository's root, in `.venv`, after a change of either.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def fill(text: str, name: str, body: str) -> str:
    """Return `text` with `body` between the markers `name`."""
    return re.sub(
        rf"<!-- {name} -->\n.*?<!-- /{name} -->", f"<!-- {name} -->\n{body}<!-- /{name} -->", text, flags=re.S
    )


def main() -> None:
    """Fill both places."""
    readme = ROOT / "README.md"
    scenario = (ROOT / "examples" / "ten-lines.toml").read_text()
    tidegate = Path(sys.executable).with_name("tidegate")
    demo = subprocess.run([tidegate, "demo"], cwd=ROOT, check=True, capture_output=True, text=True)
    table = demo.stdout.split("\n\n")[1]
    text = fill(readme.read_text(), "ten-lines", f"```toml\n{scenario}```\n")
    readme.write_text(fill(text, "demo", f"```text\n{table}\n```\n"))


if __name__ == "__main__":
    main()
