"""`make test` runs all test binaries of the Rust workspace, those that follow real time one by one."""

import os
import subprocess
from pathlib import Path

import pytest

import binaries

PASSED = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A cargo that has built binaries with these packages, names and bodies, and a log of their runs."""
    log = tmp_path / "log"

    def having(*made, documented=0):
        listed = []
        for package, name, body in made:
            path = tmp_path / f"{name}-0123456789abcdef"
            path.write_text(f'#!/bin/sh\necho begin {name} "$@" >> {log}\n{body}\necho end {name} >> {log}\n')
            path.chmod(0o755)
            listed.append(binaries.Binary(path, package, tmp_path))
        monkeypatch.setattr(binaries, "built", lambda _: listed)
        cargo = tmp_path / "cargo"
        cargo.write_text(f'#!/bin/sh\necho cargo "$@" >> {log}\nexit {documented}\n')
        cargo.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return lambda: log.read_text().splitlines()

    return having


def test_those_of_real_time_run_one_by_one(workspace, capfd):
    lines = workspace(
        ("tidegate-sim", "credit", f"sleep 0.1; echo '{PASSED}'"),
        ("tidegate-gate", "late", "sleep 0.1"),
        ("tidegate-gate", "link", "sleep 0.1"),
    )
    assert binaries.main(["--workspace"], ["--quiet"]) == 0
    assert [line for line in lines() if "late" in line or "link" in line] == [
        "begin late --quiet",
        "end late",
        "begin link --quiet",
        "end link",
    ]
    assert lines().index("begin credit --quiet") < lines().index("begin link --quiet")
    assert lines()[-1] == "cargo test --workspace --doc -- --quiet"
    printed = capfd.readouterr().out
    assert "tidegate-sim credit, 0." in printed
    assert "s: 3 passed, 1 ignored\n" in printed
    assert printed.endswith("3 test binaries and the examples in docstrings: none failed.\n")


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="needs Linux's scheduling")
def test_others_have_the_time_that_those_of_real_time_leave(workspace, tmp_path):
    asked = f"sleep 0.3; chrt -p $$ >> {tmp_path}/policies"
    workspace(("tidegate-sim", "credit", asked))
    assert binaries.main([], []) == 0
    assert "SCHED_IDLE" in (tmp_path / "policies").read_text()
    workspace(("tidegate-gate", "late", asked))
    assert binaries.main([], []) == 0
    assert "SCHED_OTHER" in (tmp_path / "policies").read_text()


def test_a_failure_stops_nothing_and_is_printed_whole(workspace, capfd):
    lines = workspace(
        ("tidegate-core", "curves", "echo 'assertion failed: 1 == 2'; exit 101"),
        ("tidegate-core", "tree", f"echo '{PASSED}'"),
    )
    assert binaries.main([], []) == 1
    assert "end tree" in lines()
    printed = capfd.readouterr().out
    assert "FAILED with exit code 101\nassertion failed: 1 == 2\n" in printed
    assert printed.endswith(": tidegate-core curves failed.\n")


def test_a_failing_example_in_a_docstring_counts(workspace, capfd):
    workspace(documented=101)
    assert binaries.main([], []) == 1
    assert "examples in docstrings failed" in capfd.readouterr().out


def test_the_binaries_of_the_workspace_are_found():
    """Cargo's own list, with the options of `make test`, for which all is built."""
    root = Path(__file__).parents[1]
    cargo = ["cargo", "metadata", "--no-deps", "--format-version=1", "--offline"]
    if subprocess.run(cargo, cwd=root, capture_output=True).returncode:
        pytest.skip("cargo is not there")
    options = ["--manifest-path", str(root / "Cargo.toml"), "--workspace", "--exclude", "tidegate-bindings"]
    found = binaries.built(options)
    assert {one.package for one in found} == {
        f"tidegate-{name}" for name in ("core", "formats", "gate", "sim")
    }
    found = [one for one in found if one.package == "tidegate-formats"]
    assert {one.directory for one in found} == {root / "crates" / "formats"}
    named = {one.path.stem.rsplit("-", 1)[0] for one in found}
    assert named >= {path.stem for path in (root / "crates" / "formats" / "tests").glob("*.rs")}
