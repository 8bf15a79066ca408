"""Looks for words that pages, help, messages and comments avoid, and for clauses as their subjects.

CONTRIBUTING.md has the words in a table.

Run from the repository's root by `make lint`. Exits with 1 when it finds one.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
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

COMMENTED = (
    "python/**/*.py",
    "papers/**/*.py",
    "lab/**/*.py",
    "docs/*.py",
    "benches/*.py",
    "tests/*.py",
    "examples/*.py",
    "crates/**/*.rs",
    "benches/**/*.rs",
    "fuzz/targets/*.rs",
)
"""Files whose comments begin with their subject."""

GENERATED = "written from the records: do not edit"
"""In the first line of a file whose sentences are those of the records."""

CLAUSE = re.compile(r"(What|Whether|Of|So many|The same|How)\b")
"""Start of a clause that stands for a noun."""

RUST_COMMENT = re.compile(r"^[ \t]*//[/!]?[ \t]?(.*)$", re.MULTILINE)


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


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and docstrings of a file: the line in which each begins, and its first line."""
    text = path.read_text(encoding="utf-8")
    return rust_comments(text) if path.suffix == ".rs" else python_comments(text)


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and docstrings of Python; a string of its own explains a constant."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as docstring)):
                yield node.lineno, docstring.strip().partition("\n")[0]
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            alone = not token.line[:column].strip()
            if not (alone and line == last + 1):
                yield line, token.string.lstrip("#: ")
            last = line if alone else 0


def rust_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of Rust, each paragraph of its own."""
    last, blank = 0, False
    for found in RUST_COMMENT.finditer(text):
        line = text.count("\n", 0, found.start(1)) + 1
        if found[1] and (line != last + 1 or blank):
            yield line, found[1]
        last, blank = line, not found[1]


def clauses() -> Iterator[str]:
    """Yield a message for each comment that begins with a clause in place of its subject."""
    for path in sorted(path for glob in COMMENTED for path in ROOT.glob(glob)):
        if GENERATED in path.read_text(encoding="utf-8").partition("\n")[0]:
            continue
        for line, comment in comments(path):
            if start := CLAUSE.match(comment):
                yield (
                    f"{path.relative_to(ROOT)}:{line}: a comment begins with `{start[0]}`: "
                    "begin with the subject, as in `Return whether`"
                )


def phrases() -> Iterator[str]:
    """Yield a message for each phrase that is avoided."""
    instead = avoided()
    found = pattern(list(instead))
    for path in sorted(path for glob in WHERE for path in ROOT.glob(glob)):
        text = path.read_text(encoding="utf-8")
        for match in found.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            phrase = " ".join(match[0].lower().split())
            yield f"{path.relative_to(ROOT)}:{line}: `{phrase}`: write: {instead[phrase]}"


def main() -> int:
    """Print every place; return 1 if there is one."""
    found = [*phrases(), *clauses()]
    for message in found:
        print(message)
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
