"""Quantities as people read them."""

import pytest

from tidegate.show import plural, quantity, signed, with_interval


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0, "bit/s", "0 bit/s"),
        (999, "bit/s", "999.0 bit/s"),
        (63_872, "bit/s", "63.87 kbit/s"),
        (999_999, "bit/s", "1.000 Mbit/s"),
        (2.5e9, "bit/s", "2.500 Gbit/s"),
        (0.0451234, "s", "45.12 ms"),
        (3.2e-6, "s", "3.200 µs"),
        (5e-10, "s", "0.5000 ns"),
        (7200, "s", "7200 s"),
        (0.5, "share", "50.00 %"),
        (0, "share", "0 %"),
        (12, "count", "12"),
        (99.587, "count", "99.59"),
        (None, "s", "-"),
    ],
)
def test_a_quantity_has_the_unit_that_suits_it(value, unit, shown):
    assert quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("figure", "unit", "shown"),
    [
        ((0.0455, 0.0003), "s", "45.50 ms ± 0.30"),
        ((0.0001, 0.005), "s", "0.100 ms ± 5.000"),
        ((0.0455, 1e-9), "s", "45.50 ms ± <0.01"),
        ((0.0455, 0.0), "s", "45.50 ms ± 0.00"),
        ((1.0, None), "s", "1.000 s"),
        ((None, None), "s", "-"),
    ],
)
def test_an_interval_has_the_unit_of_its_mean(figure, unit, shown):
    assert with_interval(figure, unit) == shown


def test_a_difference_has_a_sign():
    assert signed((0.001, None), "s") == "+1.000 ms"
    assert signed((-0.001, None), "s") == "-1.000 ms"
    assert signed((0.0, None), "s") == "0 s"


def test_a_difference_of_shares_is_in_percentage_points():
    assert signed((0.0051, 0.0002), "share") == "+0.5100 pp ± 0.0200"
    assert signed((-0.25, None), "share") == "-25.00 pp"
    assert quantity(0.25, "share") == "25.00 %"


def test_a_noun_follows_its_number():
    assert (plural(1, "flow"), plural(2, "flow"), plural(2, "entry", "entries")) == (
        "1 flow",
        "2 flows",
        "2 entries",
    )
