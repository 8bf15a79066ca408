"""Flows that their ceilings let go at the same moment make a flow wait that keeps to its reservation."""

import pytest

import tidegate

SCENARIO = """\
version = 1
duration = "3s"
node = [{ name = "h", kind = "host" }, { name = "s" }, { name = "d", kind = "host" }]
link = [
    { from = "h", to = "s", rate = "1gbit" },
    { from = "s", to = "d", rate = "10mbit", policy = "POLICY" },
]
[[flow]]
name = "call"
from = "h"
to = "d"
size = "1500B"
reserve = "5mbit"
start = "1s"
source = { kind = "cbr", rate = "1mbit" }
[[flow]]
name = "circuit"
count = 5
from = "h"
to = "d"
size = "1500B"
reserve = "100kbit"
ceiling = "1mbit"
source = { kind = "greedy" }
[[flow]]
name = "rest"
from = "h"
to = "d"
size = "1500B"
source = { kind = "greedy" }
"""
OWN_LINE, FRAME = 2.4e-3, 1.2e-3
"""Time of a packet at the call's reservation, and at the rate of the link."""


@pytest.mark.parametrize(
    ("policy", "waits", "is_kept"),
    [("wf2q-plus", 7.28e-3, False), ("wfq", 7.28e-3, False), ("virtual-clock", 1.28e-3, True)],
)
def test_how_long_a_reserved_flow_waits_beside_ceilings(policy: str, waits: float, is_kept: bool) -> None:
    """`check` promises no bound beside ceilings; this one would hold without them."""
    results = tidegate.simulate(SCENARIO.replace("POLICY", policy))
    [call] = [row for row in results.flows.to_pylist() if row["flow"] == "call"]
    assert call["queueing_max"] == pytest.approx(waits, abs=1e-5)
    first_link = 1500 * 8 / 1e9
    assert (call["delay_max"] <= OWN_LINE + FRAME + first_link) == is_kept
