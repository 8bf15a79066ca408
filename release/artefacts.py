"""The files of a release, and how each is made."""

import os
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple, Self

import debian

ROOT = Path(__file__).parents[1]

TARGETS = {"x86_64-unknown-linux-gnu": "amd64", "aarch64-unknown-linux-gnu": "arm64"}
"""Targets of the wheels and the gate, with the names that Debian has for their processors."""

GLIBC = "2.17"
"""The oldest C library that they run with; manylinux2014 is its name for wheels."""

CRATES = ("tidegate-core", "tidegate-formats", "tidegate-sim", "tidegate-gate")
"""In the order in which they are published."""

BESIDE = ("papers", "lab")
"""The distributions that are pure Python."""


class Release(NamedTuple):
    """A commit that is released."""

    version: str
    commit: str
    time: int
    """When it was committed, in seconds since 1970: the time of every file in the packages."""
    out: Path
    """Where the files go."""

    @classmethod
    def of_commit(cls, out: Path) -> Self:
        """Return the release of what is checked out."""
        words = ["git", "log", "-1", "--format=%H %ct"]
        commit, time = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
        manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
        return cls(manifest["workspace"]["package"]["version"], commit, int(time), out)

    def run(self, *command: str | Path, cwd: Path = ROOT) -> None:
        """Carry out a command.

        Raises:
            subprocess.CalledProcessError: It failed.
        """
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.time), "CARGO_INCREMENTAL": "0"}
        subprocess.run(command, cwd=cwd, env=environment, check=True)


def target_folder() -> Path:
    """Return the folder in which cargo builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def wheels(release: Release) -> None:
    """Build the wheels: tidegate for each processor, tidegate-papers and tidegate-lab for all."""
    for target in TARGETS:
        release.run(
            *("maturin", "build", "--release", "--locked", "--zig", "--compatibility", "manylinux2014"),
            *("--target", target, "--out", release.out),
        )
    for folder in BESIDE:
        # Made from the sdist, which is thereby complete.
        release.run("pyproject-build", "--no-isolation", "--outdir", release.out, ROOT / folder)


def sdists(release: Release) -> None:
    """Pack the sources of tidegate; those of the other two are packed with their wheels."""
    release.run("maturin", "sdist", "--out", release.out)


def sbom(release: Release) -> None:
    """Copy the list of all crates in the wheels and in the gate, which maturin puts into each wheel."""
    [wheel] = release.out.glob(f"tidegate-{release.version}-*x86_64.whl")
    with zipfile.ZipFile(wheel) as packed:
        [name] = [one for one in packed.namelist() if one.endswith(".cyclonedx.json")]
        text = packed.read(name).decode()
    # References within the file have the folder in which it was built.
    (release.out / f"tidegate-{release.version}.cdx.json").write_text(text.replace(str(ROOT), ""))


def crates(release: Release) -> None:
    """Pack the crates, and build each from its package alone."""
    packages = [word for crate in CRATES for word in ("--package", crate)]
    release.run("cargo", "package", "--locked", *packages)
    for crate in CRATES:
        shutil.copy(target_folder() / "package" / f"{crate}-{release.version}.crate", release.out)


def debian_package(release: Release) -> None:
    """Build the gate, and pack it with its unit for Debian."""
    for target, architecture in TARGETS.items():
        release.run(
            *("cargo-zigbuild", "rustc", "--release", "--locked", "--package", "tidegate-gate"),
            *("--bin", "tidegate-gate", "--target", f"{target}.{GLIBC}", "--", "-C", "strip=debuginfo"),
        )
        binary = target_folder() / target / "release" / "tidegate-gate"
        debian.pack(release.version, release.time, architecture, GLIBC, binary, release.out)


def container_file(release: Release) -> None:
    """Copy the recipe of container images, which takes the other files from its folder."""
    shutil.copy(Path(__file__).with_name("Containerfile"), release.out)
