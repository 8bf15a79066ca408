"""Random settings of a configuration: averaging interval, ICR, delays and rates. Its name is the seed.

Each is drawn evenly on a logarithmic scale, but the share that a link between switches has of the
hosts' rate, which is drawn on a linear one. `SETTINGS` of them are drawn for each configuration.
"""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidegate.maxmin import allocate
from tidegate.source import Overrides

SETTINGS = 50
"""Random settings of each configuration."""

INTERVAL = (0.2, 5.0)
"""Averaging interval in ms."""

DELAY = (0.05, 10.0)
"""Delay of a link in ms: 10 to 2000 km."""

RATE = (10.0, 100.0)
"""Rate of the hosts' links in Mbit/s."""

SHARE = (0.5, 1.0)
"""Rate of a link between switches over that of the hosts' links."""

ICR = (0.01, 1.0)
"""ICR over the rate of the slowest link."""

DURATION = (120, 400)
"""The least and the greatest length of a run in ms."""

UTILISATION = 0.9
VBR_SHARE = 0.8
"""Share of the bottleneck that VBR takes while it is on."""

MBIT = 1000
"""In kbit."""


@dataclass(frozen=True)
class Draw:
    """A random setting of a network.

    Attributes:
        sets: Overrides of the scenario.
        summary: Interval in ms, ICR in Mbit/s, longest round trip in ms, rate of the hosts' links
            in Mbit/s.
    """

    sets: Overrides
    summary: tuple[float, float, float, float]


@dataclass(frozen=True)
class Network:
    """A configuration whose settings are drawn.

    Attributes:
        scenario: Its scenario.
        bottleneck: The link that VBR shares.
    """

    scenario: Path
    bottleneck: str

    @cached_property
    def links(self) -> dict[str, tuple[str, str]]:
        """The two ends of every link, by its name."""
        links = tomllib.loads(self.scenario.read_text(encoding="utf-8"))["link"]
        return {f"{one['from']}-{one['to']}": (one["from"], one["to"]) for one in links}

    @cached_property
    def ports(self) -> list[str]:
        """The links that switches put cells on."""
        return [name for name, (begin, _) in self.links.items() if begin.startswith("sw")]

    @cached_property
    def ways(self) -> dict[str, list[str]]:
        """The links on the way of every VC."""
        vcs = tomllib.loads(self.scenario.read_text(encoding="utf-8"))["connection"]
        return {vc["name"]: self._way(vc["from"], vc["to"]) for vc in vcs}

    @cached_property
    def bursts(self) -> list[str]:
        """The flows that are VBR when it is on."""
        flows = tomllib.loads(self.scenario.read_text(encoding="utf-8")).get("flow", [])
        return [flow["name"] for flow in flows]

    def _way(self, begin: str, end: str) -> list[str]:
        """Return the links from one node to another; the networks have no circles."""
        for name, (near, far) in self.links.items():
            if near == begin:
                if far == end:
                    return [name]
                if far.startswith("sw") and (rest := self._way(far, end)):
                    return [name, *rest]
        return []

    def draws(self) -> list[Draw]:
        """Return the random settings, which are the same at every call."""
        numbers = random.Random(self.scenario.stem)
        return [self._draw(numbers) for _ in range(SETTINGS)]

    def _draw(self, numbers: random.Random) -> Draw:
        interval, base = _drawn(numbers, INTERVAL), _drawn(numbers, RATE)
        delays = {name: _drawn(numbers, DELAY) for name in self.links}
        between = {name: name.count("sw") == 2 for name in self.links}
        rates = {
            name: round(MBIT * base * (numbers.uniform(*SHARE) if between[name] else 1.0))
            for name in self.links
        }
        icr = round(min(rates.values()) * _drawn(numbers, ICR))
        trip = 2 * max(sum(delays[link] for link in way) for way in self.ways.values())
        duration = min(max(round(10 * trip + 40 * interval), DURATION[0]), DURATION[1])
        sets = [
            ("duration", f"{duration}ms"),
            ("port.rate_control.interval", f"{round(1000 * interval)}us"),
            *((f"link.{name}.delay", f"{round(1000 * delay)}us") for name, delay in delays.items()),
            *((f"link.{name}.rate", f"{rate}kbit") for name, rate in rates.items()),
            *((f"connection.{vc}.transport.icr", f"{icr}kbit") for vc in self.ways),
            *(
                (f"flow.{burst}.source.rate", f"{round(VBR_SHARE * rates[self.bottleneck])}kbit")
                for burst in self.bursts
            ),
        ]
        return Draw(sets, (interval, icr / MBIT, trip, base))

    def optima(self, rates: Mapping[str, int]) -> list[float]:
        """Return the max-min rate of every VC in Mbit/s, without VBR, from the rates of links in kbit/s.

        Ports of switches allocate their target rate; those of hosts are not controlled.
        """
        numbered = {name: number for number, name in enumerate(self.links)}
        capacities = [
            rate if name not in self.ports else round(UTILISATION * rate) for name, rate in rates.items()
        ]
        ways = [[numbered[link] for link in way] for way in self.ways.values()]
        return [rate / MBIT for rate in allocate(capacities, ways)]


def _drawn(numbers: random.Random, between: tuple[float, float]) -> float:
    return math.exp(numbers.uniform(math.log(between[0]), math.log(between[1])))
