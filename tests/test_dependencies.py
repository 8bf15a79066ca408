"""Dependencies and what the crates promise: judged by tools of cargo, in `make verify`."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARIES = ("tidegate-core", "tidegate-formats", "tidegate-sim")
"""The crates whose public items docs/versions.md promises."""

long = pytest.mark.skipif(os.environ.get("TIDEGATE_VERIFY") != "1", reason="long: set TIDEGATE_VERIFY=1")


def cargo(tool: str, *words: str) -> None:
    """Carry out a tool of cargo, or skip the test if it is not installed."""
    if shutil.which(f"cargo-{tool}") is None:
        pytest.skip(f"needs cargo-{tool}: cargo install --locked cargo-{tool}")
    done = subprocess.run(["cargo", tool, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@long
def test_licences_versions_and_origins_of_crates_are_allowed() -> None:
    cargo("deny", "--locked", "check", "licenses", "bans", "sources")


@long
@pytest.mark.parametrize("crate", LIBRARIES)
def test_a_crate_breaks_no_program_of_the_latest_release(crate: str) -> None:
    tags = ["git", "tag", "--merged", "HEAD", "--list", "v*", "--sort=-version:refname"]
    tagged = subprocess.run(tags, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if not tagged:
        pytest.skip("no release has a tag")
    cargo("semver-checks", "--package", crate, "--baseline-rev", tagged[0])


def test_each_crate_comes_from_crates_io_and_has_a_checksum() -> None:
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    others = [one for one in packages if not one["name"].startswith("tidegate")]
    assert len(others) > 50
    origin = "registry+https://github.com/rust-lang/crates.io-index"
    assert [one["name"] for one in others if one["source"] != origin or not one["checksum"]] == []


def test_all_crates_state_the_oldest_rust_that_the_page_promises() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    oldest = workspace["package"]["rust-version"]
    for member in workspace["members"]:
        package = tomllib.loads((ROOT / member / "Cargo.toml").read_text(encoding="utf-8"))["package"]
        assert package["rust-version"] == {"workspace": True}
    assert f"Rust {oldest}" in (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")


@long
def test_the_oldest_rust_compiles_the_sources() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    oldest = manifest["workspace"]["package"]["rust-version"]
    if shutil.which("rustup") is None:
        pytest.skip("needs rustup")
    toolchains = subprocess.run(["rustup", "toolchain", "list"], capture_output=True, text=True, check=True)
    if not any(line.startswith(f"{oldest}-") for line in toolchains.stdout.splitlines()):
        pytest.skip(f"needs Rust {oldest}: rustup toolchain install {oldest} --profile minimal")
    # A folder of its own, so that the other toolchain finds its work as it left it.
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "oldest"
    words = [
        "cargo",
        f"+{oldest}",
        "check",
        "--workspace",
        "--locked",
        "--quiet",
        "--target-dir",
        str(folder),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
