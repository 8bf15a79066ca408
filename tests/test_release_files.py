"""The files of a release, each installed where nothing else of tidegate is: in `make release`."""

import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
GLIBC = (2, 17)
"""The oldest C library that docs/releasing.md promises."""


def run(*words: object, cwd: Path = ROOT, **environment: str) -> str:
    """Return what a command prints, and fail with its errors if it fails."""
    done = subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def processor_time() -> float:
    """Return what the commands of this process have taken so far, in s."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def needs(*tools: str) -> None:
    """Skip a test that a tool is missing for."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")


@pytest.fixture(scope="module")
def dist() -> Path:
    """The release of this commit."""
    folder = ROOT / "target" / "dist"
    commit = folder / "commit"
    if os.environ.get("TIDEGATE_VERIFY") != "1":
        pytest.skip("takes minutes: `make release` runs it")
    if not commit.is_file() or commit.read_text() != run("git", "rev-parse", "HEAD"):
        pytest.skip("no release of this commit is in target/dist: `make release` builds it")
    return folder


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minimal Debian of the release that this machine has, as an archive."""
    needs("mmdebstrap")
    if os.getuid() != 0:
        pytest.skip("needs root")
    archive = tmp_path_factory.mktemp("debian") / "root.tar"
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    sources = [*Path("/etc/apt/sources.list.d").glob("*.sources"), *Path("/etc/apt").glob("sources.list")]
    run("mmdebstrap", "--variant=minbase", release, archive, *sources)
    return archive


def test_the_files_are_those_of_the_page_and_their_sums_are_right(dist: Path) -> None:
    wheels = [
        f"tidegate-{VERSION}-cp311-abi3-manylinux2014_{one}.manylinux_2_17_{one}.whl"
        for one in ARCHITECTURES.values()
    ]
    python = ("tidegate_papers", "tidegate_lab")
    crates = ("core", "formats", "sim", "gate")
    assert {path.name for path in dist.iterdir()} == {
        *wheels,
        *(f"{name}-{VERSION}-py3-none-any.whl" for name in python),
        *(f"{name}-{VERSION}.tar.gz" for name in ("tidegate", *python)),
        *(f"tidegate-{name}-{VERSION}.crate" for name in crates),
        *(f"tidegate-gate_{VERSION}-1_{name}.deb" for name in ARCHITECTURES),
        *("Containerfile", f"tidegate-{VERSION}.cdx.json", "commit", "SHA256SUMS"),
    }
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=dist)
    assert len((dist / "SHA256SUMS").read_text().splitlines()) == len(list(dist.iterdir())) - 1


def test_from_an_empty_environment_to_the_first_figure_within_a_minute(dist: Path, tmp_path: Path) -> None:
    [wheel] = dist.glob(f"tidegate-{VERSION}-*_x86_64.whl")
    begun = processor_time()
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    commands = tmp_path / "venv" / "bin"
    run(commands / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
    demo = run(commands / "tidegate", "demo", cwd=tmp_path)
    # A slow index would take longer by the clock.
    took = processor_time() - begun
    assert re.search(r"^voice .* protected ", demo, re.MULTILINE)
    [figure] = (tmp_path / "demo-out").glob("*.png")
    assert figure.stat().st_size > 10_000
    beside = list(dist.glob("tidegate_*.whl"))
    run(commands / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", *beside)
    listed = json.loads(run(commands / "tidegate", "paper", "--json", cwd=tmp_path))["papers"]
    assert "vsvd" in {one["paper"] for one in listed}
    assert "kernel" in run(commands / "tidegate", "lab", "--help", cwd=tmp_path)
    assert took < 60, f"{took:.0f} s"


def test_source_distributions_build(dist: Path, tmp_path: Path) -> None:
    [archive] = dist.glob(f"tidegate-{VERSION}.tar.gz")
    with tarfile.open(archive) as packed:
        names = packed.getnames()
    folder = f"tidegate-{VERSION}"
    assert {f"{folder}/LICENSE-MIT", f"{folder}/LICENSE-APACHE", f"{folder}/Cargo.lock"} <= {*names}
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    run(*build, "--wheel-dir", tmp_path, archive, MATURIN_PEP517_ARGS="--profile demo", PATH=path)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    # The packages that it needs are those of this environment.
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", *tmp_path.glob("*.whl"))
    own = run(python, "-c", "import site; print(site.getsitepackages()[0])").strip()
    paths = [own, *(path for path in sys.path if path.endswith("site-packages"))]
    scenario = ROOT / "examples" / "ten-lines.toml"
    code = f"import tidegate\nprint(tidegate.__file__, *tidegate.simulate({str(scenario)!r}).fingerprints)"
    file, *fingerprints = run(python, "-c", code, PYTHONPATH=os.pathsep.join(paths)).split()
    assert file.startswith(own)
    assert fingerprints == [str(one) for one in tidegate.simulate(scenario).fingerprints]


def test_the_list_of_crates_has_all_that_are_linked(dist: Path) -> None:
    document = json.loads((dist / f"tidegate-{VERSION}.cdx.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    listed = {(one["name"], one["version"]) for one in document["components"]}
    for crate in ("tidegate-gate", "tidegate-sim"):
        tree = ["cargo", "tree", "--package", crate, "--edges", "normal,no-proc-macro", "--prefix", "none"]
        linked = {tuple(line.replace(" v", " ").split()[:2]) for line in run(*tree).splitlines()}
        assert len(linked) > 20
        assert linked <= listed
    assert str(ROOT) not in json.dumps(document)


def needed_glibc(program: Path) -> tuple[int, ...]:
    """Return the newest version of the C library of which a program needs a symbol."""
    versions = re.findall(r"GLIBC_(\d+(?:\.\d+)+)", run("readelf", "--version-info", program))
    return max(tuple(int(part) for part in one.split(".")) for one in versions)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_programs_are_for_their_processor_and_for_old_libraries(
    dist: Path, architecture: str, tmp_path: Path
) -> None:
    needs("readelf")
    machine = {"amd64": "X86-64", "arm64": "AArch64"}[architecture]
    [wheel] = dist.glob(f"tidegate-{VERSION}-*_{ARCHITECTURES[architecture]}.whl")
    shutil.unpack_archive(wheel, tmp_path / "wheel", "zip")
    run("dpkg-deb", "--extract", dist / f"tidegate-gate_{VERSION}-1_{architecture}.deb", tmp_path / "deb")
    [library] = (tmp_path / "wheel").rglob("*.so")
    for program in (library, tmp_path / "deb" / "usr" / "bin" / "tidegate-gate"):
        assert re.search(rf"Machine:.*{machine}", run("readelf", "--file-header", program))
        assert needed_glibc(program) <= GLIBC


def test_the_gate_for_aarch64_reads_its_examples(dist: Path, tmp_path: Path) -> None:
    needs("qemu-aarch64")
    libraries = Path("/usr/aarch64-linux-gnu")
    if not libraries.is_dir():
        pytest.skip("needs the C library of arm64: libc6-arm64-cross")
    run("dpkg-deb", "--extract", dist / f"tidegate-gate_{VERSION}-1_arm64.deb", tmp_path)
    gate = ["qemu-aarch64", "-L", libraries, tmp_path / "usr" / "bin" / "tidegate-gate"]
    assert run(*gate, "--version").split() == ["tidegate-gate", VERSION]
    office = tmp_path / "usr" / "share" / "doc" / "tidegate-gate" / "examples" / "office.toml"
    native = tmp_path / "native"
    run("dpkg-deb", "--extract", dist / f"tidegate-gate_{VERSION}-1_amd64.deb", native)
    assert run(*gate, "check", office) == run(native / "usr" / "bin" / "tidegate-gate", "check", office)


def test_the_package_of_the_gate_is_as_debian_wants_it(dist: Path) -> None:
    needs("lintian")
    # It is not part of Debian, its authors have no address, and the gate describes itself. Debian's helper
    # around systemctl does not take all gates at once.
    tags = (
        "initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog,"
        "no-manual-page,maintainer-script-calls-systemctl"
    )
    for architecture in ARCHITECTURES:
        package = dist / f"tidegate-gate_{VERSION}-1_{architecture}.deb"
        run("lintian", "--fail-on", "error,warning", "--suppress-tags", tags, package)


# As in docs/gate.md, in a network namespace and a mount namespace of its own.
START = """
set -e
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t sysfs sysfs "$1/sys"
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
ip link add inside type veth peer name home
ip link add outside type veth peer name world
ip link set inside up
ip link set outside up
ip link set home up
ip link set world up
chroot "$1" tidegate-gate check /etc/tidegate/office.toml >&2
chroot "$1" tidegate-gate up /etc/tidegate/office.toml --for 3s --json &
sleep 1
chroot "$1" tidegate-gate status /etc/tidegate/office.toml >&2
python3 "$2" home
wait $!
"""

FRAME = """
import socket, sys
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind((sys.argv[1], 0))
# ARP, which is forwarded without a flow.
arp = bytes.fromhex("0001080006040001020000000001c0a8010100000000000000000000")
for _ in range(7):
    sender.send(b"\\xff" * 6 + bytes.fromhex("020000000001") + b"\\x08\\x06" + arp + bytes(18) + b"\\0" * 4)
