"""Fairness among hosts: the kernel's CAKE, a port of the simulator, and the shares that theory gives.

Flows between hosts of both sides send more than a port carries, or less where a case says so. What each
has while all others wait is compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate_lab.testbed import one_port, runs
from tidegate_lab.testbed.one_port import RATE, Port
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    import numpy as np

    from tidegate_lab.uml.build import Kernel

QUANTUM = 1514
"""Bytes of a turn that nothing divides, in CAKE without a rate as in the simulator."""
SIZES = (1514, 1000, 576, 300)
"""Sizes of packets: the first flow's, the second's and so on."""
UNTIL = 2.5
"""End of a run, in s: until then flows that ask for more than their shares wait."""
AT_ONCE = 30
"""Packets with which a flow begins."""
LOAD = 1.5
"""Load of a flow, as a multiple of its share."""
LATE = 0.02
"""Start of a flow with a load of its own, in s: all others wait by then."""
SEED = 1
RECORDED = Path(__file__).with_name("hosts_recorded.json")
"""Bytes of each flow in the kernel, with this seed."""

Ends = tuple[int, int]
"""Numbers of the source host and of the destination host of a flow."""


@dataclass(frozen=True)
class Isolation:
    """Hosts that are to have equal parts.

    Attributes:
        sides: The sides that have them: 0 for sources, 1 for destinations.
        policy: The port of the simulator.
        is_divided: The quantum of a flow is divided by the number of those of its host.
    """

    sides: tuple[int, ...]
    policy: str
    is_divided: bool = False

    def keys(self, ends: Ends) -> str:
        """Return the keys of a flow of the simulator that say which hosts it has."""
        names = ("host", "peer")
        return "".join(f"{name} = {ends[side]}\n" for name, side in zip(names, self.sides, strict=False))


ISOLATIONS = {
    "flows": Isolation((), '"drr++"'),
    "dual-srchost": Isolation((0,), '"host-drr++"'),
    "dual-dsthost": Isolation((1,), '"host-drr++"'),
    "triple-isolate": Isolation((0, 1), '"triple-isolate"', is_divided=True),
}
"""By the words of CAKE."""


@dataclass(frozen=True)
class Case:
    """Flows between hosts.

    Attributes:
        isolation: The word of CAKE for it.
        groups: The ends of flows, in groups that are shown together.
        loads: Loads of the flows of the last group, as shares of the link; those of others are more than
            they get.
    """

    isolation: str
    groups: Mapping[str, Sequence[Ends]]
    loads: tuple[float, ...] = ()

    @property
    def ends(self) -> list[Ends]:
        """The ends of all flows."""
        return [ends for group in self.groups.values() for ends in group]

    def asked(self) -> list[float | None]:
        """Return the load of each flow that has one, as a share of what passes the link in a run."""
        others = len(self.ends) - len(self.loads)
        return [None] * others + [load * (1 - LATE / UNTIL) for load in self.loads]

    def shares(self) -> list[float]:
        """Return the share of the link that theory gives each flow.

        A flow that asks for less than its part has that. The others divide the rest in proportion to
        1 / (number of those of its host), of the host that has more: equal parts for hosts, and in them
        for flows.
        """
        asked, ends = self.asked(), self.ends
        shares = [0.0] * len(ends)
        waiting = set(range(len(ends)))
        sides = ISOLATIONS[self.isolation].sides
        while True:
            weights = {
                at: 1
                / max(
                    (sum(ends[other][side] == ends[at][side] for other in waiting) for side in sides),
                    default=1,
                )
                for at in waiting
            }
            rest = 1 - sum(shares[at] for at in range(len(ends)) if at not in waiting)
            for at in waiting:
                shares[at] = rest * weights[at] / sum(weights.values())
            content = {at: load for at in waiting if (load := asked[at]) is not None and load <= shares[at]}
            if not content:
                return shares
            for at, load in content.items():
                shares[at] = load
            waiting -= set(content)

    def bars(self) -> list[float]:
        """Return how far the bytes of each flow may be from its share.

        A flow has its quantum in each round, but for a packet and a quantum; the number of rounds is the
        same for all, but for one. The first quantum is one that nothing divides, and one packet may start
        before the others have come. The bytes of all flows, from which a share is taken, have the sum
        of these differences.
        """
        shares = self.shares()
        is_divided = ISOLATIONS[self.isolation].is_divided
        greatest = max(shares)
        each = [
            2 * size + QUANTUM * (1 + 2 * (share / greatest if is_divided else 1))
            for share, size in zip(shares, self.sizes(), strict=True)
        ]
        return [own + share * sum(each) for own, share in zip(each, shares, strict=True)]

    def sizes(self) -> list[int]:
        """Return the size of each flow's packets."""
        return [SIZES[at % len(SIZES)] for at in range(len(self.ends))]

    def packets(self, seed: int) -> list[np.ndarray]:
        """Return the packets of each flow: times in ns and sizes in bytes."""
        import numpy as np

        made = []
        loads = [None] * (len(self.ends) - len(self.loads)) + [*self.loads]
        for number, (share, load, size) in enumerate(zip(self.shares(), loads, self.sizes(), strict=True)):
            rate = RATE / 8 / size * (share * LOAD if load is None else load)
            if load is None:
                gaps = np.random.default_rng((seed, number)).exponential(1 / rate, round(rate * UNTIL))
                gaps[:AT_ONCE] = 0
            else:
                # It sends evenly, and all others wait when it begins.
                gaps = np.full(round(rate * (UNTIL - LATE)), 1 / rate)
                gaps[0] = LATE
            times = np.cumsum(np.rint(gaps * 1e9).astype(np.int64) + 1) + number
            made.append(np.column_stack((times, np.full(len(times), size))))
        return made


