"""Schedulers by rank functions, beside the built-in ones."""

# A policy need not use all that it is told.
# ruff: noqa: ARG001, ARG004, ARG005

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

import tidegate
from conftest import nine_flows
from tidegate.policy import NEVER, TICKS
from tidegate.rank import RankScheduler

EXAMPLES = Path(__file__).parents[1] / "examples" / "rank_functions.py"
tidegate.load_policies(EXAMPLES)

PAIRS = {
    "priority-by-rank": "strict-priority",
    "edf-by-rank": "edf",
    "virtual-clock-by-rank": "virtual-clock",
    "scfq-by-rank": "scfq",
    "wfq-by-rank": "wfq",
}


def network(scheduler: str, **settings: Any) -> str:
    """Return a scenario of nine flows over two servers; a packet takes whole ticks at every weight."""
    stated = scheduler if scheduler.startswith("{") else json.dumps(scheduler)
    return nine_flows(f"{{ scheduler = {stated} }}", smooth="125kbit", **settings)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mine", PAIRS)
def test_a_rank_function_has_the_fingerprint_of_the_built_in_scheduler(mine: str, seed: int) -> None:
    runs = [tidegate.simulate(network(name, seed=seed)) for name in (mine, PAIRS[mine])]
    assert runs[0].fingerprints == runs[1].fingerprints
    assert runs[0].packet_hops > 3000


# The built-in SCFQ and WFQ give a packet that was held its tag when its flow returns, and a rank function
# when it arrives.
@pytest.mark.parametrize("mine", [mine for mine in PAIRS if mine not in ("scfq-by-rank", "wfq-by-rank")])
def test_flows_that_are_held_wait(mine: str) -> None:
    runs = [tidegate.simulate(network(name, flows='ceiling = "130kbit"')) for name in (mine, PAIRS[mine])]
    assert runs[0].fingerprints == runs[1].fingerprints


@pytest.mark.parametrize("seed", [1, 2])
def test_packets_that_are_pushed_out_are_forgotten(seed: int) -> None:
    for name in ("fifo-by-rank", "sjf-by-rank"):
        run = tidegate.simulate(network(name, seed=seed, pool="6p"))
        assert sum(run.flows["dropped_packets"].to_pylist()) > 50
        assert run.packet_hops > 3000


class Fifo(RankScheduler):
    """First in, first out."""

    name = "fifo-by-rank"
    port_state: ClassVar = {"count": 0}

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        state.count += 1
        return state.count


class Shortest(RankScheduler):
    """The shortest packet first."""

    name = "sjf-by-rank"

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        return packet.length


class Paced(RankScheduler):
    """Sends each flow no faster than a pace in bit/s."""

    name = "paced-by-rank"
    parameters: ClassVar = {"pace": 100_000}
    flow_state: ClassVar = {"free": 0}

    @staticmethod
    def eligible(packet: Any, flow: Any, state: Any) -> int:
        start = max(packet.arrived, flow.free)
        flow.free = start + 8 * packet.length * TICKS // state.pace
        return start

    @staticmethod
    def rank(packet: Any, flow: Any, state: Any) -> int:
        return packet.arrived


@pytest.mark.parametrize("pace", [100_000, 250_000])
def test_a_packet_that_is_not_eligible_waits_at_an_idle_link(pace: int) -> None:
    run = tidegate.simulate(f"""
version = 1
duration = "2s"
topology = {{ kind = "chain", switches = 2, rate = "1mbit" }}
port = {{ scheduler = {{ kind = "paced-by-rank", pace = {pace} }} }}
[[flow]]
name = "fast"
from = "s1"
to = "s2"
size = "500B"
source = {{ kind = "cbr", rate = "500kbit" }}
""")
    # A packet of 4000 bits leaves every 4000 / pace seconds, though 250 arrive and the link could send 500.
    assert run.flows["received_packets"].to_pylist()[0] == pytest.approx(2 * pace / 4000, abs=1)


