"""`tidegate gate import`: what `tc` shows becomes a gate file, and the simulator shows both.

`crates/formats/tests/tc` has the rules; here are the command, the page's example, and the real
`tc` where namespaces can be made.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate as tidegate_package

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gate-from-tc.md"
RECORDED = ROOT / "crates" / "formats" / "tests" / "tc" / "recorded"
LINE = ["--inside", "lan0", "--outside", "wan0"]
PARTS = ("qdisc", "class", "filter")


def tidegate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def take(folder: Path, name: str) -> list[str]:
    """Copy what was recorded of a configuration, and return the names of the files."""
    found = [part for part in PARTS if (RECORDED / f"{name}-{part}.json").exists()]
    for part in found:
        shutil.copy(RECORDED / f"{name}-{part}.json", folder / f"{part}.json")
    return [f"{part}.json" for part in found]


def block(kind: str, mark: str) -> str:
    """Return the block of the page that is marked."""
    found = re.search(rf"<!-- {mark} -->\n```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, mark
    return found[1]


def test_the_page_s_example_is_what_the_simulator_says(tmp_path):
    take(tmp_path, "lan0")
    shutil.copy(ROOT / "examples" / "captures" / "office.pcap", tmp_path)
    (tmp_path / "prediction.toml").write_text(block("toml", "prediction"), encoding="utf-8")
    # The files of `tc` are those that were recorded.
    lines = [line for line in block("sh", "import").splitlines() if not line.startswith("tc ")]
    lines += block("sh", "compare").replace("\\\n", " ").splitlines()
    script = "set -e\n" + "\n".join(re.sub("^tidegate-gate", "tidegate gate", line) for line in lines)
    script = re.sub("^tidegate ", f"{sys.executable} -m tidegate ", script, flags=re.MULTILINE)
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 classes and 3 flows\noffice/gate.toml\noffice/before.toml\n" in done.stdout
    assert "office/gate.toml: in order" in done.stdout
    table = re.search(r"\| flow \| .*?\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert table
    rows = [row.strip("| ").split(" | ") for row in table[0].strip().splitlines()[2:]]
    assert len(rows) == 9
    for flow, figure, *cells in rows:
        part = done.stdout.split(f"\n{flow} ", 1)[1]
        said = next(line for line in part.splitlines() if figure in line)
        found = re.findall(r"[\d.]+ (?:[kM]bit/s|ms|s|%)", said)
        assert found[: len(cells)] == cells, (flow, figure, said)


def test_what_would_be_lost_is_said_and_nothing_is_written(tmp_path):
    files = take(tmp_path, "office")
    words = ["gate", "import", "--tc-up", *files, *LINE, "--down", "48mbit", "--out", "office"]
    done = tidegate(tmp_path, *words)
    assert done.returncode == 1
    assert "qdisc.json: qdisc 1: `prio` (1:10 0, 1:20 1, 1:30 1) is left out" in done.stderr
    assert "nothing was written: 1 thing is not as in the files that were read" in done.stderr
    assert not (tmp_path / "office").exists()
    done = tidegate(tmp_path, *words, "--accept-losses")
    assert (done.returncode, done.stdout) == (
        0,
        "3 classes and 4 flows\noffice/gate.toml\noffice/before.toml\n",
    )
    again = tidegate(tmp_path, *words, "--accept-losses")
    assert again.returncode == 1
    assert "office/gate.toml is there already" in again.stderr


def test_what_has_no_counterpart_in_the_simulator_is_said(tmp_path):
    files = take(tmp_path, "cake6")
    words = ["--tc-down", *files, *LINE, "--up", "1mbit", "--out", "cake", "--accept-losses"]
    done = tidegate(tmp_path, "gate", "import", *words)
    assert done.returncode == 0, done.stderr
    assert "no before.toml: CAKE's tins are not served first in the simulator" in done.stdout
    assert sorted(path.name for path in (tmp_path / "cake").iterdir()) == ["gate.toml"]


def test_an_imported_cake_divides_among_the_hosts_of_both_sides(tmp_path):
    (tmp_path / "qdisc.json").write_text(
        (RECORDED / "cake1-qdisc.json").read_text().replace("dual-srchost", "triple-isolate")
    )
    words = ["gate", "import", "--tc-down", "qdisc.json", *LINE, "--up", "1mbit", "--out", "cake"]
    done = tidegate(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    made = ["before.toml", "circuits.csv", "gate.toml"]
    assert sorted(path.name for path in (tmp_path / "cake").iterdir()) == made
    check = tidegate(tmp_path, "gate", "check", "cake/gate.toml")
    assert check.returncode == 0, check.stderr
    # A server that sends to eight hosts inside, one host that eight send to, and a pair.
    ends = [(1, 10 + host) for host in range(8)] + [(10 + host, 1) for host in range(8)] + [(2, 2)]
    flows = "".join(
        f'[[flow]]\nname = "f{number}"\nfrom = "outside"\nto = "inside"\nsize = "1000B"\n'
        f'headers = {{ flow = "192.0.2.{server}:5000>10.0.0.{host}:5000/udp" }}\n'
        'source = { kind = "poisson", rate = "6mbit" }\n'
        for number, (server, host) in enumerate(ends)
    )
    for file in ("gate.toml", "before.toml"):
        head = 'version = 1\nduration = "12s"\nwarmup = "2s"\n'
        (tmp_path / "load.toml").write_text(
            f'{head}topology = {{ kind = "gate", file = "cake/{file}" }}\n{flows}'
        )
        rows = tidegate_package.simulate(tmp_path / "load.toml").flows.to_pylist()
        rates = [row["throughput"] for row in rows if row["flow"] in {f"f{number}" for number in range(17)}]
        for group in (rates[:8], rates[8:16], rates[16:]):
            # CoDel keeps the queue of the pair so short that it is empty now and then.
            assert sum(group) == pytest.approx(sum(rates) / 3, rel=0.05), (file, rates)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--tc-up", "qdisc.json"], 1, "qdisc 1: it has no classes"),
        (["--tc-up", "qdisc.json", "class.json", "filter.json"], 1, "--down: is needed"),
        (["--tc-up", "none.json"], 1, "none.json: cannot be read: No such file or directory"),
        (["ShapedDevices.csv", "--tc-up", "qdisc.json"], 2, "cannot be used with"),
        (["ShapedDevices.csv"], 2, "--up <RATE>"),
        ([], 2, "were not provided"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tmp_path, words, code, message):
    take(tmp_path, "office")
    done = tidegate(tmp_path, "gate", "import", *words, *LINE, "--out", "office")
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "office").exists()


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace with an interface `wan0`, or a reason to skip."""
    if os.geteuid() != 0 or not shutil.which("tc") or not shutil.which("ip"):
        pytest.skip("needs root, ip and tc")
    name = f"tidegate-tc-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode != 0:
        pytest.skip("network namespaces cannot be made here")
    try:
        veth = ["ip", "-n", name, "link", "add", "wan0", "type", "veth", "peer", "name", "far"]
        if subprocess.run(veth, capture_output=True, check=False).returncode != 0:
            pytest.skip("virtual Ethernet interfaces cannot be made here")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.parametrize("details", [["-d"], []], ids=["with-d", "without-d"])
