"""Arrivals within everybody's contract under which a flow is as late as possible."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tidegate._tidegate import TidegateError
from tidegate.attack.contracts import TICKS, Packets, contracts
from tidegate.attack.network import routes
from tidegate.attack.pattern import Traffic
from tidegate.attack.search import Limits, Progress, Search
from tidegate.attack.trial import Trials
from tidegate.bounds import TICK, bounds, compare, complaint
from tidegate.source import LoadedScenario, ScenarioLike, Source, resolve

__all__ = ["Attack", "Sent", "attack"]

TRIES = 20_000
"""Runs of a search, unless said otherwise."""

LONGEST = 1.0
"""Seconds over which flows send for a flow without a bound, at most."""


@dataclass(frozen=True)
class Sent:
    """The packets of a flow in an attack.

    Attributes:
        flow: Its name.
        group: The group that it is a member of.
        packets: Ticks of 10 ps from the start of the run, and bytes, of each packet.
    """

    flow: str
    group: str
    packets: Packets


@dataclass(frozen=True)
class Attack:
    """The pattern of arrivals under which a flow was latest.

    Attributes:
        flow: The attacked flow.
        delay: Its largest delay under the pattern, in s.
        bound: Bound on its delay, in s; None if it has none.
        reason: Why it has none; None if it has one.
        complaint: What is wrong if the delay is above the bound by more than the rounding of times; None
            if it is not.
        tries: Runs that the search took.
        interrupted: Whether Ctrl-C ended it.
        seconds: How long a run of the pattern lasts, in s.
        fingerprint: The outcome of that run.
        pattern: What the flows with a contract send.
        others: Flows that send what the scenario says, each with the reason for which it has no
            contract.
    """

    flow: str
    delay: float
    bound: float | None
    reason: str | None
    complaint: str | None
    tries: int
    interrupted: bool
    seconds: float
    fingerprint: str
    pattern: tuple[Sent, ...]
    others: tuple[tuple[str, str], ...]

    @property
    def share(self) -> float | None:
        """The delay as a share of the bound; None without a bound."""
        return None if not self.bound else self.delay / self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON: times in s."""
        pattern = [
            {
                "flow": sent.flow,
                "group": sent.group,
                "packets": [[at / TICKS, size] for at, size in sent.packets],
            }
            for sent in self.pattern
        ]
        names = (
            "flow",
            "delay",
            "bound",
            "reason",
            "share",
            "tries",
            "interrupted",
            "seconds",
            "fingerprint",
        )
        others = [{"flow": flow, "reason": reason} for flow, reason in self.others]
        return {
            **{name: getattr(self, name) for name in names},
            "fingerprint": self.fingerprint,
            "pattern": pattern,
            "others": others,
        }


def attack(
    scenario: ScenarioLike | Source,
    flow: str,
    *,
    tries: int = TRIES,
    seconds: float | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Attack:
    """Search arrivals within all contracts for the largest delay of a flow.

    Ctrl-C ends the search, and the best pattern so far is returned. The same arguments give the same
    pattern, unless Ctrl-C or `seconds` ends the search.

    Args:
        scenario: A path, TOML text, a `tidegate.Scenario` built in Python, or what `tidegate.load`
            returned.
        flow: Name of a flow.
        tries: Most runs, at least 1.
        seconds: Most seconds of the search, above 0; None for any.
        seed: Seed of the random changes of the search.
        progress: Called with the share of the tries that is done and the largest delay so far.

    Raises:
        TidegateError: The scenario has a mistake, there is no such flow, or none of its packets
            arrives.
    """
    if tries < 1:
        raise TidegateError(f"the number of tries must be at least 1, not {tries}")
    if seconds is not None and not seconds > 0:
        raise TidegateError(f"the seconds of a search must be above 0, not {seconds:g}")
    loaded = resolve(scenario).scenario
    attacked = _index(loaded.flows, flow)
    return attack_on(loaded, attacked, bounds(loaded)[attacked], Limits(tries, seconds), seed, progress)


def attack_on(
    loaded: LoadedScenario,
    attacked: int,
    bound: Mapping[str, Any],
    limits: Limits,
    seed: int = 1,
    progress: Progress | None = None,
) -> Attack:
    """Search as `attack` does, for a flow whose bound is known.

    Args:
        loaded: The scenario.
        attacked: Index of the flow.
        bound: Its entry of `tidegate.bounds.bounds`.
        limits: When the search ends.
        seed: Seed of the random changes of the search.
        progress: Called with the share of the tries that is done and the largest delay so far.
    """
    terms = contracts(loaded)
    sends = min(loaded.duration, LONGEST) if bound["delay"] is None else bound["delay"]
    traffic = Traffic(terms, routes(loaded, attacked), attacked, round(sends * TICKS))
    is_own = terms[attacked].reason is not None
    after = loaded.duration if is_own or bound["delay"] is None else bound["delay"] * 1.01
    trials = Trials(loaded, traffic, loaded.seed, after)
    # Flows without a contract may need time until they are in the way.
    leads = [0] if len(traffic.movable) == len(terms) else [0, traffic.window]
    search = Search(traffic, trials, limits, Random(seed), leads, progress)
    interrupted = False
    try:
        search.run()
    except KeyboardInterrupt:
        interrupted = True
    best = search.best
    if best is None:
        raise KeyboardInterrupt
    return Attack(
        flow=loaded.flows[attacked],
        delay=best.delay,
        bound=bound["delay"],
        reason=bound["reason"],
        complaint=complaint([compare(bound, best.delay, best.packet_hops * TICK)]),
        tries=trials.runs,
        interrupted=interrupted,
        seconds=trials.seconds(best.packets),
        fingerprint=best.fingerprint,
        pattern=tuple(Sent(terms[ix].flow, terms[ix].group, packets) for ix, packets in best.packets.items()),
        others=tuple((one.flow, one.reason) for one in terms if one.reason is not None),
    )


def _index(flows: list[str], name: str) -> int:
    if name in flows:
        return flows.index(name)
    near = difflib.get_close_matches(name, flows, n=3)
    help_ = f"did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else f"there is {flows[0]}"
    raise TidegateError(f"there is no flow `{name}`\n  help: {help_}")
