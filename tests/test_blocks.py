"""Every block of every page is checked: a file is read; a command is carried out here or by a named test.

What is printed beside commands is compared in `test_walkthroughs.py`; this module sees that no
block is left out.
"""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from captures import pcap
from conftest import start
from test_example_gates import CASES, Line, refused
from test_pages import PAGES, ROOT, parse
from test_walkthroughs import WALKED
from tidegate.cli import app
from tidegate.toml import to_toml

BLOCK = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(tidegate(?:-gate)? [a-z][^`]*)`")
EXAMPLES = ROOT / "examples"
PROGRAMS = (
    "tidegate ",
    "tidegate-gate ",
    "python ",
    "cargo ",
    "make ",
    "pip ",
    "rustup ",
    "git ",
    "ip ",
    "tc ",
    "sed ",
    "sleep ",
    "wait",
)


class Elsewhere(NamedTuple):
    """Commands that no walk carries out, why, and the test that does what they do."""

    starts: str
    why: str
    test: str


ELSEWHERE = [
    Elsewhere("rustup target add", "it changes the machine", "test_release_files.py"),
    Elsewhere("pip install tidegate-papers", "there is no release yet", "test_release_files.py"),
    Elsewhere("make ", "it builds everything, and is how these tests are started", "Makefile"),
    Elsewhere("cargo test -p", "it needs the page's files in a copy", "test_add_a_policy.py"),
    Elsewhere("tidegate run examples/ten-lines.toml --set port.d", "a copy's policy", "test_add_a_policy.py"),
    Elsewhere(
        "tidegate run examples/ten-lines.toml --set 'port.m", "a copy's policy", "test_add_a_policy.py"
    ),
    Elsewhere(
        "tidegate compare examples/ten-lines.toml --scheduler fifo,virtual-clock,largest-first",
        "a copy's policy",
        "test_add_a_policy.py",
    ),
    Elsewhere(
        "tidegate compare examples/ten-lines.toml --scheduler drr,weighted-drr",
        "a copy's policy",
        "test_add_a_policy.py",
    ),
    Elsewhere("tidegate run examples/tcp.toml --set connection", "a copy's policy", "test_add_a_policy.py"),
    Elsewhere("tidegate reference | grep largest-first", "a copy's policy", "test_add_a_policy.py"),
    Elsewhere("tidegate compare examples/ten-lines.toml --python", "its page", "test_policies_in_python.py"),
    Elsewhere("tidegate compare examples/tcp.toml --python", "its page", "test_congestion_in_python.py"),
    Elsewhere("tidegate paper ", "minutes", "test_paper.py"),
    Elsewhere("python examples/leaf_spine.py", "minutes", "test_examples.py"),
    Elsewhere("tidegate compare examples/bufferbloat.toml --on", "it needs a kernel", "test_lab_linux.py"),
    Elsewhere("tidegate lab ", "root, and minutes on a quiet machine", "test_lab.py"),
    Elsewhere("tc ", "root: an interface with HTB", "test_gate_import_tc.py"),
    Elsewhere("sed ", "a gate file that is imported", "test_gate_import_tc.py"),
    Elsewhere("tidegate compare prediction.toml", "a gate that is imported", "test_gate_import_tc.py"),
    Elsewhere("tidegate gate ", "root: a gate with its two interfaces", "test_blocks.py"),
    Elsewhere("tidegate-gate ", "root: a gate with its two interfaces", "test_blocks.py"),
    Elsewhere("ip ", "root: three namespaces", "crates/gate/tests/docs.rs"),
    Elsewhere("sleep ", "between the commands of three namespaces", "crates/gate/tests/docs.rs"),
    Elsewhere("wait", "between the commands of three namespaces", "crates/gate/tests/docs.rs"),
]


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page: what they are, and their text."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(page: Path) -> list[str]:
    """The commands that the blocks of a page show."""
    found = []
    for kind, body in blocks(page):
        if kind == "console":
            found += re.findall(r"^[$#] (.+)$", body, re.MULTILINE)
        elif kind == "sh":
            found += [line for line in body.replace("\\\n", "").splitlines() if line]
    return found


def elsewhere(command: str) -> Elsewhere | None:
    """The entry that names where a command is carried out."""
    return next((one for one in ELSEWHERE if command.startswith(one.starts)), None)


def test_every_command_of_a_page_is_carried_out_or_named_with_the_test_that_does() -> None:
    used = set()
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for command in commands(page):
            assert command.startswith(PROGRAMS), (name, command)
            if name in WALKED and not command.startswith(WALKED[name].without):
                continue
            found = elsewhere(command)
            assert found, f"{name}: no test carries out {command}"
            used.add(found)
    assert used == set(ELSEWHERE), set(ELSEWHERE) - used
    for one in ELSEWHERE:
        assert any((folder / one.test).exists() for folder in (ROOT, ROOT / "tests")), one


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_within_a_sentence_exist(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for command in INLINE.findall(text):
        program, *words = shlex.split(command.replace("\n", " "), comments=True)
        ends = [words.index(one) for one in ("|", ">", "&", "…") if one in words]
        words = words[: min(ends, default=len(words))]
        if program == "tidegate-gate" or words[0] == "gate":
            gate = ["gate", *words] if program == "tidegate-gate" else words
            if len(gate) > 1 and not gate[1].startswith("-"):
                parse(gate)
        else:
            # A sentence may leave out arguments, but no option is one that the command does not
            # have.
            known, words = command_of(words)
            assert [one for one in words if one.startswith("--") and one.split("=")[0] not in known] == [], (
                command
            )
        assert all((ROOT / one).exists() for one in words if one.startswith("examples/")), command


def command_of(words: list[str]) -> tuple[set[str], list[str]]:
    """The options of the command that words begin with, and the words behind it."""
    group = typer.main.get_command(app)
    while hasattr(group, "commands") and words:
        _, group, words = group.resolve_command(group.make_context("tidegate", [*words]), words)
    return {option for parameter in group.params for option in parameter.opts} | {"--help"}, words


def test_blocks_of_code_have_a_test_of_their_kind() -> None:
    """A block of another kind, or in another place, is one that nothing checks."""
    allowed = {
        "console": None,
        "sh": None,
        "toml": None,
        "mermaid": {"docs/gate.md"},
        "python": {
            "README.md",
            "docs/data-centre.md",
            "docs/fabrics.md",
            "docs/tutorial.md",
            "docs/sweeps.md",
            "docs/policies-in-python.md",
            "docs/studies.md",
        },
        "rust": {
            "README.md",
            "CONTRIBUTING.md",
            # Its blocks are those of `crates/sim/tests/outside`.
            "docs/policies-from-outside.md",
            *(f"docs/{page.name}" for page in (ROOT / "docs").glob("add-a*.md")),
        },
    }
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for kind, _ in blocks(page):
            # `text` is formulas and output; with a word behind it, the map that
            # `test_architecture.py` reads.
            known = kind.split(" ")[0] == "text" or kind in allowed
            assert known, (name, kind)
            places = allowed.get(kind)
            assert places is None or name in places, (name, kind)
        python = [body for kind, body in blocks(page) if kind == "python"]
        assert all(f"```python\n{body}" in page.read_text(encoding="utf-8") for body in python)


def test_the_skeleton_of_unit_tests_is_what_files_have() -> None:
    [skeleton] = [body for kind, body in blocks(ROOT / "CONTRIBUTING.md") if kind == "rust"]
    sources = (ROOT / "crates" / "core" / "src").rglob("*.rs")
    begins = "\n".join(line.strip() for line in skeleton.splitlines()[:3])
    files = ["\n".join(line.strip() for line in path.read_text("utf-8").splitlines()) for path in sources]
    assert any(begins in text for text in files)


# TOML: what a page leaves out is filled in, and the whole is checked as a scenario or as a gate's
# file.

CHAIN = {"kind": "chain", "switches": 3, "rate": "100mbit", "delay": "1ms", "access": {"rate": "1gbit"}}
DUMBBELL = {
    "kind": "dumbbell",
    "pairs": 2,
    "rate": "155520kbit",
    "delay": "5ms",
    "access": {"rate": "155520kbit"},
}
GATE = {"kind": "gate", "file": "office.toml"}


def chain_of(*names: str) -> list[dict[str, Any]]:
    """Links from each of the nodes to the next."""
    return [{"from": one, "to": other, "rate": "100mbit"} for one, other in itertools.pairwise(names)]


AROUND: dict[str, dict[str, Any]] = {
    # Surroundings of a block, from the text beside it: the rate of a link, or the network.
    "docs/schedulers/tdm.md-0": {
        "topology": {**CHAIN, "rate": "400kbit"},
        "flow": [{"name": "one", "size": "250B"}],
    },
    "docs/abr.md-1": {"topology": DUMBBELL, "port": {"rate_control": {"kind": "erica"}}},
    "docs/credit.md-2": {
        "link": [*chain_of("s2", "s3", "s4"), {"from": "s2", "to": "s1", "rate": "10mbit", "duplex": False}],
        "flow": [{"name": "one", "to": "s4"}],
    },
    "docs/credit.md-3": {"link": chain_of("a", "b")},
    "docs/gate.md-2": {"topology": GATE},
    "docs/meters/README.md-1": {"link": chain_of("in1", "out1") + chain_of("in2", "out2")},
    "docs/meters/README.md-2": {"link": chain_of("s", "r0") + chain_of("s", "r1")},
    "docs/transfers.md-1": {"topology": DUMBBELL},
    "docs/transports/tcp.md-0": {"topology": DUMBBELL},
}
"""By the page and the number of its block of TOML."""
FILES = {
    ".toml": "gates/office.toml",
    ".gz": "stand-ins/lte.txt.gz",
    ".txt": "web-sizes.txt",
    ".csv": "gates/ShapedDevices.csv",
    ".json": "gates/network.json",
}
"""Return a stand-in for a file of that ending."""
TO_FROM = bytes([10, 0, 0, 1, 10, 0, 0, 2])
"""The addresses in the capture of `pcap`."""


def is_gate_file(given: dict[str, Any]) -> bool:
    """Return whether it has a key that only a gate's file has."""
    return "gate" in given or any("match" in flow for flow in given.get("flow", ()))


def files_of(value: Any) -> list[str]:
    """The files that a block names."""
    if isinstance(value, list):
        return [file for one in value for file in files_of(one)]
    if not isinstance(value, dict):
        return []
    keys = ("file", "trace", "circuits", "network")
    own = [one for key, one in value.items() if key in keys and isinstance(one, str)]
    return own + [file for one in value.values() for file in files_of(one)]


def completed(given: dict[str, Any], around: dict[str, Any]) -> dict[str, Any]:
    """A block with everything that the page leaves out; a whole file leaves nothing out."""
    if "version" in given:
        return given
    whole: dict[str, Any] = {"version": 1, **around, **given}
    if is_gate_file(given):
        line = {"inside": "lan0", "outside": "wan0", "up": "20mbit", "down": "50mbit"}
        whole["gate"] = {**line, **given.get("gate", {})}
        for direction, emulated in given.get("emulate", {}).items():
            if "trace" in emulated:
                del whole["gate"][direction]
        return whole
    whole.setdefault("duration", "1s")
    whole["link"] = given.get("link", []) + around.get("link", [])
    if whole["link"]:
        names = dict.fromkeys(end for link in whole["link"] for end in (link["from"], link["to"]))
        whole["node"] = [{"name": name} for name in names]
        first = given.get("link", whole["link"])[0]
        ends = [first["from"], first["to"]]
    else:
        kind = whole.setdefault("topology", CHAIN)["kind"]
        ends = {"dumbbell": ["l1", "r1"], "chain": ["h1", "h3"], "gate": ["inside", "outside"]}[kind]
    common = {"from": ends[0], "to": ends[1]}
    of_flow = {**common, "size": "500B", "source": {"kind": "cbr", "rate": "10kbit"}}
    of_connection = {**common, "size": "500B", "transport": "tcp"}
    if "data" in given:
        whole["connection"] = [{"name": "one", "data": whole.pop("data")}]
    elif "source" in given:
        whole["flow"] = [{"name": "one", "source": whole.pop("source")}]
        if given["source"]["kind"] == "capture":
            del of_flow["size"]
    elif "flow" not in whole and "connection" not in whole:
        whole["flow"] = [{"name": "one"}]
    whole["flow"] = [{**of_flow, **one} for one in whole.get("flow", [])]
    whole["connection"] = [{**of_connection, **one} for one in whole.get("connection", [])]
    return {key: value for key, value in whole.items() if value != []}


TOML = {
    f"{page.relative_to(ROOT)}-{number}": body
    for page in PAGES
    for number, body in enumerate(body for kind, body in blocks(page) if kind == "toml")
    # Its transport is there once the page has been followed: `test_add_a_policy.py`. The scheduler
    # of the other page is that of `crates/sim/tests/outside`.
    if page.name not in ("add-an-endpoint.md", "policies-from-outside.md")
    # A scenario of a gate that is imported: `test_gate_import_tc.py`.
    and "office/gate.toml" not in body
}


@pytest.mark.parametrize("block", TOML)
def test_a_block_of_toml_is_part_of_a_file_that_is_accepted(block: str, tmp_path: Path) -> None:
    given = tomllib.loads(TOML[block])
    whole = completed(given, AROUND.get(block, {}))
    for file in dict.fromkeys(files_of(whole)):
        target = tmp_path / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".pcap":
            target.write_bytes(
                pcap([(0.1, 5004, 200)]).replace(TO_FROM, bytes([192, 168, 0, 1, 203, 0, 113, 9]))
            )
        else:
            shutil.copy(EXAMPLES / FILES[target.suffix], target)
    path = tmp_path / "block.toml"
    # A whole file is read as it stands.
    path.write_text(TOML[block] if whole == given else to_toml(whole), encoding="utf-8")
    words = ["gate", "check"] if is_gate_file(given) else ["check"]
    if "wish" in given:
        words = ["plan", "--replications", "0", "--tries", "0"]
    process = start(*words, path)
    printed, said = process.communicate()
    assert process.returncode == 0, f"{path.read_text()}\n{printed}{said}"


def test_no_network_is_drawn_around_a_block_that_is_gone() -> None:
    assert set(AROUND) <= set(TOML)


# Commands of a gate, in namespaces


def test_commands_of_a_gate_do_what_the_pages_say() -> None:
    """Those that pages show of a gate on `inside` and `outside`, or `lan0` and `wan0`."""
    if reason := refused():
        pytest.skip(reason)
    shown = {
        shlex.join(shlex.split(command, comments=True)[: 4 if command.startswith("tidegate gate") else 3])
        for page in PAGES
        for command in commands(page)
        if re.match(r"tidegate(-| )gate ", command)
    }
    assert shown == {
        "tidegate gate observe office.toml",
        "tidegate gate up office.toml",
        "tidegate gate top office.toml",
        "tidegate gate explain office.toml",
        "tidegate gate reload office.toml",
        "tidegate-gate observe office.toml",
        "tidegate-gate check examples/gates/isp.toml",
        "tidegate-gate check examples/gates/libreqos.toml",
        "tidegate-gate up --inside",
        # The engine's `explain_tests.rs` have its answer.
        "tidegate-gate explain gate.toml",
        # `test_gate_import.py` carries these out.
        "tidegate-gate import ShapedDevices.csv",
        "tidegate-gate check isp/gate.toml",
        # And `test_gate_import_tc.py` these.
        "tidegate-gate import --tc-down",
        "tidegate-gate check office/gate.toml",
    }
    for file in ("isp.toml", "libreqos.toml"):
        assert start("gate", "check", EXAMPLES / "gates" / file).wait() == 0
    program = [sys.executable, "-c", "from tidegate.cli import main; main()", "gate"]
    with Line(CASES["office"]) as line:
        office = str(EXAMPLES / "gates" / "office.toml")
        observed = line.run("b", *program, "observe", office, "--for", "1s")
        assert tomllib.loads(observed)["name"] == "office"
        with line.gate(office):
            with line.start("b", *program, "top", line.id, stdout=subprocess.PIPE) as top:
                assert top.stdout
                # A screen may come in parts, and the first before any frame.
                shown = ""
                while "computers" not in shown and (part := os.read(top.stdout.fileno(), 4096)):
                    shown += part.decode()
                    assert len(shown) < 100_000, shown
                top.terminate()
            assert "up inside -> outside" in shown
            assert line.run("b", *program, "explain", line.id).startswith(("up ", "down "))
            line.run("b", *program, "reload", line.id)
        # Interfaces with the names of the page.
        for own, name in (("inside", "lan0"), ("outside", "wan0")):
            line.run("b", "ip", "link", "set", own, "down")
            line.run("b", "ip", "link", "set", own, "name", name)
            line.run("b", "ip", "link", "set", name, "up")
        with line.gate("--inside", "lan0", "--outside", "wan0", "--rate", "48mbit"):
            line.run("b", *program, "status", line.id)
