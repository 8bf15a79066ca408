"""Connections and flows with several destinations, from a scenario to tables, comparisons and plots."""

import pytest

import tidegate
from conftest import CHAIN, call
from tidegate import (
    Answers,
    Chain,
    Connection,
    Flow,
    Greedy,
    Poisson,
    Scenario,
    Tcp,
    Transfers,
    Window,
    plots,
)
from tidegate.explain import explain

CONNECTION = """
[[connection]]
name = "web"
count = 2
from = "s1"
to = "s3"
size = "1kB"
transport = { kind = "window", window = 8 }
reserve = "50kbit"
answers = { reserve = "10kbit" }
"""


@pytest.fixture(scope="module")
def results():
    return tidegate.simulate(CHAIN + CONNECTION, replications=2, series=True)


def test_both_directions_are_groups_of_their_own(results):
    assert [one.group for one in results.groups()] == ["voice", "data", "web", "web/ack"]
    rows = {row["flow"]: row for row in results.flows.to_pylist() if row["replication"] == 0}
    assert {"web/1", "web/2", "web/ack/1", "web/ack/2"} <= set(rows)
    assert (rows["web/1"]["from"], rows["web/1"]["to"]) == ("s1", "s3")
    assert (rows["web/ack/1"]["from"], rows["web/ack/1"]["to"]) == ("s3", "s1")
    for member in (1, 2):
        data, answers = rows[f"web/{member}"], rows[f"web/ack/{member}"]
        assert answers["sent_bytes"] == 40 * answers["sent_packets"]
        # One answer for each packet, but for those under way when the measurement begins and ends.
        assert abs(data["received_packets"] - answers["sent_packets"]) <= 8


def test_a_connection_is_the_same_in_python_and_in_toml():
    built = Scenario(
        duration="2s",
        topology=Chain(switches=2, rate="1mbit"),
        connection=[
            Connection(
                name="web",
                from_="s1",
                to="s2",
                size="1kB",
                transport=Window(window=8),
                answers=Answers(reserve="10kbit"),
            )
        ],
        flow=[
            Flow(name="film", from_="s1", to=["s2"], size="500B", source=Poisson(rate="100kbit")),
            Flow(name="bulk", from_="s1", to="s2", size="500B", source=Greedy()),
        ],
    )
    text = """
version = 1
duration = "2s"
topology = { kind = "chain", switches = 2, rate = "1mbit" }
flow = [
    { name = "film", from = "s1", to = "s2", size = "500B", source = { kind = "poisson", rate = "100kbit" } },
    { name = "bulk", from = "s1", to = "s2", size = "500B", source = "greedy" },
]
[[connection]]
name = "web"
from = "s1"
to = "s2"
size = "1kB"
transport = { kind = "window", window = 8 }
answers.reserve = "10kbit"
"""
    assert tidegate.simulate(built).fingerprints == tidegate.simulate(text).fingerprints


def test_a_comparison_says_that_connections_respond():
    comparison = tidegate.compare(CHAIN + CONNECTION, ["fifo", "virtual-clock"], replications=2)
    [note] = comparison.notes
    assert note.startswith("web, web/ack: window, so what is sent depends on the policy")
    sent = [
        {row["flow"]: row["sent_packets"] for row in one.flows.to_pylist()}
        for one in comparison.results.values()
    ]
    for flow in ("voice", "data/1"):
        assert sent[0][flow] == sent[1][flow]


def test_plots_and_explanations_know_both_directions(results, tmp_path):
    def drawn(groups=None):
        return [tick.get_text() for tick in plots.overview(results, groups).axes[0].get_yticklabels()]

    assert drawn() == ["voice", "data", "web"]
    assert drawn(["web", "web/ack"]) == ["web", "web/ack"]
    (tmp_path / "a.toml").write_text(CHAIN + CONNECTION)
    assert call("run", tmp_path / "a.toml", "--out", tmp_path / "out").exit_code == 0
    assert call("plot", tmp_path / "out").exit_code == 0
    assert explain(results, "web").reserve == 50_000
    assert explain(results, "web/ack").reserve == 10_000


def test_every_destination_receives():
    text = CHAIN.replace(
        'name = "voice"\nfrom = "s1"\nto = "s3"', 'name = "voice"\nfrom = "s2"\nto = ["s1", "s3"]'
    )
    voice, _ = tidegate.simulate(text).flows.to_pylist()[:2]
    assert voice["sent_packets"] > 80
    assert abs(voice["received_packets"] - 2 * voice["sent_packets"]) <= 4


def test_transfers_and_goodput_are_summarised():
    built = Scenario(
        duration="5s",
        topology=Chain(switches=2, rate="1mbit"),
        connection=[
            Connection(
                name="web",
                from_="s1",
                to="s2",
                size="1kB",
                data=Transfers(size="20kB", sizes="exponential", think="100ms"),
                transport=Tcp(congestion="reno", recovery="newreno"),
            )
        ],
        flow=[Flow(name="film", from_="s1", to="s2", size="500B", source=Poisson(rate="100kbit"))],
    )
    results = tidegate.simulate(built, replications=2)
    film, web, answers = (
        next(one for one in results.groups() if one.group == name) for name in ("film", "web", "web/ack")
    )
    for other in (film, answers):
        assert (other.goodput.mean, other.timeouts.mean, other.transfers.mean) == (None, None, None)
    assert 0 < web.goodput.mean < web.throughput.mean
    assert web.transfers.mean > 1
    assert 0 < web.transfer_mean.mean <= web.transfer_p95.mean <= web.transfer_p99.mean