"""


def installed(dist: Path, archive: Path, folder: Path) -> Path:
    """Return a Debian in which the package of the gate is installed."""
    root = folder / "root"
    root.mkdir()
    run("tar", "--extract", "--file", archive, "--directory", root, "--exclude", "./dev/*")
    package = f"tidegate-gate_{VERSION}-1_amd64.deb"
    shutil.copy(dist / package, root / "tmp")
    run("chroot", root, "dpkg", "--install", f"/tmp/{package}")
    return root


def test_an_installed_gate_starts_and_is_removed(dist: Path, debian: Path, tmp_path: Path) -> None:
    needs("unshare", "ip", "systemd-analyze")
    root = installed(dist, debian, tmp_path)
    run("chroot", root, "dpkg", "--verify", "tidegate-gate")
    examples = root / "usr" / "share" / "doc" / "tidegate-gate" / "examples"
    shutil.copy(examples / "office.toml", root / "etc" / "tidegate")
    unit = root / "usr" / "lib" / "systemd" / "system" / "tidegate-gate@.service"
    [program] = re.findall(r"^ExecStart=(\S+) up", unit.read_text(), re.MULTILINE)
    assert os.access(f"{root}{program}", os.X_OK)
    # With the other units of this machine: a minimal Debian has none.
    copy = tmp_path / "tidegate-gate@office.service"
    copy.write_text(unit.read_text().replace(program, f"{root}{program}"))
    run("systemd-analyze", "verify", "--man=no", copy)
    (tmp_path / "frame.py").write_text(FRAME)
    command = ["unshare", "--mount", "--net", "sh", "-c", START, "start", root, tmp_path / "frame.py"]
    report = json.loads(run(*command))
    assert report["name"] == "office"
    assert [report["directions"][way]["sent"] for way in ("up", "down")] == [7, 0]
    run("chroot", root, "dpkg", "--remove", "tidegate-gate")
    assert not unit.exists()
    assert (root / "etc" / "tidegate" / "office.toml").exists()


@pytest.fixture
def containers(debian: Path, tmp_path: Path) -> Iterator[list[object]]:
    """The command that builds images, with an image of Debian in a storage of its own."""
    needs("buildah")
    command = ["buildah", "--root", tmp_path / "storage", "--runroot", tmp_path / "run"]
    command += ["--storage-driver", "vfs"]
    (tmp_path / "base").write_text("FROM scratch\nADD root.tar /\n")
    run(*command, "build", "--isolation", "chroot", "-f", tmp_path / "base", "-t", "debian", debian.parent)
    yield command
    run(*command, "rmi", "--all", "--force")


def test_the_image_of_the_gate_is_built(dist: Path, containers: list[object]) -> None:
    build = ["build", "--isolation", "chroot", "--target", "gate", "--build-arg", "DEBIAN=localhost/debian"]
    run(*containers, *build, "-t", "gate", dist)
    [made] = run(*containers, "from", "gate").splitlines()
    inside = run(*containers, "run", "--isolation", "chroot", made, "--", "tidegate-gate", "--version")
    assert inside.split() == ["tidegate-gate", VERSION]
