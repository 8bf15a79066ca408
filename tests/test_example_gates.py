"""Every example gate file is at least as good as no file: simulated, and live where namespaces can be made.

A user of CAKE tries this first: pings of the computer that uploads, of another one, over IPv6 and
by ARP, all beside uploads and downloads over TCP, and throughput.
"""

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tidegate
from tidegate_lab.gate import OWN as GATE

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "gates"
DEFAULT = ROOT / "crates" / "gate" / "src" / "config" / "default_gate.rs"
PROBES = Path(__file__).with_name("beside_uploads.py")


class Case(NamedTuple):
    """An example, the line that one of its customers has by it, and the addresses of two customers.

    With a list of circuits also that list, its column of addresses, and the rates of the provider's line.
    """

    file: str
    up: str
    down: str
    own: str
    own6: str
    other: str
    circuits: tuple[str, str] | None = None
    line: tuple[str, str] | None = None

    def files(self) -> list[str]:
        """Return the files of the example: what it names lies beside it."""
        text = (EXAMPLES / self.file).read_text(encoding="utf-8")
        return [self.file, *re.findall(r'^(?:circuits|network) = "(.*)"$', text, re.MULTILINE)]


CASES = {
    "office": Case("office.toml", "9500kbit", "48mbit", "10.9.1.10", "2001:db8:9::10", "10.9.1.11"),
    # The rate that north-001 was sold, and its neighbour's.
    "isp": Case(
        "isp.toml",
        "10mbit",
        "50mbit",
        "10.20.1.1",
        "2001:db8:1:100::1",
        "10.20.1.2",
        ("circuits.csv", "addresses"),
        ("190mbit", "950mbit"),
    ),
    # The rate of circuit 1001, and its neighbour's.
    "libreqos": Case(
        "libreqos.toml",
        "10mbit",
        "50mbit",
        "10.30.1.1",
        "2001:db8:30:100::1",
        "10.30.1.2",
        ("ShapedDevices.csv", "IPv4"),
        ("95mbit", "480mbit"),
    ),
}


def no_file(up: str, down: str) -> str:
    """The gate that runs where only the rates of the line are stated, from its source."""
    template = re.search(r'format!\(\s*r#"(.*?)"#', DEFAULT.read_text(encoding="utf-8"), re.DOTALL)
    assert template
    text = template[1].replace("{{", "{").replace("}}", "}")
    tenths = [tidegate._tidegate.show_rate(round(bits(rate) / 10)) for rate in (up, down)]
    filled = {
        'up = "{rate}", down = "{rate}"': f'up = "{up}", down = "{down}"',
        'reserve = "{share}"': f'up = {{ reserve = "{tenths[0]}" }}\ndown = {{ reserve = "{tenths[1]}" }}',
        "{name}": '"inside"',
        "{outside}": '"outside"',
    }
    for place, value in filled.items():
        assert place in text, place
        text = text.replace(place, value)
    return text


def bits(rate: str) -> float:
    """The rate in bit/s."""
    number, unit = re.fullmatch(r"([\d.]+)([km]bit)", rate).groups()
    return float(number) * {"kbit": 1e3, "mbit": 1e6}[unit]


def test_the_examples_are_all_the_gate_files_there_are():
    files = {
        path.name for path in EXAMPLES.glob("*.toml") if "\n[gate]\n" in path.read_text(encoding="utf-8")
    }
    assert files == {case.file for case in CASES.values()}


# In the simulator


def connection(name: str, count: int, flow: str, *, up: bool) -> str:
    ends = ("inside", "outside") if up else ("outside", "inside")
    return (
        f'[[connection]]\nname = "{name}"\ncount = {count}\nfrom = "{ends[0]}"\nto = "{ends[1]}"\n'
        'size = "1514B"\n'
        f'headers = {{ flow = "{flow}", each = "5-tuple" }}\nstart = "200ms"\ntransport = "tcp"\n'
    )


def ping(name: str, flow: str, size: int = 98, *, up: bool = True) -> str:
    ends = ("inside", "outside") if up else ("outside", "inside")
    # Twenty a second; ARP alone asks less often.
    source = f'{{ kind = "cbr", rate = "{size * 8 * (2 if flow == "other" else 20)}bit" }}'
    return (
        f'[[flow]]\nname = "{name}"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\nsize = "{size}B"\n'
        f'headers = {{ flow = "{flow}" }}\nsource = {source}\n'
    )


