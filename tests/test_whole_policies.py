"""FQ-CoDel is DRR++ with CoDel at each flow's queue (RFC 8290), in networks that are drawn at random."""

import random
from pathlib import Path

import tidegate
from tidegate import _tidegate

BLOAT = """version = 1
name = "bufferbloat"
duration = "30s"
warmup = "5s"
[topology]
kind = "dumbbell"
pairs = 2
rate = "20mbit"
delay = "10ms"
access = { rate = "1gbit", delay = "1ms" }
[switch]
buffer = "500p"
[[connection]]
name = "up"
count = 4
every = "100ms"
from = "l1"
to = "r1"
size = "1500B"
transport = "tcp"
[[flow]]
name = "call"
from = "l2"
to = "r2"
size = "214B"
source = { kind = "cbr", rate = "85.6kbit" }
"""
RELATIVES = 200


def figures(scenario: str, policy: str) -> tuple[str, dict[str, tuple[float, float]]]:
    """Return the fingerprint, and each group's mean and longest time in queues, in s."""
    read = _tidegate.Scenario.parse(scenario, "scenario.toml", Path(), [("port.policy", policy)])
    results = tidegate.simulate(read, series=False)
    longest = dict.fromkeys((row.group for row in results.groups()), 0.0)
    for row in results.flows.to_pylist():
        longest[row["group"]] = max(longest[row["group"]], row["queueing_max"] or 0.0)
    means = {row.group: row.queueing_mean.mean or 0.0 for row in results.groups()}
    return results.fingerprints[0], {group: (means[group], longest[group]) for group in means}


def test_fq_codel_has_codel_at_each_flow() -> None:
    whole, waits = figures(BLOAT, "fq-codel")
    parts, _ = figures(BLOAT, "drr++ + codel(scope=flow)")
    assert whole == parts
    _, alone = figures(BLOAT, "drr++")
    _, fifo = figures(BLOAT, "fifo")
    # CoDel keeps a transfer's standing queue about its target, 5 ms; the scheduler alone fills the
    # buffer.
    assert waits["up"][0] < 0.01 < 0.2 < min(alone["up"][0], fifo["up"][0])
    assert waits["call"][0] < 0.001


def test_fq_pie_has_pie_at_each_flow() -> None:
    whole, waits = figures(BLOAT, "fq-pie")
    parts, _ = figures(BLOAT, "drr++ + pie(scope=flow, delay=timestamps)")
    assert whole == parts
    # PIE's target is 15 ms. Over one queue it makes the call wait with the transfers.
    assert 0.0075 < waits["up"][0] < 0.0225
    assert waits["call"][0] < 0.001
    _, together = figures(BLOAT, "pie")
    assert together["call"][0] > 0.005


def relative(rng: random.Random) -> tuple[str, dict[str, float]]:
    """Draw transfers over a link with a buffer of several round trips, and a call below its share."""
    rate, transfers = rng.randint(4, 20), rng.randint(1, 5)
    delay = rng.randint(5, 30)
    buffer = max(60, 3 * rate * 1_000_000 * 2 * delay // 1000 // 12_000)
    size, gap = rng.randint(60, 400), rng.choice((10, 20, 30))
    call = size * 8 / gap
    # A packet each round at most: a flow that is always new.
    assert call * 1000 < rate * 1e6 / (transfers + 2)
    text = f"""version = 1
name = "relative"
seed = {rng.randint(1, 1 << 30)}
duration = "6s"
warmup = "3s"
[topology]
kind = "dumbbell"
pairs = 2
rate = "{rate}mbit"
delay = "{delay}ms"
access = {{ rate = "1gbit" }}
[switch]
buffer = "{buffer}p"
[[connection]]
name = "up"
count = {transfers}
every = "{rng.randint(1, 200)}ms"
from = "l1"
to = "r1"
size = "1500B"
transport = "tcp"
[[flow]]
name = "call"
from = "l2"
to = "r2"
size = "{size}B"
source = {{ kind = "cbr", rate = "{round(call * 1000)}bit" }}
"""
    return text, {"packet": 1500 * 8 / (rate * 1e6), "access": 1500 * 8 / 1e9, "transfers": transfers}


def test_fq_codel_is_what_its_record_says_in_random_networks() -> None:
    rng = random.Random(8290)
    shorter = 0
    for _ in range(RELATIVES):
        text, sizes = relative(rng)
        whole, waits = figures(text, "fq-codel")
        parts, _ = figures(text, "drr++ + codel(scope=flow)")
        assert whole == parts, text
        _, alone = figures(text, "drr++")
        assert waits["up"][0] <= alone["up"][0] + 0.001, text
        shorter += waits["up"][0] < alone["up"][0] / 2
        # RFC 8290, section 3: a sparse flow is served before the backlogged ones. It waits for the
        # packet in service, and for the quantum and at most one more packet of each transfer that
        # is new as well. The call has a host of its own.
        bound = (1 + 2 * sizes["transfers"]) * sizes["packet"] + sizes["access"]
        assert waits["call"][1] <= bound, text
    # The case that the test is about came up: a standing queue that CoDel removes.
    assert shorter > RELATIVES / 2


def test_a_port_is_built_from_a_policy_in_one_line_or_a_record() -> None:
    def fingerprint(port: str | tidegate.Port) -> str:
        scenario = tidegate.Scenario(
            duration="1s",
            topology=tidegate.Chain(switches=2, rate="1mbit"),
            port=port,
            flow=[
                tidegate.Flow(
                    name=name, from_="s1", to="s2", size="500B", source=tidegate.Poisson(rate="900kbit")
                )
                for name in ("a", "b")
            ],
        )
        return tidegate.simulate(scenario).fingerprints[0]

    whole = fingerprint("fq-codel(target=1ms)")
    assert whole == fingerprint(tidegate.Port(policy="fq-codel(target=1ms)"))
    assert whole == fingerprint(tidegate.Port(policy=tidegate.FqCodel(target="1ms")))
    assert whole == fingerprint(tidegate.Port(scheduler=tidegate.FqCodel(target="1ms")))
    assert whole != fingerprint("drr++")
    assert fingerprint("codel") == fingerprint(tidegate.Port(policy=tidegate.Codel()))
