"""Averages by column are those of one figure at a time, and their JSON text is that of Python's module."""

import json
import math
import statistics
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate
from conftest import CHAIN
from tidegate import json_rows
from tidegate.arrow_arrays import number_array, numbers, text_array
from tidegate.averages import average, figure, names
from tidegate.cli.document import document

# Student's t for 1, 2, 3 degrees of freedom, two-sided 95 %: any table of it.
STUDENT = {2: 12.706205, 3: 4.302653, 4: 3.182446}

# Squares of figures below 1e-154 would be zero.
NUMBERS = st.floats(-1e9, 1e9).filter(lambda one: not 0 < abs(one) < 1e-100)
FIGURES = st.one_of(st.none(), NUMBERS, st.integers(-(2**40), 2**40))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.integers(1, 4).flatmap(lambda runs: st.lists(st.lists(FIGURES, min_size=runs, max_size=runs))))
def test_means_and_intervals_are_those_of_each_subject(subjects):
    runs = len(subjects[0]) if subjects else 1
    column = np.array(
        [[math.nan if one is None else one for one in run] for run in zip(*subjects, strict=True)]
    )
    fixed = {"name": text_array([str(number) for number in range(len(subjects))])}
    rows = average(fixed, {"figure": column.reshape(runs, len(subjects)).astype(float)}).dictionaries()
    assert [row["name"] for row in rows] == [str(number) for number in range(len(subjects))]
    for row, figures in zip(rows, subjects, strict=True):
        measured = [float(one) for one in figures if one is not None]
        if not measured:
            assert (row["figure"], row["ci95"]["figure"]) == (None, None)
            continue
        scale = max(map(abs, measured))
        assert row["figure"] == pytest.approx(statistics.fmean(measured), rel=1e-12, abs=1e-12 * scale)
        if len(measured) == 1:
            assert row["ci95"]["figure"] is None
            continue
        half_width = STUDENT[len(measured)] * statistics.stdev(measured) / math.sqrt(len(measured))
        assert row["ci95"]["figure"] == pytest.approx(half_width, rel=1e-6, abs=1e-7 * scale)


@pytest.mark.parametrize("value", [0.1, 1e-300, 123456.789, 0.0])
def test_equal_figures_have_their_value_and_an_interval_of_exactly_nothing(value):
    [row] = average({"name": text_array(["a"])}, {"figure": np.full((3, 1), value)}).dictionaries()
    assert (row["figure"], row["ci95"]["figure"]) == (value, 0.0)


def test_a_column_is_split_by_replication():
    table = pa.table({"flow": ["a", "b", "c"] * 2, "sent": [1, 2, 3, 4, 5, 6], "delay": [None, 2.0] * 3})
    assert figure(table, "sent", 2).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert np.isnan(figure(table, "delay", 2)).tolist() == [[True, False, True], [False, True, False]]
    assert names(table, ("flow",), 2)["flow"].to_pylist() == ["a", "b", "c"]
    # Identical replications are taken once: a part of the table.
    assert figure(table.slice(3, 3), "delay", 1).tolist()[0][0] == 2.0


@given(
    st.lists(
        st.tuples(
            TEXTS,
            st.integers(-(2**63), 2**63 - 1),
            st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        )
    ),
    st.integers(1, 3),
)
def test_json_of_columns_is_that_of_rows(rows, block):
    text, whole, number = ([row[at] for row in rows] for at in range(3))
    columns = {
        'a "name"': text_array(text),
        "whole": number_array(np.array(whole, np.int64)),
        "inside": {
            "number": number_array(np.array([math.nan if one is None else one for one in number], float)),
            "nothing": number_array(np.full(len(rows), math.nan)),
        },
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "BLOCK", block)
        found = json.loads("".join(json_rows.of_columns(columns, len(rows))))
    expected = [
        {'a "name"': one, "whole": two, "inside": {"number": three, "nothing": None}}
        for one, two, three in rows
    ]
    assert found == expected
    # A number that is whole is still a number with a fraction.
    assert all(one["inside"]["number"] is None or isinstance(one["inside"]["number"], float) for one in found)


def test_columns_without_text_and_tables_without_rows():
    columns = {"nothing": number_array(np.full(2, math.nan))}
    assert "".join(json_rows.of_columns(columns, 2)) == '[{"nothing": null}, {"nothing": null}]'
    assert "".join(json_rows.of_table(pa.table({"a": pa.array([], pa.string())}))) == "[]"


def test_numbers_of_a_part_of_an_array():
    array = pa.array([None, 1.5, None, 2.5, 3.5] * 5)
    for start in range(12):
        part = numbers(array.slice(start, 9))
        expected = array.slice(start, 9).to_pylist()
        assert [None if math.isnan(one) else one for one in part] == expected


@pytest.mark.parametrize("replications", [1, 3])
def test_the_document_of_a_run_holds_its_rows(replications):
    results = tidegate.simulate(CHAIN, replications=replications)
    found = json.loads("".join(document(results)))
    assert found["flows"] == results.flow_rows()
    assert len(found["flows"]) == 5
    for name, rows in (("groups", results.groups()), ("links", results.link_rows())):
        flat = [
            {key: one for key, one in row.items() if key != "ci95"}
            | {f"{key}_ci95": half_width for key, half_width in row["ci95"].items()}
            for row in found[name]
        ]
        assert flat == rows.to_dicts()
        assert rows


def test_a_run_imports_no_pandas(chain, tmp_path):
    for options in ([], ["--json"], ["--out", str(tmp_path / "out")]):
        code = (
            "import sys\nfrom tidegate.cli import app\n"
            f"try: app({['run', str(chain), '--replications', '2', *options]!r})\n"
            "except SystemExit as done: assert not done.code\n"
            "sys.exit('pandas' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
