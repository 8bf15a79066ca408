"""Policies in Python: those of the page, beside the built-in ones."""

# A policy need not use all that it is told.
# ruff: noqa: ARG001, ARG002

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pyarrow.dataset
import pytest

import tidegate
from conftest import nine_flows as network
from tidegate.determinism import check_deterministic
from tidegate.dropper import Congested, Drop, Dropper, Packet, Queue
from tidegate.policy import TICKS
from tidegate.scheduler import Contract, Scheduler

PAGE = Path(__file__).parents[1] / "docs" / "policies-in-python.md"


def blocks(language: str) -> list[str]:
    """Return the code blocks of the page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


for block in blocks("python"):
    if "class " in block:
        exec(compile(block, PAGE.name, "exec"))  # defines the page's schedulers


class Fifo(Scheduler):
    """Sends packets in the order of arrival."""

    name = "fifo-in-python"

    def select(self, now: int) -> int | None:
        """Return the flow whose first packet has waited longest."""
        return min(self.queues, key=lambda flow: self.queues[flow][0].state, default=None)

    def __init__(self) -> None:
        self.count = 0

    def arrived(self, now: int, packet: Packet) -> None:
        """Number the packet."""
        packet.state = self.count
        self.count += 1


class Failing(Scheduler):
    """Fails in the way that its parameter names."""

    name = "failing"
    parameters: ClassVar = {"how": "raises", "limit": 5, "share": 0.5}

    def __init__(self, how: str, limit: int, share: float) -> None:
        if limit > 9:
            raise ValueError("`limit` is at most 9")

    def select(self, now: int) -> int | None:
        """Fail."""
        answers = {"none": None, "word": "x", "other": 77, "empty": 1 - next(iter(self.queues))}
        if self.how in answers:
            return answers[self.how]
        return 1 // (self.limit - 5)


class Guess(Scheduler):
    """Sends from any flow."""

    name = "guess"

    def __init__(self) -> None:
        self.drawn = random.Random()
        self.choice: dict[int, int] = {}

    def select(self, now: int) -> int | None:
        """Return any flow, the same one at a time."""
        return self.choice.setdefault(now, self.drawn.choice(sorted(self.queues)))


class Short(Dropper):
    """Drops what does not fit, and follows its packets."""

    name = "short"
    parameters: ClassVar = {"packets": 20, "how": ""}
    marks = True
    ways: ClassVar[set[str]] = set()

    def __init__(self, packets: int, how: str) -> None:
        self.admitted = 0

    def arrived(self, now: int, packet: Packet, queue: Queue) -> Drop | Congested | None:
        """Admit a packet while there is room."""
        wrong = {"word": "drop", "reason": Drop("because")}
        if self.how in wrong:
            return wrong[self.how]
        if queue.packets >= self.packets:
            return Drop("queue-limit")
        assert queue.flow_bytes <= queue.port_bytes <= 1500 * queue.port_packets
        assert queue.flow_packets <= queue.packets
        self.admitted += 1
        packet.state = self.admitted
        return Congested("early-drop") if self.how == "mark" and queue.packets >= 5 else None

    def left(self, now: int, packet: Packet, how: str) -> None:
        """Check that it is a packet that was admitted."""
        assert packet.state <= self.admitted
        self.ways.add(how)


@pytest.mark.parametrize(
    ("mine", "built_in"),
    [
        ("fifo-in-python", "fifo"),
        ("virtual-clock-in-python", "virtual-clock"),
        ("drr-in-python", "drr"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_scheduler_in_python_has_the_fingerprint_of_the_built_in_one(
    mine: str, built_in: str, seed: int
) -> None:
    # The page's deficit round robin has one quantum for all.
    reserve = built_in != "drr"
    runs = [
        tidegate.simulate(network(f'{{ scheduler = "{name}" }}', seed=seed, reserve=reserve))
        for name in (mine, built_in)
    ]
    assert runs[0].fingerprints == runs[1].fingerprints
    assert runs[0].packet_hops > 3000


def connections(port: str, *, ecn: str = "off") -> str:
    """Return a scenario of three connections through a bottleneck."""
    return f"""
