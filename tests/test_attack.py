"""`tidegate attack`: patterns keep contracts, come near the bounds, and run as scenarios."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest

import tidegate
from conftest import call
from tidegate import bounds
from tidegate.attack import attack
from tidegate.attack.conformance import violation
from tidegate.attack.contracts import TICKS, Contract, greedy
from tidegate.explain import explain

LOADS = {
    "virtual-clock": ("1mbit", "3mbit", "3mbit", "2900kbit"),
    "wfq": ("1mbit", "3mbit", "3mbit", "2900kbit"),
    "fifo": ("1mbit", "3mbit", "3mbit", "2900kbit"),
}
"""Reservations of the attacked flow and of three others at each link of 10 Mbit/s."""


def flow(name, ends, rate, size, burst, reserve=True):
    reserved = f'reserve = "{rate}"\n' if reserve else ""
    return (
        f'[[flow]]\nname = "{name}"\nfrom = "s{ends[0]}"\nto = "s{ends[1]}"\n{reserved}size = "{size}B"\n'
        f'source = {{ kind = "greedy" }}\nenvelope = {{ rate = "{rate}", burst = "{burst}B" }}\n'
    )


def tandem(scheduler, hops):
    """Return a row of links with a flow over all of them, and four others at each."""
    own, *others = LOADS[scheduler]
    text = (
        f'version = 1\nduration = "1s"\nport = {{ scheduler = "{scheduler}" }}\n'
        f'topology = {{ kind = "chain", switches = {hops + 1}, rate = "10mbit", delay = "1ms" }}\n'
    )
    text += flow("voice", (1, hops + 1), own, 500, 2000)
    for hop in range(1, hops + 1):
        for number, rate in enumerate(others):
            text += flow(f"beside-{hop}-{number}", (hop, hop + 1), rate, 500, 6000)
        text += flow(f"datagrams-{hop}", (hop, hop + 1), "100kbit", 1500, 1500, reserve=False)
    return text


@pytest.mark.parametrize("hops", [3, *([1, 2, 4, 5] if os.environ.get("TIDEGATE_VERIFY") else [])])
@pytest.mark.parametrize("scheduler", LOADS)
def test_an_attack_reaches_nine_tenths_of_the_bound_on_a_tandem(scheduler, hops):
    found = attack(tandem(scheduler, hops), "voice", tries=10_000)
    assert 0.9 <= found.share <= 1 + 1e-9
    assert found.others == ()


def test_a_written_pattern_runs_and_is_explained_with_the_delay_that_was_printed(tmp_path):
    asked, written, out = tmp_path / "a.toml", tmp_path / "b.toml", tmp_path / "out"
    # With a group of several members, which have recordings of their own.
    asked.write_text(
        tandem("virtual-clock", 2).replace('duration = "1s"', 'duration = "1s"\nwarmup = "500ms"')
        + flow("many", (1, 3), "10kbit", 100, 300).replace("[[flow]]", "[[flow]]\ncount = 3")
    )
    done = call("attack", asked, "--flow", "voice", "--tries", 500, "--write", written, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert {*found["written"]} == {str(written), *map(str, tmp_path.glob("b.*.txt"))}
    run = call("run", written, "--bounds", "--out", out)
    assert run.exit_code == 0, run.stderr
    results = tidegate.Results.load(out)
    [row] = [row for row in results.flows.to_pylist() if row["flow"] == "voice"]
    assert row["delay_max"] == found["delay"]
    assert results.fingerprints == (found["fingerprint"],)
    assert {"many-1", "many-2", "many-3"} <= {row["flow"] for row in results.flows.to_pylist()}
    assert explain(out, "voice").packets[0].delay == found["delay"]
    # The written flows send the packets that were printed.
    sent = {row["flow"]: row["sent_packets"] for row in results.flows.to_pylist()}
    assert sent == {one["flow"].replace("/", "-"): len(one["packets"]) for one in found["pattern"]}


def test_a_delay_above_the_bound_is_an_error(tmp_path, monkeypatch):
    right = bounds.bounds

    def too_small(scenario):
        return [{**flow, "delay": flow["delay"] * 0.9} for flow in right(scenario)]

    path = tmp_path / "a.toml"
    path.write_text(tandem("wfq", 1))
    assert call("attack", path, "--flow", "voice", "--tries", 2_000).exit_code == 0
    monkeypatch.setattr("tidegate.attack.bounds", too_small)
    done = call("attack", path, "--flow", "voice", "--tries", 2_000)
    assert done.exit_code == 3
    assert "delay 17" in done.stdout
    assert done.stderr.startswith("tidegate: voice took 0.017")
    assert "above its bound of 0.016" in done.stderr


def test_an_attack_beside_a_flood_has_no_bound_and_says_why(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(
        tandem("fifo", 1) + flow("flood", (1, 2), "1mbit", 1500, 1500, reserve=False).split("envelope")[0]
    )
    done = call("attack", path, "--flow", "voice", "--tries", 200)
    assert done.exit_code == 0, done.stderr
    assert "bound none" in done.stdout
    assert "no bound: s1->s2: the traffic of flood is not bounded there" in done.stdout
    assert "flood sends what the scenario says: it sends as fast as the network lets it" in done.stdout
    # A flow without a contract keeps its own times.
    found = attack(path, "flood", tries=50)
    assert found.delay > 0
    assert "flood" not in {sent.flow for sent in found.pattern}


def test_the_same_seed_gives_the_same_pattern():
    text = tandem("wfq", 2)
    one, again, other = (attack(text, "voice", tries=3_000, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.pattern != other.pattern


def test_unusable_arguments_are_refused(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(tandem("fifo", 1))
    for arguments, message in (
        (["--flow", "voise"], "did you mean `voice`?"),
        (["--flow", "voice", "--seconds", 0], "must be above 0"),
        (["--flow", "voice", "--write", tmp_path / "none" / "b.toml"], "there is no folder"),
    ):
        done = call("attack", path, *arguments)
        assert done.exit_code == 1
        assert message in done.stderr


def test_seconds_end_a_search():
    start = time.monotonic()
    found = attack(tandem("fifo", 5), "voice", tries=10**9, seconds=0.5)
    assert 0.4 < time.monotonic() - start < 5
    assert found.tries < 10**9
    assert not found.interrupted


def test_an_interrupted_search_shows_the_best_so_far(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(tandem("virtual-clock", 3))
    words = [sys.executable, "-m", "tidegate", "attack", path, "--flow", "voice", "--tries", str(10**9)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # It tells of its progress every ten seconds.
        assert "so far" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        shown, complaints = process.communicate(timeout=20)
    assert process.returncode == 0, complaints
    assert "interrupted: the best pattern so far" in shown
    assert "delay 2" in shown


def contract(*buckets):
    return Contract("a", "a", tuple((Fraction(burst), Fraction(rate)) for burst, rate in buckets), 1, 1, None)


def breaks(packets, buckets):
    """The definition: over each interval between two packets, both included."""
    for first, (start, _) in enumerate(packets):
        sent = 0
        for at, size in packets[first:]:
            sent += size
            if any(sent > burst + rate * Fraction(at - start, TICKS) for burst, rate in buckets):
                return True
    return False


def test_conformance_is_that_of_the_definition():
    draw = random.Random(1)
    found = []
    for _ in range(2_000):
        buckets = contract(*((draw.randrange(100, 400), draw.randrange(1, 10**6)) for _ in range(2))).buckets
        times = sorted(draw.randrange(10**8) for _ in range(draw.randrange(1, 6)))
        packets = [(at, draw.choice((50, 100))) for at in times]
        found.append(violation(packets, buckets) is not None)
        assert found[-1] is breaks(packets, buckets)
    assert 300 < sum(found) < 1_700


def test_greedy_packets_conform_and_none_can_be_earlier():
    draw = random.Random(2)
    for _ in range(300):
        one = contract(
            (draw.randrange(100, 1_000), Fraction(draw.randrange(10**3, 10**6), draw.randrange(1, 9))),
            (draw.randrange(100, 300), draw.randrange(10**5, 10**7)),
        )
        packets = greedy(one, 100, 10**10, 12)
        assert len(packets) > 1
        assert violation(packets, one.buckets) is None
        for number, (at, size) in enumerate(packets):
            if at > 0 and at > packets[number - 1][0]:
                earlier = [*packets[:number], (at - 1, size)]
                assert violation(earlier, one.buckets) is not None
