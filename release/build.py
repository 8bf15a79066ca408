"""Builds the files of a release in target/dist: `make release`.

docs/releasing.md lists them. All are made in a folder beside target/dist, which gets that name when it is
whole; if something fails, an earlier target/dist stays as it was.

Exits with 1 if the release was not begun (a tool is missing, or files are not committed) and with 2 if a
command failed, or if files changed while it was built.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from artefacts import ROOT, TARGETS, Release, container_file, crates, debian_package, sbom, sdists, wheels

DIST = ROOT / "target" / "dist"
HELP = f"{sys.executable} -m pip install -c constraints.txt"


class RefusedError(Exception):
    """Why the release was not begun."""


def said(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def missing() -> list[str]:
    """Return what is missing, each with the command that gets it."""
    found = []
    for command, help_ in (
        ("git", "apt-get install git"),
        ("cargo", "https://rustup.rs"),
        ("dpkg-deb", "apt-get install dpkg"),
        ("maturin", f"{HELP} maturin"),
        ("cargo-zigbuild", f"{HELP} cargo-zigbuild ziglang"),
        ("python-zig", f"{HELP} ziglang"),
        ("pyproject-build", f"{HELP} build"),
    ):
        if shutil.which(command) is None:
            found.append(f"{command} is missing: {help_}")
    if shutil.which("rustc"):
        libraries = Path(said("rustc", "--print", "sysroot").strip(), "lib", "rustlib")
        found += [
            f"Rust cannot build for {target}: rustup target add {target}"
            for target in TARGETS
            if not (libraries / target).is_dir()
        ]
    return found


def check() -> None:
    """Look at what a release needs.

    Raises:
        RefusedError: A tool is missing, or files are not committed.
    """
    if found := missing():
        raise RefusedError("\n  ".join(found))
    if changed := said("git", "status", "--porcelain").rstrip():
        raise RefusedError(f"a release is built from a commit, and these files differ from it:\n{changed}")


def checksums(release: Release) -> None:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(release.out.iterdir())
    ]
    (release.out / "SHA256SUMS").write_text("".join(lines))


def main() -> int:
    """Build a release; return the exit code."""
    # The tools of this Python come first.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    try:
        check()
    except RefusedError as refused:
        print(f"release: not begun\n  {refused}", file=sys.stderr)
        return 1
    partial = DIST.with_name("dist.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    release = Release.of_commit(partial)
    try:
        for step in (wheels, sdists, sbom, crates, debian_package, container_file):
            print(f"release: {step.__name__.replace('_', ' ')}", flush=True)
            step(release)
    except subprocess.CalledProcessError as failed:
        command = " ".join(map(str, failed.cmd))
        print(f"release: {command} failed, and {DIST.relative_to(ROOT)} is as before", file=sys.stderr)
        return 2
    if Release.of_commit(partial) != release or said("git", "status", "--porcelain"):
        print("release: files changed meanwhile, and target/dist is as before", file=sys.stderr)
        return 2
    (partial / "commit").write_text(f"{release.commit}\n")
    checksums(release)
    shutil.rmtree(DIST, ignore_errors=True)
    partial.rename(DIST)
    print(f"release: {release.version} is in {DIST.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
