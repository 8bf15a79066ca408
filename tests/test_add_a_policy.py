"""The pages docs/add-a-*.md, followed to the letter in a copy of the sources."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate

ROOT = Path(__file__).parents[1]
# The copy is kept between runs, and its dependencies are those in the target folder of the sources:
# only the first run is slow.
COPY = ROOT / "target" / "add-a-policy" / "tidegate"
TARGET = ROOT / "target"
VERSION = f'version = "{tidegate.__version__}"'
# All are built together, so that their dependencies are built once.
CRATES = ("-p", "tidegate-core", "-p", "tidegate-formats", "-p", "tidegate-sim")
FOLDERS = ("crates", "python", "papers", "benches", "examples", "docs")
STEP = re.compile(r"<!-- (create|after|before) (\S+)(?: \"(.+?)\")? -->\n```rust\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (tidegate .*)$", re.MULTILINE)
TEST = re.compile(r"^\$ cargo test -p (tidegate-\w+) --test (\w+)$", re.MULTILINE)
NAME = re.compile(r"^ {8}name: \"(.+)\",$", re.MULTILINE)
PAGES = sorted((ROOT / "docs").glob("add-a*.md"), key=lambda page: page.stem)
COLUMN = ROOT / "docs" / "add-a-column.md"
POLICIES = [page for page in PAGES if page != COLUMN]
OF_ITS_OWN = [
    # docs/names.md has a row for each of tidegate's own policies.
    "every_policy_has_a_row_that_says_what_its_record_says",
    # The reference model has a rule for each of tidegate's own schedulers.
    "every_packet_is_sent_and_dropped_as_the_model_says",
    "falsified_logs_are_found_out",
    # The conformance matrix has a row for each of tidegate's own schedulers.
    "disciplines_have_the_properties_that_are_claimed_and_no_others",
]
"""Tests that look at every policy, and know tidegate's own."""
VERIFY = os.environ.get("TIDEGATE_VERIFY") == "1"
# The tests that loop over every record, beside each page's own.
LOOPS = ("conservation", "metamorphic", "params", "push_out", "tree", "names")

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")


def steps(page: Path) -> list[tuple[str, str, str, str]]:
    """Return where (create, after, before), in which file, at which line, which text."""
    return STEP.findall(page.read_text(encoding="utf-8"))


def records(page: Path) -> list[str]:
    """Return the names of the policies that a page adds."""
    return [name for *_, text in steps(page) for name in NAME.findall(text)]


def sources(pages: list[Path]) -> dict[Path, bytes]:
    """Return the sources as they are when these pages have been followed, by path."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = [path for path in files if path.suffix not in (".pyc", ".so")]
    files += [
        ROOT / name for name in ("Cargo.toml", "Cargo.lock", "README.md", "clippy.toml", "rustfmt.toml")
    ]
    found = {path.relative_to(ROOT): path.read_bytes() for path in files}
    # Cargo names what it builds after a package's version and its place in the workspace. With the
    # version of the sources, it would take what is built from the copy for theirs.
    manifest = found[Path("Cargo.toml")].decode()
    assert VERSION in manifest
    found[Path("Cargo.toml")] = manifest.replace(VERSION, 'version = "0.0.0"').encode()
    for where, file, line, text in (step for page in pages for step in steps(page)):
        if where == "create":
            assert Path(file) not in found, f"{file} is there already"
            found[Path(file)] = text.encode()
        else:
            before = found[Path(file)].decode()
            assert before.count(f"\n{line}\n") == 1, f"{file}: {line}"
            both = f"{line}\n{text}" if where == "after" else f"{text}{line}\n"
            found[Path(file)] = before.replace(f"\n{line}\n", f"\n{both}").encode()
    return found


def copy_with(pages: list[Path]) -> None:
    """Bring the copy up to date; what has not changed keeps its time, so that it is not built again."""
    wanted = sources(pages)
    for path, content in wanted.items():
        target = COPY / path
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for path in [path for path in COPY.rglob("*") if path.is_file()]:
        if path.relative_to(COPY) not in wanted:
            path.unlink()


def cargo(*arguments: str) -> str:
    # Its long runs are those of the sources themselves: `make verify` carries them out there.
    environment = {name: value for name, value in os.environ.items() if name != "TIDEGATE_VERIFY"}
    environment |= {"CARGO_TARGET_DIR": str(TARGET), "INSTA_UPDATE": "no"}
    done = subprocess.run(
        ["cargo", *arguments], cwd=COPY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def document(outlet: str) -> str:
    """Return what the copy's records say: a page, or types of Python."""
    written = [str(TARGET / "debug" / "examples" / "formats_docs"), outlet]
    return subprocess.run(written, cwd=COPY, capture_output=True, text=True, check=True).stdout


def test_there_is_a_page_for_every_kind() -> None:
    kinds = [
        "a-built-in-stage",
        "a-column",
        "a-congestion-control",
        "a-detector",
        "a-dropper",
        "a-meter",
        "a-scheduler",
        "a-stage",
        "a-weighted-scheduler",
        "an-endpoint",
    ]
    assert [page.stem.removeprefix("add-") for page in PAGES] == kinds