def fan_out(source: int, first: int, count: int) -> list[Ends]:
    """Return flows of one source to several destinations."""
    return [(source, first + other) for other in range(count)]


def fan_in(destination: int, first: int, count: int) -> list[Ends]:
    """Return flows of several sources to one destination."""
    return [(first + other, destination) for other in range(count)]


def at_random(seed: int) -> list[Ends]:
    """Return flows between two to six hosts on each side, drawn at random."""
    import numpy as np

    rng = np.random.default_rng(seed)
    most = rng.integers(2, 7, 2)
    return [
        (int(source), int(destination)) for source, destination in rng.integers(most, size=(8 + 4 * seed, 2))
    ]


PAIR = [(100, 100)]
ONE_TO_MANY = {"one to ten": fan_out(1, 1, 10), "a pair": PAIR}
MANY_TO_ONE = {"ten to one": fan_in(1, 1, 10), "a pair": PAIR}
CASES = {
    "eight flows of a pair": Case("triple-isolate", {"eight of a pair": [(1, 1)] * 8, "a pair": PAIR}),
    "one to many": Case("triple-isolate", ONE_TO_MANY),
    "many to one": Case("triple-isolate", MANY_TO_ONE),
    "both": Case(
        "triple-isolate",
        {"one to eight": fan_out(1, 1, 8), "eight to one": fan_in(50, 50, 8), "a pair": PAIR},
    ),
    "two to four each": Case(
        "triple-isolate", {"one to four": fan_out(1, 1, 4), "one to the same four": fan_out(2, 1, 4)}
    ),
    "two to one that is busy": Case(
        "triple-isolate",
        {"two of a pair": [(1, 1)] * 2, "eight to the same": fan_in(1, 50, 8), "a pair": PAIR},
    ),
    "one that asks for less": Case(
        "triple-isolate",
        {"one to eight": fan_out(1, 1, 8), "a pair": PAIR, "a pair of 5 %": [(101, 101)]},
        loads=(0.05,),
    ),
    "one packet at a time": Case(
        "triple-isolate",
        {"23 pairs": [(host, host) for host in range(23)], "a pair of 12 %": [(101, 101)]},
        loads=(0.12,),
    ),
    **{f"at random {seed}": Case("triple-isolate", {"all": at_random(seed)}) for seed in range(1, 5)},
    "one to many, by source": Case("dual-srchost", ONE_TO_MANY),
    "many to one, by source": Case("dual-srchost", MANY_TO_ONE),
    "at random, by source": Case("dual-srchost", {"all": at_random(4)}),
    "one to many, by destination": Case("dual-dsthost", ONE_TO_MANY),
    "many to one, by destination": Case("dual-dsthost", MANY_TO_ONE),
    "at random, by destination": Case("dual-dsthost", {"all": at_random(4)}),
    "one to many, by flow": Case("flows", ONE_TO_MANY),
}
"""Cases by name."""


def in_simulator(case: Case, seed: int = SEED, policy: Port | None = None) -> list[int]:
    """Return the bytes that each flow of a case has had in the simulator.

    Args:
        case: The case.
        seed: Seed of the packets.
        policy: The port, and the keys of its flows; by default those of the case's isolation.
    """
    import tidegate

    isolation = ISOLATIONS[case.isolation]
    own = Port(isolation.policy, flows=tuple(map(isolation.keys, case.ends)))
    with machine.workspace() as place:
        source = one_port.scenario(place, policy or own, case.packets(seed), in_kernel=False, until=UNTIL)
        results = tidegate.simulate(source.scenario, seed=seed)
    return [row["received_bytes"] for row in results.flows.to_pylist()]


