"""Connections that share a group: the same packets, counted together."""

import pyarrow.compute as pc
import pytest

import tidegate
from tidegate import Bulk, Connection, Dumbbell, Results, Scenario, Tcp, TidegateError, Window
from tidegate.explain import explain

HEAD = """\
version = 1
duration = "6s"
topology = { kind = "dumbbell", pairs = 2, rate = "20mbit", delay = "1ms" }
port = "fq-codel"
"""
MANY = """
[[connection]]
name = "many"
count = 100
from = "l1"
to = "r1"
size = "1500B"
transport = "tcp"
data = { kind = "transfers", size = "20kB", arrivals = "poisson", load = 0.2, once = true }
"""
FEW = """
[[connection]]
name = "few"
count = 3
from = "l2"
to = "r2"
size = "1500B"
start = "1s"
every = "300ms"
transport = { kind = "tcp", stack = "rfc", congestion = "cubic" }
data = { kind = "transfers", size = "100kB", arrivals = "think", think = "50ms" }
"""
GROUP = 'group = "web"\n'


@pytest.fixture(scope="module")
def apart() -> Results:
    return tidegate.simulate(HEAD + MANY + FEW, replications=2, series=True)


@pytest.fixture(scope="module")
def together() -> Results:
    return tidegate.simulate(HEAD + MANY + GROUP + FEW + GROUP, replications=2, series=True)


def test_a_group_changes_no_packet(apart: Results, together: Results) -> None:
    assert apart.flows.drop_columns("group").equals(together.flows.drop_columns("group"))
    assert apart.transfers.drop_columns("group").equals(together.transfers.drop_columns("group"))
    assert [one.group for one in apart.groups()] == ["many", "many/ack", "few", "few/ack"]
    assert [one.group for one in together.groups()] == ["web", "web/ack"]


def test_its_figures_are_those_of_all_its_connections(apart: Results, together: Results) -> None:
    web, many, few = together.groups["web"], apart.groups["many"], apart.groups["few"]
    assert web.flows == many.flows + few.flows == 103
    for figure in ("throughput", "goodput", "transfers"):
        total = getattr(many, figure).mean + getattr(few, figure).mean
        assert getattr(web, figure).mean == pytest.approx(total)
    for run in range(2):
        flows = together.flows.filter(pc.equal(together.flows["replication"], run)).to_pylist()
        members = [row for row in flows if row["group"] == "web"]
        rows = together.tables["groups"].to_pylist()
        row = next(row for row in rows if (row["replication"], row["group"]) == (run, "web"))
        received = [member["received_bytes"] for member in members]
        squares = sum(each * each for each in received)
        assert row["jain"] == pytest.approx(sum(received) ** 2 / (103 * squares))
        assert row["delay_max"] == max(member["delay_max"] or 0.0 for member in members)


def test_transfers_are_binned_together(apart: Results, together: Results) -> None:
    assert {row.group for row in together.transfer_rows()} == {"web"}
    assert sum(row.transfers for row in together.transfer_rows()) == sum(
        row.transfers for row in apart.transfer_rows()
    )


def test_an_explanation_finds_a_connection_by_its_group(together: Results) -> None:
    found = explain(together, "web")
    assert found.group == "web"
    assert found.flow.startswith(("many/", "few/"))


def test_a_group_needs_a_name_of_its_own() -> None:
    with pytest.raises(TidegateError) as refused:
        tidegate.simulate(HEAD + MANY + 'group = "few"\n' + FEW)
    assert "there is already a flow `few`" in str(refused.value)
    assert "a group of connections has a name of its own" in str(refused.value)


def test_transports_of_two_kinds_are_compared_in_one_group() -> None:
    def one(name: str, pair: int, transport: Tcp | Window) -> Connection:
        ends = {"from_": f"l{pair}", "to": f"r{pair}"}
        return Connection(name=name, group="all", size="1kB", transport=transport, data=Bulk(), **ends)

    scenario = Scenario(
        duration="2s",
        topology=Dumbbell(pairs=2, rate="5mbit", delay="1ms"),
        connection=[one("reno", 1, Tcp()), one("fixed", 2, Window(window=20))],
    )
    comparison = tidegate.compare(scenario, ["fifo", "wf2q-plus"], replications=2)
    assert [row.group for row in comparison.rows if row.metric == "throughput"] == ["all", "all/ack"]
    # Both have endless data, and share the link equally under fair queueing.
    results = tidegate.simulate(scenario, scheduler="wf2q-plus", series=True)
    fair = tidegate.measure_fairness(results, span=(1.0, None))
    assert [(row.subject, row.optimum) for row in fair.rows] == [("all", pytest.approx(5e6))]
    assert fair.members[0].flows == 2
    assert fair.members[0].jain.mean > 0.99


def test_a_member_of_unknown_rate_leaves_its_group_without_an_optimum() -> None:
    text = HEAD + MANY + GROUP + FEW.split("data")[0] + 'data = "bulk"\n' + GROUP
    results = tidegate.simulate(text, replications=1, series=True)
    with pytest.raises(
        TidegateError, match="group `web` has no max-min fair rate: the rate that it asks for"
    ):
        tidegate.measure_fairness(results, groups=["web"], span=(3.0, None))
