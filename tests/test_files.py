"""Files: none is too long, and their imports have no circle."""

import re
from pathlib import Path

import pytest

from files import CRATES, PACKAGES, ROOT, circles, python_imports, rust_code, rust_files, rust_imports

LONGEST = 400
"""Lines of a file, its unit tests aside."""

GENERATED = "written from the records: do not edit"
"""In the first line of a file that nobody writes."""


def python_sources() -> list[Path]:
    folders = (*PACKAGES, "docs", "benches", "examples", "release")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def is_generated(path: Path) -> bool:
    return GENERATED in path.read_text(encoding="utf-8").partition("\n")[0]


def test_no_python_file_is_too_long() -> None:
    written = [path for path in python_sources() if not is_generated(path)]
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in written
    }
    assert len(lengths) > 100
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_only_two_files_are_generated() -> None:
    generated = [
        path.relative_to(ROOT / "python" / "tidegate") for path in python_sources() if is_generated(path)
    ]
    assert generated == [Path("policies.py"), Path("result_tables.py")]


def test_imports_between_python_files_have_no_circle() -> None:
    graph = python_imports(tuple(ROOT / package for package in PACKAGES))
    assert len(graph) > 100
    assert "tidegate.results" in graph["tidegate_papers.measures"] | graph["tidegate.replications"]
    assert circles(graph) == []


GETTER = re.compile(
    r"\.(?:bytes|choice|count|flag|given|integer|limit|number|ports|rate|size|sizes|table|tables|text|texts|time|word)"
    r'\("[a-z]'
)
"""A value of a file, taken by the name of its key."""

READERS = {"gate/outline.rs", "read.rs", "set/entries.rs", "set/mod.rs", "set/policy.rs"}
"""Files that walk a file's text before its values fit the records."""


def test_keys_of_files_are_read_as_fields() -> None:
    source = ROOT / "crates" / "formats" / "src"
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.rs")
        # Keys of another program's output have no records.
        if source / "tc" not in path.parents and GETTER.search(path.read_text(encoding="utf-8"))
    }
    assert found == READERS


@pytest.mark.parametrize("getter", ['values.rate("rate")', 'table.text("name")?', 'change.given("at")'])
def test_a_key_that_is_read_by_its_name_is_found(getter: str) -> None:
    assert GETTER.search(f"let value = {getter};")


@pytest.mark.parametrize(
    "text",
    [
        "import tidegate.b",
        "from tidegate import b",
        "from tidegate.b import something",
        "from . import b",
        "from .b import something",
        "def f():\n    from tidegate import b",
        "if TYPE_CHECKING:\n    from tidegate.b import Something",
    ],
)
def test_a_circle_of_python_files_is_found(text: str, tmp_path: Path) -> None:
    package = tmp_path / "tidegate"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(text)
    (package / "b.py").write_text("from tidegate import c")
    (package / "c.py").write_text("import os\n")
    assert circles(python_imports((package,))) == []
    (package / "c.py").write_text("import tidegate.a\n")
    assert circles(python_imports((package,))) == [["tidegate.a", "tidegate.b", "tidegate.c"]]


CRATE = {
    "lib.rs": "pub mod a;\npub mod b;\nmod c;\npub use c::C;\n",
    "a/mod.rs": "mod x;\nmod y;\npub use x::X;\npub use y::*;\n",
    "a/x.rs": "use std::fmt;\npub struct X;\n",
    "a/y.rs": "pub struct Y;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
    "b.rs": "pub struct B;\n",
    "c.rs": "pub struct C;\n",
}


@pytest.mark.parametrize("crate", CRATES)
def test_imports_between_rust_files_have_no_circle(crate: str) -> None:
    graph = rust_imports(ROOT / "crates" / crate)
    assert len(graph) > 5
    assert any(graph.values())
    assert circles(graph) == []


@pytest.mark.parametrize("crate", CRATES)
def test_no_rust_file_is_too_long(crate: str) -> None:
    files = rust_files(ROOT / "crates" / crate)
    lengths = {str(path.relative_to(ROOT)): len(rust_code(path).splitlines()) for path in files.values()}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


@pytest.mark.parametrize("folder", ["benches", "crates/*/examples", "crates/*/tests", "fuzz/targets"])
def test_no_rust_test_is_too_long(folder: str) -> None:
    tests = [path for found in ROOT.glob(folder) for path in found.rglob("*.rs")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in tests}
    assert lengths
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, ""),
        ({"a/x.rs": "use crate::b::B;"}, ""),
        ({"b.rs": "use crate::a::{X, Y};"}, ""),
        ({"a/x.rs": "use crate::b::B;\npub struct X;", "b.rs": "use crate::a::{self, X};"}, "a/x.rs b.rs"),
        ({"a/y.rs": "use super::super::b;\npub struct Y;", "b.rs": "use crate::a::Y;"}, "a/y.rs b.rs"),
        ({"a/y.rs": "pub struct Y(crate::b::B);", "b.rs": "fn f(_: super::a::Y) {}"}, "a/y.rs b.rs"),
        ({"a/y.rs": "// crate::b::B\npub struct Y;", "b.rs": "use crate::a::Y;"}, ""),
        ({"b.rs": "use crate::{C, a};", "c.rs": "use crate::b::B;\npub struct C;"}, "b.rs c.rs"),
        ({"a/y.rs": "pub(in crate::b) struct Y;", "b.rs": "use crate::a::Y;"}, ""),
        ({"a/mod.rs": "mod x;\nfn f() { x::g() }", "a/x.rs": "use super::f;"}, "a/mod.rs a/x.rs"),
        ({"a/mod.rs": "mod x;\nuse x::g;\nfn f() {}", "a/x.rs": "use super::f;"}, "a/mod.rs a/x.rs"),
    ],
)
def test_circles_of_rust_files_are_found(changes: dict[str, str], found: str, tmp_path: Path) -> None:
    for name, text in (CRATE | changes).items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert circles(rust_imports(tmp_path)) == ([found.split()] if found else [])