version = 1
duration = "40s"
topology = {{ kind = "chain", switches = 2, rate = "1mbit", delay = "20ms" }}
port = "{port}"
[[connection]]
name = "bulk"
count = 3
from = "s1"
to = "s2"
size = "1500B"
transport = {{ kind = "tcp", stack = "rfc", ecn = "{ecn}" }}
"""


@pytest.mark.parametrize(
    ("mine", "built_in"),
    [("codel-in-python", "codel"), ("short(packets=15)", "drop-tail(limit=15p)")],
)
def test_a_dropper_in_python_has_the_fingerprint_of_the_built_in_one(mine: str, built_in: str) -> None:
    runs = [tidegate.simulate(connections(f"fifo + {name}")) for name in (mine, built_in)]
    assert runs[0].fingerprints == runs[1].fingerprints
    assert sum(runs[0].links["dropped_packets"].to_pylist()) > 50


def test_a_dropper_in_python_marks_what_is_capable_of_it_and_drops_the_rest() -> None:
    results = {
        ecn: tidegate.simulate(connections("fifo + short(packets=30, how=mark)", ecn=ecn))
        for ecn in ("on", "off")
    }
    marked, dropped = (
        {ecn: sum(one.links[f"{what}_packets"].to_pylist()) for ecn, one in results.items()}
        for what in ("marked", "dropped")
    )
    assert marked["on"] > 50
    assert marked["off"] == 0
    assert dropped["off"] > 50
    assert Short.ways == {"sent"}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("word", "it returned 'drop', which is no verdict: None, `Drop` or `Congested`"),
        ("reason", "`because` is no reason of a dropper: it is one of queue-limit, early-drop"),
    ],
)
def test_a_verdict_that_is_none_ends_the_run(how: str, message: str) -> None:
    with pytest.raises(
        tidegate.TidegateError, match=f"^dropper `short`, `arrived`, at a packet of .*{message}"
    ):
        tidegate.simulate(connections(f"fifo + short(how={how})"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_flows_that_are_held_do_not_send(seed: int) -> None:
    ceilings = 'ceiling = "130kbit"'
    runs = [
        tidegate.simulate(network(f'{{ scheduler = "{name}" }}', seed=seed, flows=ceilings))
        for name in ("fifo-in-python", "fifo")
    ]
    assert runs[0].fingerprints == runs[1].fingerprints


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_packets_that_are_pushed_out_are_forgotten(seed: int) -> None:
    runs = [
        tidegate.simulate(network(f'{{ scheduler = "{name}" }}', seed=seed, pool="6p", reserve=False))
        for name in ("drr-in-python", "drr")
    ]
    assert runs[0].fingerprints == runs[1].fingerprints
    assert sum(runs[0].flows["dropped_packets"].to_pylist()) > 100


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", r"ZeroDivisionError: .* \(test_policies_in_python.py, line \d+\)"),
        ("none", r"it returned None, and flow \d+ has a packet that may be sent"),
        ("word", "it returned 'x', which is no flow: an `int` or None"),
        ("other", "it returned flow 77, which has no packet that may be sent"),
    ],
)
def test_a_failure_ends_the_run_with_its_place(how: str, message: str) -> None:
    with pytest.raises(
        tidegate.TidegateError, match=rf"^scheduler `failing`, `select`, [\d.e-]+ s .*{message}"
    ):
        tidegate.simulate(network(f'{{ scheduler = {{ kind = "failing", how = "{how}" }} }}'))
    # Nothing of it is left for the next run.
    tidegate.simulate(network('{ scheduler = "fifo" }'))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("limit = 10", "`limit` is at most 9"),
        ("limit = 1.5", "limit"),
        ('share = "x"', "share"),
        ("limits = 5", "did you mean `limit`"),
    ],
)
def test_a_parameter_that_is_refused_is_named_with_its_line(given: str, message: str) -> None:
    with pytest.raises(tidegate.TidegateError, match=rf"(?s)scenario:6.*{message}"):
        tidegate.simulate(network(f'{{ scheduler = {{ kind = "failing", {given} }} }}'))


def test_a_class_may_be_defined_again_and_a_name_belongs_to_one_policy() -> None:
    def define(name: str, parameters: dict[str, int], answer: int) -> None:
        def select(self: Scheduler, now: int) -> int | None:
            return min(self.queues, default=None) if answer else max(self.queues, default=None)

        type("Defined", (Scheduler,), {"name": name, "parameters": parameters, "select": select})

    define("defined", {}, 0)
    first = tidegate.simulate(network('{ scheduler = "defined" }')).fingerprints
    define("defined", {}, 1)
    assert tidegate.simulate(network('{ scheduler = "defined" }')).fingerprints != first
    with pytest.raises(
        tidegate.TidegateError, match="defined before in another role, or with other `parameters`"
    ):
        define("defined", {"k": 1}, 1)
    with pytest.raises(tidegate.TidegateError, match="there is a built-in policy `fifo`"):
        define("fifo", {}, 1)
    with pytest.raises(tidegate.TidegateError, match="is not a name of lower-case letters"):
        define("My Own", {}, 1)


def test_a_scheduler_that_draws_its_own_numbers_is_found_out() -> None:
    check_deterministic(network('{ scheduler = "drr-in-python" }'))
    with pytest.raises(tidegate.TidegateError, match=r"two runs of seed 1 differ from event \d+ on: packet"):
        check_deterministic(network('{ scheduler = "guess" }'))


def test_a_second_is_so_many_ticks() -> None:
    class Rate(Scheduler):
        name = "rate-seen"
        seen: ClassVar[list[float]] = []

        def rate_set(self, now: int, rate: float | None) -> None:
            self.seen.append(rate or 0.0)

        def select(self, now: int) -> int | None:
            return min(self.queues, default=None)

        def opened(self, now: int, flow: int, contract: Contract) -> None:
            if contract.reserve:
                assert contract.time_for(1000) == round(8000 * TICKS / contract.reserve)

    tidegate.simulate(network('{ scheduler = "rate-seen" }'))
    assert set(Rate.seen) == {1e6}


MINE = """import tidegate

