"""Sources in Python: constant and Poisson traffic beside the built-in and the closed forms."""

# A policy need not use all that it is told.
# ruff: noqa: ARG002

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.dataset
import pytest

import tidegate
from tidegate.backends import logged_run
from tidegate.determinism import check_deterministic
from tidegate.packet_source import TICKS, Source
from tidegate.source import resolve

EXAMPLE = Path(__file__).parents[1] / "examples" / "poisson_source.py"
PAGE = Path(__file__).parents[1] / "docs" / "policies-in-python.md"
tidegate.load_policies(EXAMPLE)


class Even(Source):
    """Sends packets of one size at a constant rate."""

    name = "even"
    parameters: ClassVar = {"rate": 100_000, "phase": 0}
    rate: int
    phase: int

    def packets(self, rng: random.Random, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield a packet at the phase, and then one after the time of each."""
        yield self.phase, sizes[0]
        while True:
            yield round(8 * TICKS * sizes[0] / self.rate), sizes[0]


class Few(Source):
    """Sends a few packets, and then does what its parameter names."""

    name = "few"
    parameters: ClassVar = {"count": 3, "how": ""}
    count: int
    how: str

    def packets(self, rng: random.Random, sizes: Sequence[int]) -> Iterator[Any]:
        """Yield pairs of packets, 10 ms apart."""
        for _ in range(self.count):
            yield TICKS // 100, sizes[0]
            yield 0, sizes[-1]
        match self.how:
            case "raise":
                raise ValueError("it is over")
            case "negative":
                yield -1, 100
            case "real":
                yield 0.5, 100
            case "word":
                yield "soon"
            case "empty":
                yield 1, 0
            case "large":
                yield 1, 501


def chain(*flows: str, seed: int = 1, duration: str = "20s") -> str:
    """Return a scenario of flows over two links, each given as its name, its source and further keys."""
    text = f"""
version = 1
duration = "{duration}"
seed = {seed}
topology = {{ kind = "chain", switches = 3, rate = "1mbit", delay = "3ms" }}
port = "fifo"
"""
    for flow in flows:
        name, source, *keys = flow.split("|")
        size = "" if any(key.startswith("size") for key in keys) else 'size = "500B"'
        text += f'[[flow]]\nname = "{name}"\nfrom = "s1"\nto = "s3"\nsource = {source}\n{size}\n'
        text += "\n".join(keys) + "\n"
    return text


def poisson(rate: int) -> str:
    """Return the source of the page at a rate in bit/s."""
    return f'{{ kind = "poisson-in-python", rate = {rate} }}'


def sent(scenario: str) -> dict[int, list[tuple[int, int]]]:
    """Return the times in ns at which packets of each flow come to the first link, and their lengths."""
    log, _ = logged_run(resolve(scenario).scenario, resolve(scenario).scenario.seed)
    arrived = log.names.index("arrived")
    packets: dict[int, list[tuple[int, int]]] = {}
    for time, link, flow, event, length in zip(
        log.time, log.link, log.flow, log.event, log.length, strict=True
    ):
        if link == 0 and event == arrived:
            packets.setdefault(flow, []).append((time, length))
    return packets


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_constant_rate_has_the_fingerprint_of_the_built_in_source(seed: int) -> None:
    other = 'rest|{ kind = "poisson", rate = "700kbit" }'
    built_in = chain('even|{ kind = "cbr", rate = "100kbit" }', other, seed=seed)
    wanted = tidegate.simulate(built_in).fingerprints
    # The built-in source begins at a random tick: one of the hundred in a nanosecond of the log.
    first = sent(built_in)[0][0][0]
    found = [
        phase
        for phase in range(100 * first - 50, 100 * first + 150)
        if tidegate.simulate(
            chain(f'even|{{ kind = "even", phase = {phase} }}', other, seed=seed)
        ).fingerprints
        == wanted
    ]
    assert len(found) == 1


def test_packets_come_at_the_ticks_that_were_yielded(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text(
        "".join(f"{0.01 * pair:.2f} 500\n{0.01 * pair:.2f} 300\n" for pair in range(40))
    )
    trace = f'pairs|{{ kind = "trace", file = "{tmp_path / "pairs.txt"}" }}|start = "11ms"|size'
    mine = 'pairs|{ kind = "few", count = 40 }|start = "1ms"|size = ["500B", "300B"]'
    runs = [tidegate.simulate(chain(flow).replace("\nsize\n", "\n")) for flow in (mine, trace)]
    assert runs[0].fingerprints == runs[1].fingerprints
    assert runs[0].flows["sent_packets"].to_pylist() == [80]


def test_a_poisson_source_has_the_mean_and_the_variance_of_its_law() -> None:
    for seed in range(1, 4):
        times = [time for time, _ in sent(chain("p|" + poisson(400000), seed=seed, duration="60s"))[0]]
        gaps = [after - before for before, after in pairwise(times)]
        mean = 8e9 * 500 / 400_000
        assert len(gaps) > 5000
        average = sum(gaps) / len(gaps)
        variance = sum((gap - average) ** 2 for gap in gaps) / (len(gaps) - 1)
        # 99.9 % intervals: the variance of an exponential sample's variance is 8 σ⁴ / n.
        assert abs(average - mean) < 3.29 * mean / sqrt(len(gaps))
        assert abs(variance - mean**2) < 3.29 * mean**2 * sqrt(8 / len(gaps))
        # A Poisson process has as many packets in each half of the time.
        half = sum(time < 30e9 for time in times)
        assert abs(half - len(times) / 2) < 3.29 * sqrt(len(times)) / 2


def test_a_flow_changes_the_arrivals_of_no_other_and_a_seed_those_of_all() -> None:
    one, other = "a|" + poisson(100000), "b|" + poisson(100000)
    alone, both, turned = sent(chain(one)), sent(chain(one, other)), sent(chain(other, one))
    assert alone[0] == both[0] == turned[1]
    assert both[1] == turned[0] != both[0]
    assert sent(chain(one, seed=2))[0] != alone[0]
    members = sent(chain(one + "|count = 2"))
    assert members[0] != members[1]


def test_lengths_are_those_that_were_yielded() -> None:
    packets = sent(chain('few|{ kind = "few", count = 2 }|size = ["500B", "40B"]'))[0]
    assert packets == [(10_000_000, 500), (10_000_000, 40), (20_000_000, 500), (20_000_000, 40)]


@pytest.mark.parametrize(
    "key",
    [
        'ecn = "on"',
        'reserve = "100kbit"\ninterval = "100ms"\nwarned = "slow"',
        'stop = "5s"',
        'adaptation = "aal5"',
    ],
)
def test_it_is_as_any_source_to_the_rest_of_a_flow(key: str) -> None:
    even = ['{ kind = "cbr", rate = "50kbit" }', '{ kind = "even", rate = 50000, phase = 1000 }']
    runs = [tidegate.simulate(chain(f"a|{source}|{key}")) for source in even]
    counts = [run.flows["received_packets"][0].as_py() for run in runs]
    assert abs(counts[0] - counts[1]) <= 1
    assert counts[0] > 50


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raise", r"ValueError: it is over \(test_sources_in_python.py, line \d+\)"),
        (
            "negative",
            r"it yielded \(-1, 100\), which is no packet: whole ticks since the one before, and bytes",
        ),
        ("real", r"it yielded \(0.5, 100\), which is no packet"),
        ("word", "it yielded 'soon', which is no packet"),
        ("empty", "it yielded a packet of 0 bytes: the flow's have 1 to 500 by its `size`"),
        ("large", "it yielded a packet of 501 bytes: the flow's have 1 to 500 by its `size`"),
    ],
)
def test_a_failure_ends_the_run_with_its_place(how: str, message: str) -> None:
    place = "source `few`, `packets`, at packet 6 of flow `mine`: "
    with pytest.raises(tidegate.TidegateError, match=f"^{place}{message}"):
        tidegate.simulate(chain(f'mine|{{ kind = "few", how = "{how}" }}'))
    # Nothing of it is left for the next run.
    assert tidegate.simulate(chain('mine|"few"')).flows["sent_packets"].to_pylist() == [6]


def test_a_method_that_is_missing_or_that_yields_nothing_is_named() -> None:
    type("Nothing", (Source,), {"name": "nothing-at-all"})
    with pytest.raises(tidegate.TidegateError, match=r"`packets`, of flow `a`: .*Nothing has no `packets`"):
        tidegate.simulate(chain('a|"nothing-at-all"'))

    class Number(Source):
        name = "a-number"

        def packets(self, rng: random.Random, sizes: Sequence[int]) -> Any:
            return 5

    with pytest.raises(
        tidegate.TidegateError, match="`packets`, of flow `a`: TypeError: 'int' object is not iter"
    ):
        tidegate.simulate(chain('a|"a-number"'))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{ kind = "even", rates = 5 }', "source `even` has no key `rates`.*did you mean `rate`"),
        ('{ kind = "even", rate = "x" }', "rate"),
        ('{ kind = "evan" }', "there is no source `evan`.*did you mean `even`"),
        (
            '"few"\nreserve = "5kbit"\nchange = [{ at = "1s", reserve = "9kbit", rate = "5kbit" }]',
            "`rate` has no effect",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(given: str, message: str) -> None:
    with pytest.raises(tidegate.TidegateError, match=rf"(?s)scenario:1\d.*{message}"):
        tidegate.simulate(chain(f"a|{given}"))


def test_a_name_belongs_to_one_source_and_a_size_is_needed() -> None:
    for name in ("poisson", "trace"):
        with pytest.raises(tidegate.TidegateError, match=f"there is a built-in source `{name}`"):
            type("Mine", (Source,), {"name": name})
    with pytest.raises(tidegate.TidegateError, match="there is a built-in policy `fifo`"):
        type("Mine", (Source,), {"name": "fifo"})
    with pytest.raises(tidegate.TidegateError, match="flow `a` needs `size`"):
        tidegate.simulate(chain('a|"few"|size').replace("\nsize\n", "\n"))
    with pytest.raises(tidegate.TidegateError, match='`few` is a source: write source = "few"'):
        tidegate.simulate(chain('a|"few"').replace('"fifo"', '"few"'))


def test_a_source_that_draws_its_own_numbers_is_found_out() -> None:
    class Wild(Source):
        name = "wild"

        def packets(self, rng: random.Random, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
            while True:
                yield random.randrange(TICKS // 10), sizes[0]

    check_deterministic(chain("a|" + poisson(100000)))
    with pytest.raises(tidegate.TidegateError, match="two runs of seed 1 differ from event 0 on"):
        check_deterministic(chain('a|"wild"'))


def test_it_has_no_bound_on_its_traffic() -> None:
    bounds = resolve(chain('a|"few"|reserve = "100kbit"')).scenario.bounds_json()
    assert "its source is of the user's own, and it has no envelope" in bounds


def test_the_command_line_and_processes_of_a_sweep_take_it(tmp_path: Path) -> None:
    (tmp_path / "chain.toml").write_text(chain('a|{ kind = "poisson", rate = "100kbit" }'))
    mine = ["--python", str(EXAMPLE), "--set", "flow.a.source=poisson-in-python"]

    def tidegate_says(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run = json.loads(tidegate_says("run", "chain.toml", *mine, "--json"))
    rates = ["--set", "flow.a.source.rate=100000,200000", "--replications", "2", "--jobs", "2"]
    tidegate_says("sweep", "chain.toml", *mine, *rates, "--out", "swept")
    rows = pyarrow.dataset.dataset(tmp_path / "swept" / "rows").to_table().to_pylist()
    assert len({row["fingerprint"] for row in rows}) == 4
    assert run["fingerprints"][0] in {row["fingerprint"] for row in rows}
    # The schema has no source of the user's own unless one is loaded.
    assert "poisson-in-python" not in tidegate_says("schema")


def test_the_example_is_the_class_of_the_page() -> None:
    (block,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        if "tidegate.Source)" in block
    )
    assert EXAMPLE.read_text().endswith(block)
