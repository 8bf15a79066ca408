"""The allocated-capacity paper with the kernel's TCP and a gate: what was recorded, and the simulator."""

import math
import os
from pathlib import Path

import pytest

from tidegate.source import resolve
from tidegate_lab.gate_in_kernel import allocated_capacity as tables
from tidegate_lab.gate_in_kernel.allocated_capacity import EXPERIMENTS
from tidegate_lab.testbed import runs
from tidegate_lab.testbed.gated import insert
from tidegate_lab.testbed.plan import described, plan

PAGE = Path(__file__).parents[1] / "docs/linux.md"
MEASURED = 20.0
"""Measured time of the recorded runs, in s."""
SPREAD = {"newreno": 0.015, "sack": 0.0067}
"""Standard deviation of a total as a share of it, by the loss recovery: of Table I, RED, over eight draws in
the kernel, and the largest in the simulator over twelve seeds, where seven draws of Table III, RED, in the
kernel have 0.006."""

each = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)


@each
def test_totals_in_the_kernel_are_near_the_papers(experiment):
    recorded = tables.recorded()[experiment.name]
    total = recorded["kernel"]
    assert total == pytest.approx(experiment.total, rel=tables.NEAR)
    assert recorded["off"] == pytest.approx(total / experiment.total - 1)
    if experiment.max_p_out is not None:
        assert recorded["large"] > 1.5 * recorded["small"]
    figures = " | ".join(f"{recorded[name] / 1e6:.2f}" for name in ("paper", "simulator", "kernel"))
    assert f"| {experiment.name} | {figures} | {100 * recorded['off']:+.1f} % |" in PAGE.read_text()


@each
def test_totals_in_the_simulator_are_near_the_papers(experiment):
    total = sum(tables.in_simulator(experiment, MEASURED).values())
    assert total == pytest.approx(experiment.total, rel=tables.NEAR)
    assert total == pytest.approx(tables.recorded()[experiment.name]["simulator"])


def test_a_gate_stands_between_both_ends_of_the_bottleneck(tmp_path):
    experiment = EXPERIMENTS[-1]
    scenario = resolve(experiment.scenario(1.0, in_kernel=True)).scenario
    found = described(scenario)
    arrivals, _ = runs.drawn(scenario, 1, found)
    planned = plan(scenario, found, arrivals, tmp_path)
    insert(planned, found, tables.Gated(tables.BOTTLENECK, experiment.files), tmp_path)
    gated = [link for link in planned["links"] if link.get("is_gated")]
    assert [(link["from"], link["to"]) for link in gated] == [(0, 1), (1, 0)]
    assert planned["gate"]["box"] == len(planned["nodes"]) - 1 == len(found["nodes"])
    text = (tmp_path / "gate.toml").read_text()
    for flow, own in zip(found["flows"], planned["flows"], strict=True):
        if flow["name"] in [f"c{number}" for number in range(10)]:
            assert f'name = "{flow["name"]}"\nmatch = {{ inside = "{own["source_address"]}" }}' in text


@pytest.mark.skipif(not os.environ.get("TIDEGATE_VERIFY"), reason="takes minutes: set TIDEGATE_VERIFY")
@pytest.mark.usefixtures("kernel")
@each
def test_the_kernel_delivers_what_was_recorded(experiment):
    """Steps of the clock depend on where the run is on the disk, and TCP parts: two draws are compared."""
    found = sum(tables.in_kernel(experiment, MEASURED).values())
    assert found == pytest.approx(experiment.total, rel=tables.NEAR)
    apart = 3 * math.sqrt(2) * SPREAD[experiment.recovery]
    assert found == pytest.approx(tables.recorded()[experiment.name]["kernel"], rel=apart)
