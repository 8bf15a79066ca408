"""Schedulers compared on the same packets."""

import math

import pytest

import tidegate
from conftest import CHAIN
from tidegate import Fifo, TidegateError, VirtualClock
from tidegate.comparison import Difference


@pytest.fixture(scope="module")
def comparison():
    return tidegate.compare(CHAIN, ["fifo", "virtual-clock"], replications=8)


def test_a_paired_difference_is_narrower_than_an_unpaired_one(comparison):
    row = comparison.row("data", "delay_mean")
    unpaired = math.hypot(*(value.half_width for value in row.values.values()))
    assert row.differences["virtual-clock"].half_width < unpaired / 2


def test_virtual_clock_protects_the_reserved_flow(comparison):
    delay = comparison.row("voice", "delay_p99")
    assert delay.differences["virtual-clock"].mean < 0
    assert delay.differences["virtual-clock"].excludes_zero
    sent = [one.flows["sent_packets"] for one in comparison.results.values()]
    assert sent[0].equals(sent[1])
    assert comparison.notes == []


def test_a_difference_is_the_difference_of_the_means(comparison):
    for row in comparison.rows:
        first, second = row.values.values()
        assert row.differences["virtual-clock"].mean == pytest.approx(second.mean - first.mean, abs=1e-9)


def test_policies_are_names_or_records(chain):
    by_record = tidegate.compare(chain, [Fifo(), VirtualClock()], replications=1)
    by_name = tidegate.compare(chain, ["fifo", "virtual-clock"], replications=1)
    assert by_record.policies == by_name.policies
    assert [one.fingerprints for one in by_record.results.values()] == [
        one.fingerprints for one in by_name.results.values()
    ]


def test_one_run_has_no_interval_and_marks_nothing(chain):
    once = tidegate.compare(chain, ["fifo", "virtual-clock"], replications=1)
    assert once.notes == ["no interval from one run"]
    assert not any(one.excludes_zero for row in once.rows for one in row.differences.values())


def test_schedulers_that_do_the_same_are_told_and_have_no_stars(chain):
    """Without reservations VirtualClock is FIFO."""
    text = chain.read_text().replace('reserve = "64kbit"\n', "").replace('reserve = "200kbit"\n', "")
    comparison = tidegate.compare(text, ["fifo", "virtual-clock"], replications=3)
    assert comparison.notes == ["virtual-clock: the same outcome as fifo in every run, to the packet"]
    for row in comparison.rows:
        difference = row.differences["virtual-clock"]
        assert difference.half_width is None
        assert not difference.excludes_zero


def test_identical_replications_have_no_intervals_and_no_stars(still):
    comparison = tidegate.compare(still, ["fifo", "virtual-clock"], replications=4)
    assert [note for note in comparison.notes if note.startswith("all 4 runs are identical")]
    for row in comparison.rows:
        assert all(value.half_width is None for value in row.values.values())
        assert not any(one.excludes_zero for one in row.differences.values())
    assert any(row.differences["virtual-clock"].mean for row in comparison.rows)


def test_greedy_flows_may_send_other_packets_and_that_is_said(chain):
    greedy = chain.read_text().replace('kind = "poisson", rate = "250kbit"', 'kind = "greedy"')
    [note] = tidegate.compare(greedy, ["fifo", "virtual-clock"], replications=2).notes
    assert note.startswith("data: greedy")


def test_links_with_a_policy_of_their_own_are_pointed_out(chain):
    text = chain.read_text() + '[[link]]\nfrom = "s1"\nto = "s3"\nrate = "1mbit"\nscheduler = "fifo"\n'
    comparison = tidegate.compare(text, ["fifo", "virtual-clock"], replications=2)
    assert "1 of the scenario's links state a policy of their own and keep it" in comparison.notes


@pytest.mark.parametrize(
    ("schedulers", "message"),
    [
        (["fifo"], "at least two"),
        ([], "at least two"),
        (["fifo", "fifo"], "named twice"),
        (["fifo", "virtual-clok"], "^policy virtual-clok: .*\n.*did you mean `virtual-clock`"),
    ],
)
def test_unusable_schedulers_are_refused(chain, schedulers, message):
    with pytest.raises(TidegateError, match=message):
        tidegate.compare(chain, schedulers, replications=1)


def test_an_interval_that_touches_zero_excludes_nothing():
    assert Difference(1.0, 0.5).excludes_zero
    assert Difference(-1.0, 0.0).excludes_zero
    assert not Difference(1.0, 1.0).excludes_zero
    assert not Difference(0.0, 0.0).excludes_zero
    assert not Difference(1.0, None).excludes_zero
    assert not Difference(None, None).excludes_zero
