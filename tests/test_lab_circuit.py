"""A household's call beside its own transfers: what was recorded in the kernel, and the page with it."""

import os
from pathlib import Path

import pytest

from tidegate_lab.gate_in_kernel import circuit
from tidegate_lab.testbed.gated import FILE, Ends

PAGE = Path(__file__).parents[1] / "docs/subscribers.md"
MEASURED = 20.0
"""Measured time of the recorded runs, in s."""


def cells(row: dict[str, float]) -> str:
    """Return the row of the page's table."""
    shown = []
    for direction in circuit.RATES:
        waits = (1e3 * row[f"{direction}_{name}"] for name in ("p99", "most"))
        rates = (row[f"{direction}_{name}"] / 1e6 for name in ("goodput", "least"))
        shown += [*(f"{one:.2f}" for one in waits), f"{row[f'{direction}_lost']:.0f}"]
        shown += [f"{one:.2f}" for one in rates]
    return f"| {row['name']} | {' | '.join(shown)} |"


def test_the_page_shows_what_was_recorded() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert list(circuit.recorded()) == list(circuit.WAYS)
    for row in circuit.recorded().values():
        assert cells(row) in page


@pytest.mark.parametrize("direction", circuit.RATES)
def test_the_gate_keeps_the_call_from_waiting_and_divides_the_rest(direction: str) -> None:
    gate = circuit.recorded()[circuit.GATE]
    rate = circuit.RATES[direction] * 1e6
    assert gate[f"{direction}_lost"] == 0
    assert gate[f"{direction}_p99"] <= circuit.FRAME * 8 / rate + circuit.MORE
    # Acknowledgements of the other direction take some of the rate.
    assert 0.8 * rate < gate[f"{direction}_goodput"] < rate
    fair = gate[f"{direction}_goodput"] / circuit.COUNT
    assert gate[f"{direction}_least"] > 0.9 * fair


def test_all_addresses_of_the_household_are_in_its_circuit() -> None:
    ends = {
        "call-up": Ends("10.64.0.1", "10.0.0.1"),
        "call-down": Ends("10.64.0.2", "10.0.0.2"),
        "up-1": Ends("10.0.0.4", "10.0.0.3"),
        "up-1/ack": Ends("10.0.0.3", "10.0.0.4"),
        "down-1": Ends("10.0.0.6", "10.0.0.5"),
        "down-1/ack": Ends("10.0.0.5", "10.0.0.6"),
    }
    files = circuit.files(ends)
    assert 'circuits = "circuits.csv"' in files[FILE]
    assert files["circuits.csv"].splitlines()[1].split(",")[1] == "10.64.0.1 10.0.0.2 10.0.0.4 10.0.0.5"


@pytest.mark.skipif(not os.environ.get("TIDEGATE_VERIFY"), reason="takes minutes: set TIDEGATE_VERIFY")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("way", circuit.WAYS)
def test_the_kernel_does_what_was_recorded(way: str) -> None:
    """Steps of the clock depend on where the run is on the disk, and TCP parts: two draws are compared."""
    found, before = circuit.run(way, MEASURED).figures, circuit.recorded()[way]
    for direction in circuit.RATES:
        assert found[f"{direction}_goodput"] == pytest.approx(before[f"{direction}_goodput"], rel=0.02)
        if way != "HTB, FIFO":
            assert found[f"{direction}_lost"] == 0
            assert found[f"{direction}_p99"] == pytest.approx(before[f"{direction}_p99"], abs=1e-3)