def beside_uploads(gate: Path, case: Case) -> dict[str, Any]:
    """The groups of a run in which one computer uploads and downloads, and another one uploads."""
    own, own6, other, there = case.own, case.own6, case.other, "203.0.113.9"
    text = (
        'version = 1\nduration = "12s"\nwarmup = "2s"\n'
        f'topology = {{ kind = "gate", file = "{gate}", delay = "2ms" }}\n'
        + connection("own-uploads", 4, f"{own}:50000>{there}:443/tcp", up=True)
        + connection("own-downloads", 2, f"{there}:443>{own}:51000/tcp", up=False)
        + connection("other-uploads", 2, f"{other}:50000>{there}:443/tcp", up=True)
        + ping("own-ping", f"{own}>{there}/icmp")
        + ping("answer-to-own-ping", f"{there}>{own}/icmp", up=False)
        + ping("own-look-up", f"{own}:40000>203.0.113.53:53/udp", 90)
        + ping("own-game", f"{own}:40001>203.0.113.54:27015/udp", 150)
        + ping("ping-of-the-other", f"{other}>{there}/icmp")
        + ping("answer-to-the-other", f"{there}>{other}/icmp", up=False)
        + ping("IPv6", f"{own6}>2001:db8:ffff::9/icmp6", 118)
        + ping("ARP", "other", 60)
    )
    path = gate.parent / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    groups = tidegate.simulate(tidegate.load(path), replications=2).groups()
    return {row.group: row for row in groups if not row.group.endswith("/ack")}


def worse(by_file: dict[str, Any], without: dict[str, Any]) -> list[str]:
    """Return where a file is worse than none: pings lost, or their queueing longer by 0.1 ms and a tenth."""
    found = []
    for name, row in by_file.items():
        other = without[name]
        if name.endswith("loads"):
            continue
        if row.lost.mean > other.lost.mean:
            found.append(f"{name}: lost {row.lost.mean:.1%}, without a file {other.lost.mean:.1%}")
        for figure in ("queueing_mean", "queueing_p99"):
            here, there = (getattr(one, figure).mean for one in (row, other))
            if here > 1.1 * there + 1e-4:
                found.append(f"{name}: {figure} {here * 1e3:.2f} ms, without a file {there * 1e3:.2f}")
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with copies of the examples and the gate of a line without a file."""
    for name in (file for case in CASES.values() for file in case.files()):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_ping_is_worse_off_by_an_example_than_without_a_file(case: Case, place: Path) -> None:
    (place / "none.toml").write_text(no_file(case.up, case.down), encoding="utf-8")
    by_file, without = (beside_uploads(place / name, case) for name in (case.file, "none.toml"))
    if case.circuits:
        # A conversation of a circuit has a queue of its own: docs/subscribers.md.
        assert by_file["own-game"].queueing_mean.mean < 0.003
    assert worse(by_file, without) == []
    # It is a full line beside which they are asked for.
    uploads = sum(row.throughput.mean for name, row in without.items() if name.endswith("uploads"))
    assert uploads > 0.75 * bits(case.up)
    assert all(row.received.mean > 10 for row in by_file.values())


def test_one_queue_for_each_computer_is_worse_than_no_file(place: Path) -> None:
    """The office as it was: the comparison sees it."""
    case = CASES["office"]
    office = (place / case.file).read_text(encoding="utf-8")
    assert 'within = "5-tuple"\n' in office
    (place / case.file).write_text(office.replace('within = "5-tuple"\n', ""), encoding="utf-8")
    (place / "none.toml").write_text(no_file(case.up, case.down), encoding="utf-8")
    by_file, without = (beside_uploads(place / name, case) for name in (case.file, "none.toml"))
    said = worse(by_file, without)
    assert any(one.startswith("own-ping: lost") for one in said), said
    assert any(one.startswith("own-ping: queueing_mean") for one in said), said


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_line_carries_as_much_by_an_example_as_without_a_file(case: Case, place: Path) -> None:
    if case.circuits and case.line:
        name, column = case.circuits
        with (EXAMPLES / name).open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        hosts = [re.split(r"[ ,/]", row[column])[0] for row in rows]
        rates = case.line
    else:
        hosts, rates = [f"192.168.7.{number}" for number in range(1, 9)], (case.up, case.down)
    (place / "none.toml").write_text(no_file(*rates), encoding="utf-8")
    carried = []
    for name in (case.file, "none.toml"):
        text = 'version = 1\nduration = "6s"\nwarmup = "2s"\n'
        text += f'topology = {{ kind = "gate", file = "{place / name}", delay = "2ms" }}\n'
        for number, host in enumerate(hosts):
            text += connection(f"up-{number}", 2, f"{host}:50000>203.0.113.9:443/tcp", up=True)
        path = place / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        groups = tidegate.simulate(tidegate.load(path)).groups()
        carried.append(sum(row.throughput.mean for row in groups if not row.group.endswith("/ack")))
    assert carried[0] > 0.99 * carried[1] > 0.9 * bits(rates[0]), carried


# Live


def refused() -> str | None:
    """Why no network namespace can be made here; None where it can."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root, and `ip` of iproute2"
    name = f"tgx{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces cannot be made: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


