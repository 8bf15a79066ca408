"""Flows that their ceilings let go at the same moment do not delay one that keeps to its reservation."""

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
FIRST_LINK = 14 * 1500 * 8 / 1e9
"""Time on the first link, behind up to two packets of each flow."""


@pytest.mark.parametrize(
    ("policy", "bound"),
    [
        ("wf2q-plus", OWN_LINE + FRAME),
        ("wfq", OWN_LINE + FRAME),
        ("virtual-clock", OWN_LINE + FRAME),
        ("scfq", OWN_LINE + 6 * FRAME),
        ("sfq", FRAME + 6 * FRAME),
    ],
)
def test_a_reserved_flow_keeps_its_published_bound_beside_ceilings(policy: str, bound: float) -> None:
    """Five circuits are let go at the same moment, over and over; once they all went first, for 7.3 ms."""
    results = tidegate.simulate(SCENARIO.replace("POLICY", policy))
    [call] = [row for row in results.flows.to_pylist() if row["flow"] == "call"]
    assert call["queueing_max"] > FRAME
    assert call["delay_max"] <= FIRST_LINK + bound
