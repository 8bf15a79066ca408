"""docs/architecture.md, held to the tree: its files, its items, and the arrows between crates and modules."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```text ([\w ]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FEATURE = re.compile(r"^\| .+ \| `(\S+)` \| `(\w+)` \|$", re.MULTILINE)
DEFINED = r"\b(fn|struct|enum|trait|const|static|type|mod|macro_rules!|def|class) {}\b"
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(#\[.*\]\n)*mod \w+ \{", re.MULTILINE)
IMPORT = re.compile(r"\bcrate::(\w+)")
# A module that stands in another one, and has its old path as well.
ELSEWHERE = {"core": {"contract": "params"}}


def blocks(title: str) -> dict[str, str]:
    """Return the diagrams of a kind by the rest of their title."""
    found = BLOCK.findall(PAGE)
    return {name.removeprefix(title).strip(): body for name, body in found if name.split()[0] == title}


CRATES = {
    line.split(" -> ")[0]: set(line.split(" -> ")[1].split()) for line in blocks("crates")[""].splitlines()
}
MODULES = blocks("modules")


def code(crate: str) -> dict[Path, str]:
    """Return the code of a crate by file, without comments and without its tests."""
    found = {}
    source = ROOT / "crates" / crate / "src"
    for path in sorted(source.rglob("*.rs")):
        inside = path.relative_to(source)
        if "tests" in inside.parts or inside.stem.endswith("tests") or inside.stem == "fuzzing":
            continue
        text = path.read_text(encoding="utf-8")
        tests = TESTS.search(text)
        lines = text[: tests.start() if tests else None].splitlines()
        found[inside] = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    return found


def imports(crate: str) -> dict[str, set[str]]:
    """Return which modules of its crate each module imports."""
    roots = {"lib", "main"}
    files = {
        path: text for path, text in code(crate).items() if path.stem not in roots or len(path.parts) > 1
    }
    found: dict[str, set[str]] = {path.parts[0].removesuffix(".rs"): set() for path in files}
    for path, text in files.items():
        module = path.parts[0].removesuffix(".rs")
        # `use crate::{a, b}` would hide what is imported.
        assert "crate::{" not in text, path
        used = {ELSEWHERE.get(crate, {}).get(name, name) for name in IMPORT.findall(text)}
        found[module] |= (used & found.keys()) - {module}
    return found


def rows(crate: str) -> list[list[str]]:
    return [re.findall(r"\w+", line) for line in MODULES[crate].splitlines()]


def test_the_features_are_where_the_page_says() -> None:
    features = FEATURE.findall(PAGE)
    assert len(features) >= 10
    for file, item in features:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(DEFINED.format(item), text), f"{item} is not in {file}"


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"(?<![\w/])(?:crates|python|docs|tests|benches|fuzz)/[\w./-]+", PAGE)
    assert len(named) > 40
    missing = [path for path in named if not (ROOT / path.rstrip("./")).exists()]
    assert not missing
    for way in [body for name, body in BLOCK.findall(PAGE) if name == "way"]:
        assert all(re.search(r" crates/\S+\.rs ", line) for line in way.splitlines())


@pytest.mark.parametrize("crate", ["core", *CRATES])
def test_crates_know_only_those_below(crate: str) -> None:
    used = {name for text in code(crate).values() for name in re.findall(r"\btidegate_(\w+)::", text)}
    used &= {"core", *CRATES} - {crate}
    assert used <= CRATES.get(crate, set())


@pytest.mark.parametrize("crate", MODULES)
def test_every_module_has_its_place(crate: str) -> None:
    placed = [module for row in rows(crate) for module in row]
    assert sorted(placed) == sorted(imports(crate))


@pytest.mark.parametrize("crate", MODULES)
def test_modules_import_only_from_below(crate: str) -> None:
    graph = imports(crate)
    order = rows(crate)
    for row in order:
        below = {module for lower in order[order.index(row) + 1 :] for module in lower}
        for module in row:
            assert graph[module] <= below, f"{module}: {graph[module] - below}"
