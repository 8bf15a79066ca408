"""Releases: what packages hold, and that they say the same."""

import os
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

import tidegate

ROOT = Path(__file__).parents[1]
CRATES = ("tidegate-core", "tidegate-formats", "tidegate-sim", "tidegate-gate")

long = pytest.mark.skipif(os.environ.get("TIDEGATE_VERIFY") != "1", reason="long: set TIDEGATE_VERIFY=1")


def cargo(*words: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(["cargo", *words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("crate", CRATES)
def test_a_crate_has_its_licences(crate: str) -> None:
    files = cargo("package", "--package", crate, "--list", "--allow-dirty", "--offline").splitlines()
    assert {"LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml", "src/lib.rs"} <= set(files)


def test_versions_are_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert tidegate.__version__ == version
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited
    assert cited[1] == version
    for other in ("papers", "lab"):
        project = tomllib.loads((ROOT / other / "pyproject.toml").read_text())["project"]
        assert project["version"] == version
        assert f"tidegate=={version}" in project["dependencies"]


@long
def test_a_program_outside_depends_on_the_packaged_crate(tmp_path: Path) -> None:
    cargo("package", "--package", "tidegate-core", "--no-verify", "--allow-dirty", "--offline")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    [archive] = (target / "package").glob("tidegate-core-*.crate")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    [crate] = tmp_path.glob("tidegate-core-*")
    assert (crate / "LICENSE-MIT").read_text() == (ROOT / "LICENSE-MIT").read_text()
    cargo("new", "--quiet", "--vcs", "none", "outside", cwd=tmp_path)
    (tmp_path / "outside" / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    cargo("add", "--quiet", "--offline", "--path", str(crate), cwd=tmp_path / "outside")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    uses, body = readme.partition("```rust\n")[2].partition("```")[0].split("\n\n", 1)
    program = f"{uses}\n\nfn main() -> Result<(), Refused> {{\n{body}Ok(())\n}}\n"
    (tmp_path / "outside" / "src" / "main.rs").write_text(program)
    cargo("run", "--quiet", "--offline", cwd=tmp_path / "outside")