def test_the_real_tc_is_read(namespace, tmp_path, details):
    def tc(*words: str) -> str:
        command = ["ip", "netns", "exec", namespace, "tc", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "Unknown" in done.stderr or "not found" in done.stderr or "not supported" in done.stderr:
            pytest.skip(f"this kernel has no such configuration: {done.stderr}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    for line in [
        "qdisc add dev wan0 root handle 1: stab overhead 24 mpu 84 htb default 30",
        "class add dev wan0 parent 1: classid 1:1 htb rate 9500kbit",
        "class add dev wan0 parent 1:1 classid 1:2 htb rate 5500kbit ceil 9500kbit",
        "class add dev wan0 parent 1:2 classid 1:10 htb rate 1500kbit ceil 2mbit",
        "class add dev wan0 parent 1:2 classid 1:20 htb rate 4mbit ceil 6mbit",
        "class add dev wan0 parent 1:1 classid 1:30 htb rate 4mbit ceil 9500kbit",
        "qdisc add dev wan0 parent 1:10 handle 10: pfifo limit 50",
        "filter add dev wan0 parent 1: protocol ip prio 1 "
        "u32 match ip dport 5060 0xffff match ip protocol 17 0xff flowid 1:10",
        "filter add dev wan0 parent 1: protocol ip prio 2 u32 match ip src 10.0.0.0/24 flowid 1:20",
    ]:
        tc(*line.split())
    files = []
    for part in PARTS:
        (tmp_path / part).write_text(tc(*details, "-j", part, "show", "dev", "wan0"), encoding="utf-8")
        files.append(part)
    words = ["gate", "import", "--tc-up", *files, *LINE, "--down", "48mbit", "--out", "made"]
    done = tidegate(tmp_path, *words)
    assert done.returncode == 1, done.stderr
    # Classes in a class take turns as long as those of their queues; without `-d` the size table is missing.
    assert "is divided by `quantum` (1:2 50000, 1:30 50000), and here by `reserve`" in done.stderr
    assert ("`tc` was run without `-d`" in done.stderr) == (not details)
    assert f"{1 if details else 2} thing" in done.stderr
    done = tidegate(tmp_path, *words, "--accept-losses")
    assert (done.returncode, done.stdout[:23]) == (0, "4 classes and 3 flows\nm"), done.stderr
    gate = (tmp_path / "made" / "gate.toml").read_text(encoding="utf-8")
    assert ("overhead = 24\nmpu = 84\n" in gate) == bool(details)
    for part in [
        'name = "up-1-2"\nup = { reserve = "5500kbit" }',
        'name = "up-1-10"\nparent = "up-1-2"\npolicy = "fifo + drop-tail(limit=51p)"\n',
        'up = { reserve = "1500kbit", ceiling = "2mbit" }',
        'up = { reserve = "4mbit", ceiling = "6mbit" }',
        'outside_port = 5060, protocol = "udp", ethertype = "ipv4" }\nclass = "up-1-10"',
        'match = { direction = "up", inside = "10.0.0.0/24" }\nclass = "up-1-20"',
        'match = { direction = "up" }\nclass = "up-1-30"',
    ]:
        assert part in gate, gate
    for file in ("gate.toml", "before.toml"):
        checked = tidegate(tmp_path, "gate", "check", f"made/{file}")
        assert checked.returncode == 0, checked.stderr
