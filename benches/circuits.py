"""Instructions of a packet of circuits: subscribers in sites with ceilings, and households."""

from __future__ import annotations

import bars
from counting import per


def circuit_rows(binary: str) -> list[list[str]]:
    """Rows of circuits."""
    return of_subscribers(binary) + of_households(binary) + of_ports(binary)


def of_subscribers(binary: str) -> list[list[str]]:
    """Rows of a packet of subscribers with ceilings in sites with ceilings."""
    sizes = ((100, 2), (20_000, 400))
    pairs = [tuple((binary, *size, packets) for packets in (20_000, 120_000)) for size in sizes]
    names = [f"a packet of one of {one:,} subscribers in {sites} sites" for one, sites in sizes]
    return bars.against_the_first(names, per(pairs, 0), bars.SUBSCRIBERS)


def of_households(binary: str) -> list[list[str]]:
    """Rows of a packet of 2,000 circuits with ten conversations each: in one queue each, and fair."""
    modes = ("one-queue", "households", "triple-isolate")
    pairs = [tuple((binary, mode, packets) for packets in (0, 200_000)) for mode in modes]
    what = "a packet of 2,000 of 20,000 circuits, ten conversations each"
    names = [f"{what}, {how}" for how in ("one queue a circuit", "fair to each", "`triple-isolate`")]
    return bars.against_the_first(names, per(pairs, 0), bars.HOUSEHOLDS)


def of_ports(binary: str) -> list[list[str]]:
    """Rows of a packet of circuits, one of which sends every second packet, from few ports or many."""
    modes, ports = {"fair to each": "households", "`triple-isolate`": "triple-isolate"}, (10, 60_000)
    rows = []
    for how, mode in modes.items():
        pairs = [tuple((binary, mode, one, packets) for packets in (0, 200_000)) for one in ports]
        names = [
            f"a packet sent beside a circuit that offers half of all from {one:,} ports, {how}"
            for one in ports
        ]
        rows += bars.against_the_first(names, per(pairs, 0), bars.PORTS)
    return rows