def test_what_the_functions_see() -> None:
    class Seen(RankScheduler):
        name = "seen-by-rank"
        parameters: ClassVar = {"whole": 3, "number": 0.5}
        flow_state: ClassVar = {"ranked": 0, "sent": 0}
        port_state: ClassVar = {"wrong": 0, "list": [1.0, 2.0], "last": 0}

        @staticmethod
        def rank(packet: Any, flow: Any, state: Any) -> int:
            smooth = packet.length == 250
            expected = (
                (smooth and flow.reserve == 125e3 and flow.deadline == TICKS // 200 and flow.priority == 2)
                or (packet.length == 1000 and flow.reserve == 100e3 and packet.time == 8 * TICKS // 100)
                or (packet.length == 500 and flow.reserve == -1 and packet.time == 0 and flow.deadline == -1)
            )
            expected = expected and state.rate == 1e6 and state.now == packet.arrived and flow.peak == -1
            expected = expected and flow.ranked - flow.sent == flow.packets <= state.packets
            expected = expected and flow.bytes == flow.packets * packet.length <= state.bytes
            expected = expected and state.whole == 7 and state.number == 0.5 and state.list[1] == 2.0
            flow.ranked += 1
            state.last += 1
            return state.last if expected else 1 // (packet.dscp - packet.dscp)

        @staticmethod
        def served(packet: Any, flow: Any, state: Any) -> None:
            flow.sent += 1
            if packet.rank < 1 or packet.rank > state.last:
                state.list[7] = 1.0

    run = tidegate.simulate(network('{ kind = "seen-by-rank", whole = 7 }'))
    assert run.fingerprints == tidegate.simulate(network("fifo")).fingerprints


def defined(name: str = "wrong-by-rank", **body: Any) -> type:
    return type("Wrong", (RankScheduler,), {"name": name, **body})


def no_field(packet: Any, flow: Any, state: Any) -> int:
    return packet.size


def a_float(packet: Any, flow: Any, state: Any) -> float:
    return packet.length / 2


def at_times(packet: Any, flow: Any, state: Any) -> int | None:
    return 1 if packet.length > 100 else None


def a_file(packet: Any, flow: Any, state: Any) -> int:
    return len(Path("x").read_text())


@pytest.mark.parametrize(
    ("rank", "message"),
    [
        (no_field, "`rank`: there is no field `size`"),
        (a_float, "`rank` returns float64, and it has to return an `int` in every case"),
        (at_times, r"`rank` returns OptionalType\(int64\), and it has to return an `int` in every case"),
        (a_file, r"`rank` cannot be compiled: Untyped global name 'Path'.* \(test_rank_.*line \d+\)"),
    ],
)
def test_a_function_that_cannot_be_compiled_is_refused_with_its_reason(rank: Any, message: str) -> None:
    with pytest.raises(tidegate.TidegateError, match=message):
        defined(rank=staticmethod(rank))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "`Wrong` has no `rank`"),
        ({"flow_state": {"reserve": 0}}, "`flow_state`: there is a field `reserve` already"),
        ({"port_state": {"now": 0}}, "`port_state`: there is a field `now` already"),
        ({"port_state": {"a": "x"}}, "`port_state`: `a` is 'x'; it is a whole number, a number, or a list"),
        ({"port_state": {"a": []}}, r"`port_state`: `a` is \[\]; it is"),
        ({"port_state": {"a": 2**63}}, "`port_state`: `a` has more than 64 bits"),
        ({"port_state": {"a b": 1}}, "`port_state`: `a b` is not a name for a field"),
        ({"parameters": {"how": "x"}}, "`parameters`: `how` is 'x'; it is"),
    ],
)
def test_a_class_that_is_wrong_is_refused(body: dict[str, Any], message: str) -> None:
    rank = {} if not body else {"rank": staticmethod(lambda packet, flow, state: 1)}
    with pytest.raises(tidegate.TidegateError, match=message):
        defined(**body, **rank)


FAILING = """import tidegate

class Failing(tidegate.RankScheduler):
    \"""Fails at the tenth packet.\"""

    name = "failing-by-rank"
    parameters = {"how": 0}
    port_state = {"count": 0, "array": [0] * 4}

    @staticmethod
    def rank(packet, flow, state):
        state.count += 1
        if state.count >= 10:
            if state.how == 0:
                return 1 // (state.count - state.count)
            return state.array[state.count]
        return 1
"""

WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None; from tidegate.__main__ import main; main()"


@pytest.mark.parametrize("code", ["from tidegate.__main__ import main; main()", WITHOUT_NUMBA])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (0, r"ZeroDivisionError: .* \(mine.py, line 15\)"),
        (1, r"IndexError: .* \(mine.py, line 16\)"),
    ],
)
def test_an_exception_ends_the_run_with_its_place(code: str, how: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAILING)
    (tmp_path / "network.toml").write_text(network(f'{{ kind = "failing-by-rank", how = {how} }}'))
    command = [sys.executable, "-c", code, "run", "network.toml", "--python", "mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    place = "scheduler `failing-by-rank`, `rank`, at a packet of .* s after the start"
    assert re.search(f"{place}: {message}", said)
    assert "Traceback" not in said


def test_without_numba_the_functions_are_interpreted_to_the_same_result(tmp_path: Path) -> None:
    for mine in PAIRS:
        (tmp_path / "network.toml").write_text(network(mine))
        run = ["run", "network.toml", "--json", "--python", str(EXAMPLES)]
        command = [sys.executable, "-c", WITHOUT_NUMBA, *run]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "numba is not installed" in done.stderr
        assert json.loads(done.stdout)["fingerprints"] == list(tidegate.simulate(network(mine)).fingerprints)


def test_a_class_may_be_defined_again() -> None:
    def longest(packet: Any, flow: Any, state: Any) -> int:
        return NEVER - packet.length

    runs = []
    for rank in (Shortest.rank, longest):
        defined("again-by-rank", rank=staticmethod(rank))
        runs.append(tidegate.simulate(network("again-by-rank")).fingerprints)
    assert runs[0] != runs[1]
    assert runs[0] == tidegate.simulate(network("sjf-by-rank")).fingerprints
    with pytest.raises(tidegate.TidegateError, match="was defined before in another role, or with other"):
        defined("again-by-rank", rank=staticmethod(Paced.rank), eligible=staticmethod(Paced.eligible))


def test_a_class_that_is_given_other_fields_is_compiled_anew() -> None:
    def last(packet: Any, flow: Any, state: Any) -> int:
        state.list[-1] += 1
        return state.list[-1]

    many = defined("grown-by-rank", rank=staticmethod(last), port_state={"list": [0] * 1000})
    fifo = tidegate.simulate(network("fifo")).fingerprints
    assert tidegate.simulate(network("grown-by-rank")).fingerprints == fifo
    # Functions of the longer array would write beyond this one.
    many.port_state = {"list": [0]}
    assert tidegate.simulate(network("grown-by-rank")).fingerprints == fifo
