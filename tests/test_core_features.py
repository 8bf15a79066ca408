"""`tidegate-core` builds with any of its features, and without the standard library."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from files import ROOT

FEATURES = tomllib.loads((ROOT / "crates" / "core" / "Cargo.toml").read_text(encoding="utf-8"))["features"]
BARE = "x86_64-unknown-none"
"""A target without a standard library."""

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")


def check(*words: str, cwd: Path = ROOT) -> None:
    command = ["cargo", "check", "--quiet", "--offline", *words]
    environment_denies = ["--config", 'build.rustflags = ["-D", "warnings"]']
    done = subprocess.run(
        [*command, *environment_denies], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def skip_without_the_target() -> None:
    if shutil.which("rustup") is None:
        pytest.skip("needs rustup, which knows the targets that are installed")
    listed = subprocess.run(
        ["rustup", "target", "list", "--installed"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if BARE not in listed.stdout.split():
        pytest.skip(f"needs the target: rustup target add {BARE}")


def test_the_features_are_those_that_the_page_tells() -> None:
    page = (ROOT / "crates" / "core" / "README.md").read_text(encoding="utf-8")
    assert set(FEATURES["default"]) == set(FEATURES) - {"default"}
    for feature in FEATURES["default"]:
        assert f"| `{feature}` |" in page


@pytest.mark.parametrize("feature", ["", *FEATURES["default"]], ids=lambda feature: feature or "none")
def test_a_feature_alone_builds(feature: str) -> None:
    if os.environ.get("TIDEGATE_VERIFY") != "1":
        pytest.skip("a build for each: set TIDEGATE_VERIFY=1")
    check("--package", "tidegate-core", "--no-default-features", "--features", feature)


def test_everything_builds_without_the_standard_library() -> None:
    skip_without_the_target()
    others = ",".join(sorted(set(FEATURES["default"]) - {"std"}))
    check("--package", "tidegate-core", "--no-default-features", "--features", others, "--target", BARE)


def test_a_program_without_the_standard_library_uses_it(tmp_path: Path) -> None:
    """The example of the page, in a crate that has `core` and `alloc` alone."""
    skip_without_the_target()
    page = (ROOT / "crates" / "core" / "README.md").read_text(encoding="utf-8")
    uses, body = page.partition("```rust\n")[2].partition("```")[0].split("\n\n", 1)
    body = body.replace("# Ok", "Ok").replace("Ok::<(), Refused>(())", "Ok(())")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text(
        f"#![no_std]\nextern crate alloc;\nuse alloc::{{vec, vec::Vec}};\n{uses}\n\n"
        f"pub fn calls_come_first() -> Result<(), Refused> {{\n{body}}}\n"
    )
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "bare"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n'
        f"tidegate-core = {{ path = '{ROOT / 'crates' / 'core'}', default-features = false }}\n"
    )
    shutil.copy(ROOT / "Cargo.lock", tmp_path)
    check("--target", BARE, "--target-dir", str(ROOT / "target" / "bare"), cwd=tmp_path)
