"""TOML text from Python values, read back by the standard library."""

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidegate import TidegateError
from tidegate.toml import to_toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    TEXTS
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


# The speed of a machine that does other things, too, is not that of the texts.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_what_is_written_is_what_is_read(table):
    assert tomllib.loads(to_toml(table)) == table


@pytest.mark.parametrize("value", [None, 3j, b"bytes", {1, 2}])
def test_what_toml_cannot_hold_is_refused_with_its_place(value):
    with pytest.raises(TidegateError, match=r"`flow\.source\.rate`"):
        to_toml({"flow": [{"source": {"rate": value}}]})