class Largest(tidegate.Scheduler):
    \"""The flow with the largest number.\"""

    name = "largest-number"
    def select(self, now):
        return max(self.queues, default=None)
"""


def test_the_command_line_takes_a_file_and_processes_of_a_sweep_do(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "network.toml").write_text(network('{ scheduler = "fifo" }'))

    def tidegate_says(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    port = ["--set", "port.scheduler=largest-number"]
    assert "OK" in tidegate_says("check", "network.toml", "--python", "mine.py", *port)
    run = json.loads(tidegate_says("run", "network.toml", "--python", "mine.py", *port, "--json"))
    both = ["--set", "port.scheduler=fifo,largest-number", "--replications", "2", "--out", "swept"]
    tidegate_says("sweep", "network.toml", "--python", "mine.py", *both)
    swept = pyarrow.dataset.dataset(tmp_path / "swept" / "rows").to_table()
    assert run["fingerprints"][0] in swept["fingerprint"].to_pylist()
    compared = tidegate_says(
        "compare",
        "network.toml",
        "--python",
        "mine.py",
        "--replications",
        "2",
        "--policy",
        "fifo,largest-number",
    )
    assert "largest-number" in compared
    assert "there is no scheduler `largest-number`" in tidegate_says("run", "network.toml", *port, code=1)
    assert "mine.py: " in tidegate_says("run", "network.toml", "--python", "x/mine.py", code=1)
    (tmp_path / "bad.py").write_text("import tidegate\n1 / 0\n")
    assert "bad.py:2: ZeroDivisionError" in tidegate_says("run", "network.toml", "--python", "bad.py", code=1)


def test_the_command_of_the_page_works_and_its_file_is_the_class_of_the_page() -> None:
    (command,) = re.findall(r"\$ tidegate (.* --python examples/shortest_first.*)", PAGE.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", *command.split(), "--replications", "2"],
        cwd=PAGE.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "shortest-first" in done.stdout
    example = (PAGE.parents[1] / "examples" / "shortest_first.py").read_text()
    assert example.endswith(blocks("python")[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import tidegate\n\ndef f(:\n", r"bad.py:3: SyntaxError"),
        ("import json\n\njson.loads('{')\n", r"bad.py:3: JSONDecodeError"),
        ("import tidegate\nclass A(tidegate.Dropper):\n    name = 'red'\n", r"bad.py:2: there is a built-in"),
    ],
)
def test_a_file_with_a_mistake_is_named_with_its_own_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(tidegate.TidegateError, match=message):
        tidegate.load_policies(tmp_path / "bad.py")


def test_a_dropper_that_is_defined_again_keeps_its_marks() -> None:
    type("One", (Dropper,), {"name": "marks-or-not"})
    with pytest.raises(tidegate.TidegateError, match="`marks`"):
        type("Other", (Dropper,), {"name": "marks-or-not", "marks": True})


def test_a_sweep_refuses_a_class_of_the_program() -> None:
    with pytest.raises(tidegate.TidegateError, match="defined in the program itself"):
        tidegate.sweep(
            network('{ scheduler = "fifo" }'), {"port.scheduler": ["fifo", "guess"]}, replications=2
        )
