"""Scores: the same twice, in the order that the field knows, and hard to fool."""

import json
import os
import re
import subprocess
import sys

import pytest

from conftest import call
from files import ROOT
from tidegate import TidegateError
from tidegate.score import SUITES, sandbox, score
from tidegate.score.seeds import PUBLIC, seeds

VERIFY = "TIDEGATE_VERIFY" in os.environ
needs_verify = pytest.mark.skipif(not VERIFY, reason="a minute: make verify runs it")

FIFO = """
import tidegate


class {name}(tidegate.Scheduler):
    name = "{named}"

    def __init__(self):
        self.order = []

    def arrived(self, now, packet):
        self.order.append(packet.flow)

    def lost(self, now, packet):
        self.order.remove(packet.flow)

    def select(self, now):
        {cheat}
        return self.order[0] if self.order else None

    def served(self, now, packet):
        self.order.remove(packet.flow)
"""


def scheduler(folder, named, cheat, before=""):
    file = folder / f"{named}.py"
    file.write_text(before + FIFO.format(name=named.title().replace("-", ""), named=named, cheat=cheat))
    return file


@pytest.mark.parametrize("suite", SUITES if VERIFY else ["guarantee"])
def test_a_score_has_the_same_bytes_twice(suite):
    first, second = (call("score", "drr", "--suite", suite, "--json", "--jobs", jobs) for jobs in (1, 2))
    assert first.exit_code == 0, first.stderr
    assert first.stdout == second.stdout
    document = json.loads(first.stdout)
    assert [one["trial"] for one in document["outcomes"]] == [trial.name for trial in SUITES[suite].trials]
    assert all(0.0 <= one["points"] <= 1.0 for one in document["outcomes"])
    assert document["points"] == pytest.approx(
        sum(one["points"] for one in document["outcomes"]) / len(document["outcomes"])
    )


@needs_verify
def test_queue_management_is_ranked_as_the_field_knows_it():
    points = {policy: score(policy, "aqm").points for policy in ("fifo", "pie", "codel", "fq-codel")}
    assert points["fifo"] == 0.0
    assert sorted(points, key=points.__getitem__) == ["fifo", "pie", "codel", "fq-codel"]


@needs_verify
def test_policies_are_ranked_as_the_field_knows_them():
    assert score("wf2q-plus", "fair").points > 0.95 > 0.5 > score("fifo", "fair").points
    assert score("virtual-clock", "guarantee").points > 0.99
    assert score("fifo", "guarantee").points < 0.2
    assert score("fq-codel", "fct").points > 4 * score("fifo", "fct").points


def test_a_policy_in_python_has_the_score_of_its_built_in_form(tmp_path):
    page = (ROOT / "docs" / "policies-in-python.md").read_text(encoding="utf-8")
    (codel,) = [
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class Codel" in block
    ]
    file = tmp_path / "codel.py"
    file.write_text(f"import tidegate\n{codel}")
    own = score("fifo + codel-in-python", "guarantee", python=[file])
    built_in = score("codel", "guarantee")
    assert [one.figures for one in own.outcomes] == [one.figures for one in built_in.outcomes]
    assert [one.fingerprints for one in own.outcomes] == [one.fingerprints for one in built_in.outcomes]


@pytest.mark.parametrize(
    ("cheat", "said"),
    [
        ("__import__('time').sleep(1e-6)", "a policy may not sleep"),
        ("__import__('os').system('true')", "a policy may not start processes"),
        ("__import__('subprocess').run(['true'])", "a policy may not start processes"),
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "a policy may not use the network"),
    ],
)
def test_what_a_policy_may_not_do_is_refused_with_its_line(cheat, said, tmp_path):
    file = scheduler(tmp_path, "cheat", cheat)
    with pytest.raises(TidegateError) as refused:
        score("cheat", "guarantee", python=[file])
    assert f"{said} ({file}:" in str(refused.value)


def test_a_policy_that_looks_at_the_future_is_refused(tmp_path):
    before = "import tidegate.score.suites as suites\n"
    text = "suites.SUITES['guarantee'].trial('flood').text"
    file = scheduler(tmp_path, "prophet", f"tidegate.simulate({text}, jobs=1)", before)
    with pytest.raises(TidegateError, match="a policy may not simulate"):
        score("prophet", "guarantee", python=[file])


