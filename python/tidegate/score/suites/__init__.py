"""The suites: their trials, and what these measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from tidegate.results import Results
from tidegate.score.measures import (
    Figures,
    of_promises,
    of_queues,
    of_shares,
    of_transfers,
    promises,
    queues,
    shares,
    transfers,
)


@dataclass(frozen=True)
class Trial:
    """A scenario, what is measured in it, and the points for that.

    Attributes:
        name: Its name; its scenario is the file of this name in the folder of its suite.
        suite: Name of its suite.
        about: What it is about, in some words.
        measure: Returns the figures of one run.
        points: Returns the points, about 0 to 1, for the figures of a policy and of FIFO.
    """

    name: str
    suite: str
    about: str
    measure: Callable[[Results], dict[str, float]]
    points: Callable[[Figures, Figures], float]

    @property
    def text(self) -> str:
        """The text of its scenario."""
        return (files(__name__) / self.suite / f"{self.name}.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Suite:
    """Trials that belong together.

    Attributes:
        name: Its name.
        about: What it is about, in some words.
        is_relative: True if figures are compared with those of FIFO.
        trials: Its trials.
    """

    name: str
    about: str
    is_relative: bool
    trials: tuple[Trial, ...]

    def trial(self, name: str) -> Trial:
        """Return a trial by its name."""
        (found,) = (one for one in self.trials if one.name == name)
        return found


def _suite(
    name: str,
    about: str,
    measure: Callable[[Results], dict[str, float]],
    points: Callable[[Figures, Figures], float],
    trials: Mapping[str, str],
    *,
    is_relative: bool = False,
) -> Suite:
    made = tuple(Trial(trial, name, what, measure, points) for trial, what in trials.items())
    return Suite(name, about, is_relative, made)


SUITES = {
    suite.name: suite
    for suite in (
        _suite(
            "aqm",
            "short queues at full links (RFC 7928)",
            of_queues,
            queues,
            {
                "one-connection": "one CUBIC connection (section 5.1.1)",
                "ten-connections": "ten CUBIC connections (section 5.1.1)",
                "unresponsive": "a source that does not slow down, at 30 % of the link (section 5.3)",
                "round-trips": "round trips of 20 and of 200 ms (section 6)",
                "bursts": "transfers that begin with bursts of ten packets (section 7)",
                "varying": "from one to twenty connections and back (section 8)",
            },
            is_relative=True,
        ),
        _suite(
            "fair",
            "max-min fair shares",
            of_shares,
            shares,
            {
                "round-trips": "connections with round trips of 10 to 160 ms",
                "congestion": "Reno, CUBIC and DCTCP beside each other",
                "flood": "connections beside a source that sends at twice the link's rate",
                "parking-lot": "a connection over three links, one connection on each",
            },
        ),
        _suite(
            "fct",
            "completion times of transfers",
            of_transfers,
            transfers,
            {
                "web-search": "sizes of web search, at 60 % of the link",
                "hadoop": "sizes of Hadoop, at 60 % of the link",
                "beside-bulk": "short transfers beside two endless ones",
            },
        ),
        _suite(
            "guarantee",
            "delays of flows that keep to their reservations",
            of_promises,
            promises,
            {
                "flood": "beside datagrams at twice the link's rate",
                "offender": "beside a reserved flow that sends three times what it reserves",
                "three-hops": "over three links, each with other traffic",
            },
            is_relative=True,
        ),
    )
}