def in_kernel(
    kernel: Kernel, case: Case, seed: int = SEED, progress: Callable[[float], None] | None = None
) -> list[int]:
    """Return the bytes that each flow of a case has had in the kernel.

    Raises:
        TidegateError: The kernel failed.
    """
    # Without CoDel, which would act on queues as long as these.
    cake = f"cake unlimited besteffort {case.isolation} raw rtt 1000s memlimit 1gb"
    with machine.workspace() as place:
        source = one_port.scenario(place, Port(), case.packets(seed), in_kernel=True, until=UNTIL)
        outcome = runs.run_once(
            kernel,
            source,
            seed,
            0,
            progress,
            qdiscs={one_port.LINK: [f"qdisc add dev @ parent 1:1 handle 10: {cake}"]},
            ends=case.ends,
        )
    return [int(row["received_bytes"]) for row in outcome.tables["flows"].to_pylist()]


@dataclass(frozen=True)
class Compared:
    """A case in the simulator and in the kernel: shares of the link, in the order of its flows.

    Attributes:
        simulator: What the flows have had in the simulator, as shares of what all have had.
        kernel: What they have had in the kernel.
        apart: The greatest difference between both, between the simulator and theory, and between the
            kernel and theory, each as a part of what it may be.
    """

    simulator: list[float]
    kernel: list[float]
    apart: tuple[float, float, float]

    @property
    def holds(self) -> bool:
        """True if no difference is greater than it may be."""
        return max(self.apart) <= 1

    def groups(self, case: Case) -> Iterator[tuple[str, float, float, float]]:
        """Yield each group of the case, and its share by theory, in the simulator and in the kernel.

        A single group is shown by the flows with the least and the greatest share.
        """
        shares, first = case.shares(), 0
        if len(case.groups) == 1:
            for word, chosen in (("the least", min), ("the greatest", max)):
                at = chosen(range(len(shares)), key=shares.__getitem__)
                yield f"{word} of {len(shares)}", shares[at], self.simulator[at], self.kernel[at]
            return
        for name, ends in case.groups.items():
            own = slice(first, first + len(ends))
            yield name, sum(shares[own]), sum(self.simulator[own]), sum(self.kernel[own])
            first += len(ends)

    def most(self, case: Case) -> float:
        """Return the greatest difference of a flow between simulator and kernel, as a part of its share."""
        flows = zip(case.shares(), self.simulator, self.kernel, strict=True)
        return max(abs(ours - kernel) / share for share, ours, kernel in flows)


def judge(case: Case, ours: Sequence[int], kernel: Sequence[int]) -> Compared:
    """Compare the bytes that the flows of a case have had."""
    shares, bars = case.shares(), case.bars()
    both = [[own / sum(one) for own in one] for one in (ours, kernel)]
    all_bytes = max(sum(ours), sum(kernel))

    def apart(one: Sequence[float], other: Sequence[float], factor: int) -> float:
        return max(
            abs(mine - theirs) * all_bytes / (factor * bar)
            for mine, theirs, bar in zip(one, other, bars, strict=True)
        )

    differences = (apart(both[0], both[1], 2), apart(both[0], shares, 1), apart(both[1], shares, 1))
    return Compared(both[0], both[1], differences)


def recorded() -> dict[str, list[int]]:
    """Return what the flows of each case have had in the kernel, in bytes."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {row["case"]: row["bytes"] for row in document["cases"]}


def record(kernel: Mapping[str, Sequence[int]]) -> str:
    """Return what `recorded` reads."""
    rows: list[dict[str, Any]] = [
        {"case": name, "bytes": list(kernel[name])} for name in CASES if name in kernel
    ]
    return json.dumps({"cases": rows}) + "\n"


def compare(
    kernel: Callable[[str, Case, Callable[[float], None]], Sequence[int]],
    chosen: Mapping[str, Case],
    progress: Callable[[float], None] | None = None,
) -> Iterator[tuple[str, Sequence[int], Compared]]:
    """Yield each case's name, the bytes of its flows in the kernel, and what was compared.

    Args:
        kernel: Returns the bytes of a case's flows in the kernel.
        chosen: Cases by name.
        progress: Called with the share that is done.
    """
    for number, (name, case) in enumerate(chosen.items()):

        def tell(share: float, number: int = number) -> None:
            if progress is not None:
                progress((number + share) / len(chosen))

        there = kernel(name, case, tell)
        yield name, there, judge(case, in_simulator(case), there)
        tell(1.0)
