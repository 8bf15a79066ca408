"""Quantities of scenarios that are built in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate
from tidegate import Rate, Size, TidegateError, Time, parse_rate, parse_time


@given(st.integers(1, 10_000_000_000_000))
def test_a_rate_is_what_files_hold(bits):
    assert parse_rate(Rate(bits)) == bits
    assert parse_rate(Rate(float(bits))) == bits


@given(st.integers(0, 10**12))
def test_a_time_is_what_files_hold(nanoseconds):
    assert parse_time(Time(nanoseconds / 1e9)) == pytest.approx(nanoseconds / 1e9, abs=1e-11)


@pytest.mark.parametrize(
    ("kind", "number", "message"),
    [
        (Size, 2.5, "a size is a whole number of bytes, not 2.5"),
        (Size, -1, "a size in bytes is a number of at least 0, not -1"),
        (Rate, 0.5, "not a whole number of bits per second"),
        (Rate, float("nan"), "a rate in bit/s is a number of at least 0, not nan"),
        (Time, float("inf"), "a time in seconds is a number of at least 0, not inf"),
        (Time, "5ms", "a time in seconds is a number of at least 0, not '5ms'"),
        (Size, True, "a size in bytes is a number of at least 0, not True"),
    ],
)
def test_what_is_no_quantity_is_refused(kind, number, message):
    with pytest.raises(TidegateError, match=message):
        kind(number)


def test_they_stand_where_the_text_would():
    def scenario(rate, size, duration):
        return tidegate.Scenario(
            duration=duration,
            topology=tidegate.Chain(switches=2, rate=rate),
            flow=[
                tidegate.Flow(
                    name="data", from_="s1", to="s2", size=size, source=tidegate.Poisson(rate="400kbit")
                )
            ],
        )

    texts = tidegate.simulate(scenario("1mbit", "250B", "2s")).fingerprints
    assert tidegate.simulate(scenario(Rate(1e6), Size(250), Time(2))).fingerprints == texts
    assert tidegate.simulate(scenario(1e6, 250, 2)).fingerprints == texts
    assert (
        tidegate.simulate(scenario(np.int64(1_000_000), np.int32(250), np.float64(2))).fingerprints == texts
    )
    for wrong, message in [
        ((1e6, 250.5, 2), "whole number"),
        ((-1, 250, 2), "rate"),
        ((1e6, True, 2), "True"),
    ]:
        with pytest.raises(TidegateError, match=message):
            tidegate.simulate(scenario(*wrong))
    assert tidegate.simulate(scenario("3mbit", "1B", "9s"), duration=Time(2)).duration == 2
    assert (repr(Rate(64_000)), str(Size(250)), str(Time(5e-6))) == ("Rate(64000)", "250B", "0.000005s")


def test_a_bare_number_is_refused_where_it_has_no_unit():
    """A limit is in packets or in bytes, and an override is the text of a file."""
    drop_tail = tidegate.DropTail(limit=30)  # type: ignore[arg-type]
    scenario = tidegate.Scenario(
        duration=1, topology=tidegate.Chain(switches=2, rate=1e6), port=tidegate.Port(dropper=drop_tail)
    )
    with pytest.raises(TidegateError, match="a limit needs a unit, and `30` has none"):
        tidegate.simulate(scenario)
    with pytest.raises(TidegateError, match="a time needs a unit, and `10` has none"):
        tidegate.simulate(scenario, sets=[("port", "fifo")], duration=10)
