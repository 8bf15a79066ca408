"""Looks for words that pages, help, messages and comments avoid: the table in CONTRIBUTING.md.

Run from the repository's root by `make lint`. Exits with 1 when it finds one.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHERE = (
    "README.md",
    "CHANGELOG.md",
    "docs/**/*.md",
    "python/**/*.py",
    "papers/**/*.py",
    "lab/**/*.py",
    "crates/*/src/**/*.rs",
    "examples/**/*.toml",
)


def avoided() -> dict[str, str]:
    """Return the phrases of the table and what to write in their place."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("### Words to avoid")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {phrase: write for avoid, write in rows for phrase in re.findall("`([^`]+)`", avoid)}


def pattern(phrases: list[str]) -> re.Pattern[str]:
    """Return what finds the phrases as whole words; a phrase may go on in the next line."""
    words = [r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases]
    return re.compile(rf"(?<!\w)({'|'.join(words)})(?!\w)", re.IGNORECASE)


def main() -> int:
    """Print every place; return 1 if there is one."""
    phrases = avoided()
    found = pattern(list(phrases))
    places = 0
    for path in sorted(path for glob in WHERE for path in ROOT.glob(glob)):
        text = path.read_text(encoding="utf-8")
        for match in found.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            phrase = " ".join(match[0].lower().split())
            print(f"{path.relative_to(ROOT)}:{line}: `{phrase}`: write: {phrases[phrase]}")
            places += 1
    return min(places, 1)


if __name__ == "__main__":
    sys.exit(main())
