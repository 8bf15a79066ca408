"""Schedulers of ns.py and of Linux, held to the properties of the conformance matrix.

The matrix of peers on the page is that of the record. `PEERS=write` runs all of them anew, writes the record
and brings the page up to date.
"""

import importlib.metadata
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peers import matrix
from peers.properties import PROPERTIES
from peers.workloads import LARGEST, LINK, Flow, Run, Sent, Workload

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"
RECORD = Path(__file__).parent / "peers" / "recorded.json"
ROUNDS = {"ns.py": 40, "Linux": 5}
"""Workloads of each property."""
FEW = 2
"""Workloads of a run that compares with the record."""
LONG = bool(os.environ.get("TIDEGATE_VERIFY"))
WRITE = os.environ.get("PEERS") == "write"
BEGIN, END = "<!-- peers -->\n", "<!-- end of peers -->"


def ns_py() -> tuple[str, dict[str, str], matrix.Runner]:
    """The version of ns.py, its classes, and what runs them."""
    pytest.importorskip("ns", reason="needs ns.py: pip install ns.py")
    from peers import ns_py as peer

    names = {own: theirs for own, (theirs, _) in peer.DISCIPLINES.items()}
    return importlib.metadata.version("ns.py"), names, peer.run


def linux() -> tuple[str, dict[str, str], matrix.Runner]:
    """The version of the kernel, its disciplines, and what runs them."""
    from peers import linux as peer
    from tidegate import TidegateError
    from tidegate_lab.uml import build

    try:
        kernel = build.find()
    except TidegateError as missing:
        pytest.skip(str(missing).splitlines()[0])
    names = {own: theirs for own, (theirs, _) in peer.DISCIPLINES.items()}
    return kernel.version, names, peer.runner(kernel)


PEERS: dict[str, Callable[[], tuple[str, dict[str, str], matrix.Runner]]] = {"ns.py": ns_py, "Linux": linux}


def recorded() -> dict[str, Any]:
    """The matrices of all peers, with their versions."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def table(record: dict[str, Any]) -> str:
    """The part of the page that shows the record."""
    names = " | ".join(one.name for one in PROPERTIES)
    lines = [f"| peer | discipline | {names} |", "| --- |" + " --- |" * (len(PROPERTIES) + 1)]
    shown = ["| peer | discipline | property | workload | what happens |", "| --- | --- | --- | --- | --- |"]
    for peer, of_peer in record.items():
        for discipline, cells in of_peer["disciplines"].items():
            theirs = of_peer["names"][discipline]
            row = " | ".join("yes" if cell is None else "no" for cell in cells.values())
            lines.append(f"| {peer} {of_peer['version']} | `{theirs}` ({discipline}) | {row} |")
            shown += [
                f"| {peer} | `{theirs}` | {name} | {cell[0]} | {cell[1]} |"
                for name, cell in cells.items()
                if cell is not None
            ]
    return "\n".join([*lines, "", *shown, ""])


@pytest.mark.skipif(not WRITE, reason="writes the record: set PEERS=write")
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_is_recorded(peer: str) -> None:
    version, names, run = PEERS[peer]()
    record = recorded()
    record[peer] = {
        "version": version,
        "names": names,
        "disciplines": matrix.of_peer(names, run, ROUNDS[peer]),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + table(record) + END + rest.split(END)[1], encoding="utf-8")


def test_the_page_shows_the_record() -> None:
    assert f"{BEGIN}{table(recorded())}{END}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.skipif(not LONG, reason="long: set TIDEGATE_VERIFY=1")
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_does_what_is_recorded(peer: str) -> None:
    version, names, run = PEERS[peer]()
    record = recorded()[peer]
    assert (version, names) == (record["version"], record["names"])
    for discipline, cells in record["disciplines"].items():
        for name, cell in cells.items():
            if cell is None:
                assert matrix.broken(discipline, name, run, FEW) is None, (discipline, name)
            elif cell[0] <= FEW:
                assert matrix.broken(discipline, name, run, cell[0]) == cell, (discipline, name)


# The judge itself: what keeps a property and what breaks it, sent by hand.


def fifo(workload: Workload, after: float, faster: float = 1.0, lazy: float = 0.0) -> Run:
    """Send a workload in the order of arrival, on a link that may be faster, and idle before each packet."""
    sent, free, counts = [], 0.0, [0] * len(workload.flows)
    for time, flow, length in workload.arrivals:
        free = max(free, time) + lazy + 8 * length / (LINK * faster)
        sent.append(Sent(flow, counts[flow], length, time, free))
        counts[flow] += 1
    end = workload.arrivals[-1][0] + after
    return Run(workload, [one for one in sent if one.left <= end], end)


@pytest.mark.parametrize("one", PROPERTIES, ids=lambda one: one.name)
def test_the_judge_tells_a_fifo_from_what_the_matrix_says_of_it(one: Any) -> None:
    keeps = {"work-conserving", "order", "delay", "punishment-free"}
    verdicts = [
        one.judge(fifo(one.draw(random.Random(f"{one.name}/{seed}")), one.after)) for seed in range(1, 11)
    ]
    assert all(words is None for words in verdicts) == (one.name in keeps), verdicts


def test_the_judge_sees_an_idle_link_and_an_overtaking_packet() -> None:
    idle, order = PROPERTIES[:2]
    workload = idle.draw(random.Random(1))
    assert "idle" in str(idle.judge(fifo(workload, 5.0, lazy=1e-3)))
    flow = Flow(LINK / 2, 1, 0, LARGEST)
    pair = Workload((flow,), [(0.0, 0, LARGEST), (0.0, 0, LARGEST)])
    swapped = [Sent(0, 1, LARGEST, 0.0, 0.008), Sent(0, 0, LARGEST, 0.0, 0.016)]
    assert order.judge(Run(pair, swapped, 1.0)) == "packet 1 of a flow leaves before an earlier one"