@pytest.mark.parametrize("page", POLICIES, ids=lambda page: page.stem)
def test_a_policy_is_a_file_its_test_and_its_registry_line(page: Path) -> None:
    created = [file for where, file, *_ in steps(page) if where == "create"]
    inserted = [(file, text) for where, file, _, text in steps(page) if where != "create"]
    (policy,) = [file for file in created if "/src/" in file]
    (test,) = [file for file in created if "/tests/" in file]
    module = f"mod {Path(policy).stem};\n"
    assert all(Path(policy).parent in (Path(file).parent, Path(file).with_suffix("")) for file, _ in inserted)
    assert all(len(text.split()) <= 3 and text.count(";") + text.count(",") == 1 for _, text in inserted)
    # A policy with a record has a line in its registry beside that of the module; so has a built-in stage.
    lines = [text for _, text in inserted if module not in text]
    assert len(inserted) == len(lines) + 1
    stages = [file for file, _ in inserted if file == "crates/sim/src/world/stages/registry.rs"]
    assert len(lines) == len(records(page)) + len(stages)
    assert TEST.findall(page.read_text(encoding="utf-8")) == [
        (f"tidegate-{test.split('/')[1]}", Path(test).stem)
    ]


def test_a_column_is_an_entry_of_the_declaration_and_a_line_where_its_value_is_given() -> None:
    declared, given = steps(COLUMN)
    name = Path(declared[1]).name
    assert declared[:2] == ("after", f"crates/formats/src/columns/{name}")
    assert given[:2] == ("after", f"crates/sim/src/results/{name}")
    comment, column = declared[3].splitlines()
    assert comment.startswith("        /// ")
    assert column.partition(":")[0] == given[3].partition(":")[0].removeprefix("    ")
    assert given[3].count("\n") == 1


@needs_cargo
def test_the_pages_apply_and_are_formatted() -> None:
    copy_with(PAGES)
    cargo("fmt", "--all", "--check")


@needs_cargo
@pytest.mark.skipif(not VERIFY, reason="long: set TIDEGATE_VERIFY=1")
def test_the_pages_lead_to_policies_and_a_column_that_work() -> None:
    copy_with(PAGES)
    own = [TEST.findall(page.read_text(encoding="utf-8"))[0][1] for page in POLICIES]
    tests = [*own, *LOOPS, "results"]
    printed = cargo("test", *CRATES, *(part for test in tests for part in ("--test", test)))
    assert printed.count("test result: ok. ") == len(tests)
    assert "test result: ok. 0 passed" not in printed
    cargo("build", *CRATES, "--example", "formats_docs")
    for outlet in ("schema", "reference", "python"):
        text = document(outlet)
        for name in (name for page in POLICIES for name in records(page)):
            assert name in text, f"{name} is not in the {outlet}"
    kept = {"reference": "docs/scenario.md", "python-tables": "python/tidegate/result_tables.py"}
    for outlet, before in kept.items():
        assert "destinations: more than one" in document(outlet)
        assert "destinations: more than one" not in (ROOT / before).read_text(encoding="utf-8")


@needs_cargo
@pytest.mark.skipif(not VERIFY, reason="long: set TIDEGATE_VERIFY=1")
@pytest.mark.parametrize("page", POLICIES, ids=lambda page: page.stem)
def test_each_page_stands_alone(page: Path) -> None:
    copy_with([page])
    ((crate, test),) = TEST.findall(page.read_text(encoding="utf-8"))
    cargo("test", "-p", crate, "--test", test)


@needs_cargo
@pytest.mark.skipif(not VERIFY, reason="long: set TIDEGATE_VERIFY=1")
def test_the_commands_of_the_pages_know_their_policies(tmp_path: Path) -> None:
    copy_with(PAGES)
    cargo("build", "-p", "tidegate-bindings", "--no-default-features", "--features", "pyo3/extension-module")
    built = TARGET / "debug" / "lib_tidegate.so"
    shutil.copytree(COPY / "python", tmp_path / "python")
    shutil.copy(built, tmp_path / "python" / "tidegate" / "_tidegate.abi3.so")
    program = tmp_path / "tidegate"
    program.write_text(f"#!{sys.executable}\nfrom tidegate.cli import main\n\nmain()\n")
    program.chmod(0o755)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path / "python")}
    commands = [line for page in PAGES for line in COMMAND.findall(page.read_text(encoding="utf-8"))]
    assert len(commands) == 7
    for line in commands:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=ROOT,
            env=os.environ | found,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, line + done.stdout + done.stderr


@needs_cargo
@pytest.mark.skipif(not VERIFY, reason="long: set TIDEGATE_VERIFY=1")
def test_every_rust_test_holds_with_every_page() -> None:
    copy_with(PAGES)
    crates = [part for crate in ("core", "formats", "sim") for part in ("-p", f"tidegate-{crate}")]
    cargo("test", *crates, "--", *(word for name in OF_ITS_OWN for word in ("--skip", name)))
    cargo("clippy", "-p", "tidegate-core", "-p", "tidegate-sim", "--all-targets", "--", "-D", "warnings")