def test_a_policy_that_is_not_the_same_twice_is_refused(tmp_path):
    before = "import random\n"
    file = scheduler(tmp_path, "dice", "random.random() < 0.5 and self.order.reverse()", before)
    with pytest.raises(TidegateError, match="dice: two runs under one seed differ"):
        score("dice", "guarantee", python=[file])


def test_a_policy_that_takes_too_long_is_ended(tmp_path):
    file = scheduler(tmp_path, "slow", "sum(range(1000000))")
    job = sandbox.Job("fair", "flood", "slow", (1,), (sandbox.PolicyFile(str(file), file.read_text()),),
                      cpu_limit=2)  # fmt: skip
    with pytest.raises(TidegateError, match="`flood` took more than 2 s of processor time"):
        sandbox.Sandbox().carry_out(job)


HOG = """
import tidegate


class Hog(tidegate.Dropper):
    \"\"\"Keeps the first flow and drops the others, with a short queue for the first.\"\"\"

    name = "hog"

    def arrived(self, now, packet, queue):
        if packet.flow > 1 and packet.length > 100:
            return tidegate.Drop("early-drop")
        return tidegate.Drop("queue-limit") if queue.packets > 40 else None
"""


@needs_verify
def test_who_drops_the_packets_of_others_loses(tmp_path):
    file = tmp_path / "hog.py"
    file.write_text(HOG)
    starved = {one.trial: one.points for one in score("fifo + hog", "fair", python=[file]).outcomes}
    assert starved["congestion"] < 0.05


@needs_verify
def test_who_ends_connections_for_a_short_queue_loses(tmp_path):
    file = tmp_path / "hog.py"
    file.write_text(HOG)
    hog = {one.trial: one.points for one in score("fifo + hog", "aqm", python=[file]).outcomes}
    honest = {one.trial: one.points for one in score("codel", "aqm").outcomes}
    assert hog["one-connection"] > 0.4
    assert hog["ten-connections"] < 0.3 < 0.8 < honest["ten-connections"]


@needs_verify
def test_who_lets_the_link_wait_loses(tmp_path):
    file = tmp_path / "idler.py"
    file.write_text(
        HOG.replace("hog", "idler")
        .replace("Hog", "Idler")
        .replace("packet.flow > 1 and packet.length > 100", "packet.length > 1000")
    )
    idler = score("fifo + idler", "guarantee", python=[file]).points
    assert idler < 0.3 < score("drr", "guarantee").points


def test_a_secret_draws_other_seeds_and_stays_secret():
    public, other = seeds("aqm", PUBLIC), seeds("aqm", "a secret")
    assert len({*public, *other}) == 6
    assert all(0 <= seed < 2**62 for seed in (*public, *other))
    done = call("score", "drr", "--suite", "guarantee", "--secret", "a secret", "--json")
    document = json.loads(done.stdout)
    assert "seeds" not in document
    assert not any(str(seed) in done.stdout for seed in seeds("guarantee", "a secret"))
    assert document["points"] == pytest.approx(score("drr", "guarantee").points, abs=0.02)
    assert document["outcomes"][0]["fingerprints"] != list(score("drr", "guarantee").outcomes[0].fingerprints)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["fifo", "--suite", "aqmm"],
            "there is no suite `aqmm`\n  help: it is one of aqm, fair, fct, guarantee",
        ),
        (["fifoo", "--suite", "aqm"], "there is no policy `fifoo`"),
        (["fifo", "--suite", "aqm", "--secret", ""], "a secret has at least one character"),
        (["fifo", "--suite", "aqm", "--python", "no.py"], "no.py: [Errno 2] No such file"),
        (["fifo", "--suite", "aqm", "--jobs", "0"], "the number of jobs must be at least 1, not 0"),
    ],
)
def test_a_mistake_is_named(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("score", *words)
    assert done.exit_code == 1
    assert said in done.stderr


def test_an_interrupt_ends_the_processes(tmp_path):
    file = scheduler(tmp_path, "endless", "sum(range(10**7))")
    command = "from tidegate.cli import main; main()"
    words = ["score", "endless", "--suite", "fair", "--python", str(file)]
    running = subprocess.Popen([sys.executable, "-c", command, *words], stderr=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(timeout=3)
    running.send_signal(2)
    assert running.wait(timeout=60) == 130