class Line:
    """Two customers in one namespace, a box for a gate, and the world, in a row."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.id = f"tgex{os.getpid()}"

    def name(self, place: str) -> str:
        return f"{self.id}{place}"

    def run(self, place: str, *words: str) -> str:
        command = ["ip", "netns", "exec", self.name(place), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, place: str, *words: str, **settings: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(["ip", "netns", "exec", self.name(place), *words], text=True, **settings)

    def __enter__(self) -> "Line":
        for place in "hbw":
            subprocess.run(["ip", "netns", "add", self.name(place)], check=True)
        case = self.case
        for own, place, addresses in (
            ("inside", "h", [f"{case.own}/8", f"{case.other}/8", f"{case.own6}/32"]),
            ("outside", "w", ["10.9.0.1/8", "2001:db8:9::1/32"]),
        ):
            link = f"ip link add {own} type veth peer name eth0 netns {self.name(place)}"
            self.run("b", *link.split())
            for address in addresses:
                nodad = ["nodad"] if ":" in address else []
                self.run(place, *f"ip addr add {address} dev eth0".split(), *nodad)
            self.run(place, "ip", "link", "set", "eth0", "up")
            self.run("b", *f"ip link set {own} up".split())
        return self

    def __exit__(self, *_: object) -> None:
        for place in "hbw":
            subprocess.run(["ip", "netns", "del", self.name(place)], check=False)

    @contextlib.contextmanager
    def gate(self, *words: str) -> Iterator[None]:
        """Run a gate in the box."""
        sets = ["--set", f"name={self.id}", "--set", "gate.fail=closed"]
        process = self.start("b", *GATE, "up", *words, *sets, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert process.stderr
            first = process.stderr.readline()
            assert " -> " in first, first + process.stderr.read()
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)

    def measured(self, *words: str) -> dict[str, Any]:
        """Return what `beside_uploads.py` measures through a gate with these arguments."""
        case = self.case
        with self.gate(*words):
            sink = self.start("w", sys.executable, str(PROBES), "sink")
            try:
                # The port is open, and the interfaces carry frames.
                time.sleep(1)
                ends = (case.own, case.other, case.own6)
                found: dict[str, Any] = json.loads(
                    self.run("h", sys.executable, str(PROBES), "measure", *ends, "5")
                )
                return found
            finally:
                sink.kill()
                sink.wait()


def mean(times: list[float]) -> float:
    return sum(times) / len(times)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_live_no_ping_is_worse_off_by_an_example_than_without_a_file(case: Case) -> None:
    if reason := refused():
        pytest.skip(reason)
    stated = (
        "--inside",
        "inside",
        "--outside",
        "outside",
        "--rate",
        case.up,
        "--set",
        f"gate.down={case.down}",
    )
    with Line(case) as line:
        without = line.measured(*stated)
        by_file = line.measured(str(EXAMPLES / case.file))
    said = {
        name: f"{one['lost']} of {one['sent']} lost, {mean(one['times']) * 1e3:.2f} ms"
        for found in (without, by_file)
        for name, one in found.items()
        if name != "throughput"
    }
    for name in ("own ping", "other's ping", "IPv6", "ARP"):
        here, there = by_file[name], without[name]
        assert here["sent"] > 200, name
        # Another process of this machine may take a processor for some milliseconds, at any time.
        assert here["lost"] <= there["lost"] + 1, (name, said)
        assert mean(here["times"]) < 1.5 * mean(there["times"]) + 0.003, (name, said)
    if case.file == "office.toml":
        # A subscriber's rate is a share of the line.
        assert by_file["throughput"] > 0.95 * without["throughput"]
    assert by_file["throughput"] > 0.8 * bits(case.up) / 8
