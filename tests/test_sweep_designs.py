"""The points of sweeps: combinations, lists, files, and values that are drawn."""

import statistics

import pytest

from tidegate import TidegateError
from tidegate.sweeps.design import Design, points_of


def points(values, **more):
    return [tuple(value for _, value in point) for point in points_of(Design(values, **more))]


def test_a_product_has_every_combination_and_the_last_parameter_is_the_fastest():
    assert points({"a": ["1", "2"], "b": ["x", "y"]}) == [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")]
    assert len(points({name: list("abcde") for name in "pqr"})) == 125


def test_a_zip_takes_the_values_together():
    assert points({"a": ["1", "2"], "b": ["x", "y"]}, kind="zip") == [("1", "x"), ("2", "y")]
    with pytest.raises(TidegateError, match="`a` has 1, `b` has 2"):
        points({"a": ["1"], "b": ["x", "y"]}, kind="zip")


def test_a_file_has_a_point_in_each_line(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text('\ufeffa,"b"\n1, "x,1" \n\n2,y\n')
    path.write_text("a,b\n1,x\n\n2,y\n")
    assert points({}, csv=path) == [("1", "x"), ("2", "y")]
    assert points({"c": ["7", "8"]}, csv=path) == [
        ("1", "x", "7"),
        ("1", "x", "8"),
        ("2", "y", "7"),
        ("2", "y", "8"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "has no points"),
        ("", "has no points"),
        ("a,a\n1,2\n", ":1: the key `a` is there twice"),
        ("a,\n1,2\n", ":1: the key `` is empty"),
        ("a,c\n1,2\n", ":1: the key `c` is also set"),
        ("a,b\n1,2\n3\n", ":3: has 1 values for 2 keys"),
        ("a,b\n1,2\n3,\n", ":3: has 1 values for 2 keys"),
        ('a,b\n1,"2\n', ":2: "),
    ],
)
def test_mistakes_in_a_file_are_told_with_their_line(text, message, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(TidegateError) as raised:
        points({"c": ["1"]}, csv=path)
    assert message in str(raised.value)


def test_a_latin_hypercube_has_one_point_in_each_part_of_every_range():
    values = {"rate": ["0.000..1.000"], "size": ["100B..1099B"], "policy": ["fifo", "red", "codel", "pie"]}
    found = points(values, kind="latin-hypercube", points=20)
    assert len(found) == 20
    # 1,001 and 1,000 values in 20 parts of 50.05 and 50.
    rates = sorted(int(float(rate) * 1000 / 50.05) for rate, _, _ in found)
    assert rates == list(range(20))
    sizes = sorted((int(size.removesuffix("B")) - 100) // 50 for _, size, _ in found)
    assert sizes == list(range(20))
    assert sorted(policy for _, _, policy in found) == sorted(values["policy"] * 5)
    # The columns are shuffled on their own.
    assert abs(statistics.correlation(*[[int(float(r) * 1000) for r, _, _ in found], sizes])) < 0.6


def test_random_values_are_spread_over_their_range():
    found = points({"a": ["1p..6p"], "b": ["x", "y"]}, kind="random", points=6000)
    # Equal pairs are one point, so the draws themselves are looked at.
    assert len(found) == 12
    from random import Random

    from tidegate.sweeps.design import _drawn, _uniform

    draws = _drawn("a", ["1p..6p"], _uniform(6000, Random(1)))
    counts = [draws.count(f"{side}p") for side in range(1, 7)]
    # Chi-squared with 5 degrees of freedom: above 20.5 once in 1,000.
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 20.5


def test_a_drawn_value_has_the_decimals_of_its_range():
    for value in points({"a": ["0.5ms..1.25ms"]}, kind="random", points=50):
        number = value[0].removesuffix("ms")
        assert len(number.partition(".")[2]) == 2
        assert 0.5 <= float(number) <= 1.25


def test_draws_depend_on_their_seed_and_their_key_alone():
    one = points({"a": ["1..1000000"]}, kind="random", points=9)
    both = points({"b": ["1..1000000"], "a": ["1..1000000"]}, kind="random", points=9)
    assert [a for _, a in both] == [a for (a,) in one]
    assert [b for b, _ in both] != [a for (a,) in one]
    assert points({"a": ["1..1000000"]}, kind="random", points=9, seed=2) != one


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ({"a": ["1..2"]}, {}, "needs the design random"),
        ({"a": ["1..2"]}, {"kind": "random"}, "needs a number of points"),
        ({"a": ["1"]}, {"points": 3}, "a number of points is for"),
        ({"a": ["1"]}, {"kind": "grid"}, "`grid` is not one of product, zip"),
        ({"a": ["2..1"]}, {"kind": "random", "points": 2}, "is not a range"),
        ({"a": ["1kbit..1mbit"]}, {"kind": "random", "points": 2}, "is not a range"),
        ({"a": [str(n) for n in range(1100)], "b": [str(n) for n in range(1000)]}, {}, "1100000 points"),
    ],
)
def test_mistakes_in_a_design_are_told(values, settings, message):
    with pytest.raises(TidegateError) as raised:
        points(values, **settings)
    assert message in str(raised.value)
