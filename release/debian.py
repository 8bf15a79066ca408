"""The gate as a package of Debian: the program, its systemd unit, examples and licences."""

import gzip
import hashlib
import os
import subprocess
import tempfile
from email.utils import formatdate
from pathlib import Path

ROOT = Path(__file__).parents[1]
GATES = ROOT / "examples" / "gates"
UNIT = "tidegate-gate@.service"
SCRIPTS = Path(__file__).with_name("debian")
NAME = "tidegate-gate"
MAINTAINER = "The tidegate authors <authors@tidegate.invalid>"
"""Debian wants an address, and the authors have none in public: RFC 6761 reserves the domain."""

CONTROL = """\
Package: {name}
Version: {version}-1
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {kilobytes}
Depends: libc6 (>= {glibc})
Section: net
Priority: optional
Description: traffic management as a bump in the wire of a Linux link
 A switch with reservations, fair queueing, priorities and queue management
 between two Ethernet interfaces. When it stops, traffic passes unshaped.
 .
 The unit tidegate-gate@NAME runs /etc/tidegate/NAME.toml.
"""

CHANGELOG = """\
{name} ({version}-1) unstable; urgency=medium

  * Release {version}; changelog.gz says what is in it.

 -- {maintainer}  {date}
"""

COPYRIGHT = """\
tidegate is under one of two licences, as its user chooses: Expat (MIT) or Apache-2.0.

Copyright: The tidegate authors

Expat:
{mit}

Apache-2.0:
 On Debian systems, the text of this licence is in /usr/share/common-licenses/Apache-2.0.
"""


def pack(version: str, time: int, architecture: str, glibc: str, binary: Path, out: Path) -> None:
    """Make the package of one architecture, a file in `out`.

    Args:
        version: That of tidegate.
        time: Seconds since 1970, which all files get.
        architecture: What Debian calls the processor.
        glibc: The oldest version of the C library that the program runs with.
        binary: The program.
        out: A folder.

    Raises:
        subprocess.CalledProcessError: dpkg-deb failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        _files(root, version, time, binary)
        _control(root, version, architecture, glibc)
        for path in (root, *root.rglob("*")):
            os.utime(path, (time, time))
        name = f"{NAME}_{version}-1_{architecture}.deb"
        command = ["dpkg-deb", "--root-owner-group", "--build", str(root), str(out / name)]
        subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)}, check=True)


def _files(root: Path, version: str, time: int, binary: Path) -> None:
    """Lay out what is installed."""
    unit = (GATES / UNIT).read_text(encoding="utf-8").replace("/usr/local/bin/", "/usr/bin/")
    changelog = CHANGELOG.format(name=NAME, version=version, maintainer=MAINTAINER, date=formatdate(time))
    mit = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").strip()
    lines = [f" {line}" if line else " ." for line in mit.splitlines()]
    documents = root / "usr" / "share" / "doc" / NAME
    _write(root / "usr" / "bin" / NAME, binary.read_bytes(), 0o755)
    _write(root / "usr" / "lib" / "systemd" / "system" / UNIT, unit.encode())
    _write(documents / "copyright", COPYRIGHT.format(mit="\n".join(lines)).encode())
    _write(documents / "changelog.gz", _zipped((ROOT / "CHANGELOG.md").read_bytes()))
    _write(documents / "changelog.Debian.gz", _zipped(changelog.encode()))
    for path in sorted(GATES.iterdir()):
        if path.name != UNIT:
            _write(documents / "examples" / path.name, path.read_bytes())
    (root / "etc" / "tidegate").mkdir(parents=True)
    for path in (root, *root.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def _control(root: Path, version: str, architecture: str, glibc: str) -> None:
    """Describe what was laid out."""
    installed = [path for path in sorted(root.rglob("*")) if path.is_file()]
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in installed]
    kilobytes = sum(-(-path.stat().st_size // 1024) for path in installed)
    control = CONTROL.format(
        name=NAME,
        version=version,
        architecture=architecture,
        maintainer=MAINTAINER,
        kilobytes=kilobytes,
        glibc=glibc,
    )
    folder = root / "DEBIAN"
    _write(folder / "control", control.encode())
    _write(folder / "md5sums", "".join(sums).encode())
    for script in ("postinst", "prerm", "postrm"):
        _write(folder / script, (SCRIPTS / script).read_bytes(), 0o755)
    folder.chmod(0o755)


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _zipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
