"""Records what a port in the kernel did with packets, for a port of the simulator to follow it.

A record has the times at which packets reached the port and at which they left it, in steps of the
kernel's clock, as `tidegate_core::lockstep` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tidegate_lab.testbed import one_port, runs
from tidegate_lab.testbed.network import CLOCK_STEP
from tidegate_lab.testbed.one_port import Port
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    import numpy as np

    from tidegate_lab.uml.build import Kernel

SHAPED = f"{one_port.SHAPED}bit"
BURST = 3000
"""Depth of the token bucket, in bytes."""
AHEAD = 4
"""Depth of a ceiling's bucket in the kernel, in bytes: somewhat more than its clock is late."""
CEILINGS = (3, 6, 9, 14)
"""Ceilings of classes below one of the rate `SHAPED`, in Mbit/s."""
CEILING_BURST = 6000
"""Depth of the buckets of these ceilings, in bytes."""
WITHIN_A_MINUTE = 200_000
"""Packets of a run that ends before each class may send by its own rate again, past the ceiling above it:
HTB takes no class to owe more than a minute."""
ROOT = "qdisc add dev @ parent 1:1 handle 10:"


def _classes() -> Port:
    """Return classes under ceilings, the first the most urgent, within a class under a ceiling."""
    text = (
        f'[[class]]\nname = "all"\nscheduler = "strict-priority"\nceiling = "{SHAPED}"\n'
        f'ceiling_burst = "{AHEAD}B"\n'
    )
    made = [
        f"{ROOT} htb default 1",
        f"class add dev @ parent 10: classid 10:1 htb rate {SHAPED} ceil {SHAPED} "
        f"burst {AHEAD} cburst {AHEAD} quantum 60000",
    ]
    for number, ceiling in enumerate(CEILINGS):
        text += (
            f'[[class]]\nname = "c{number}"\nparent = "all"\nscheduler = "fifo"\npriority = {number}\n'
            f'ceiling = "{ceiling}mbit"\nceiling_burst = "{CEILING_BURST}B"\n'
        )
        made += [
            f"class add dev @ parent 10:1 classid 10:1{number} htb prio {number} rate 8bit "
            f"ceil {ceiling}mbit burst 1 cburst {CEILING_BURST} quantum 60000",
            f"qdisc add dev @ parent 10:1{number} pfifo limit 1000000",
            f"filter add dev @ parent 10: protocol ip prio 1 u32 match ip dst 10.0.0.{number + 1}/32 "
            f"flowid 10:1{number}",
        ]
    return Port(
        classes=text,
        flows=tuple(f'class = "c{number}"\n' for number in range(len(CEILINGS))),
        qdisc=tuple(made),
        is_led=True,
        slower=one_port.SLOWER,
        most=WITHIN_A_MINUTE,
    )


POLICIES = {
    "fifo": Port(buffer="100p"),
    "strict-priority": Port('"strict-priority"'),
    "drr": Port('{ scheduler = { kind = "drr", form = "linux" } }'),
    "codel": Port('{ dropper = { kind = "codel", form = "linux" } }'),
    "fq-codel": Port('{ policy = { kind = "fq-codel", form = "linux" } }'),
    "tbf": Port(
        flows=(f'envelope = {{ rate = "{SHAPED}", burst = "{BURST}B" }}\n',),
        qdisc=(f"{ROOT} tbf rate {SHAPED} burst {BURST} limit 100000000",),
        is_one_flow=True,
        slower=one_port.SLOWER,
    ),
    "htb": Port(
        link=f', ceiling = "{SHAPED}"',
        qdisc=(
            f"{ROOT} htb default 1",
            f"class add dev @ parent 10: classid 10:1 htb rate {SHAPED} ceil {SHAPED} "
            f"burst {AHEAD} cburst {AHEAD} quantum 60000",
            "qdisc add dev @ parent 10:1 pfifo limit 1000000",
        ),
        slower=one_port.SLOWER,
    ),
    "htb-classes": _classes(),
    "cake": Port(
        link=f', ceiling = "{SHAPED}"',
        qdisc=(f"{ROOT} cake bandwidth {SHAPED} besteffort flowblind raw rtt 1000s memlimit 1gb",),
        slower=one_port.SLOWER,
    ),
}
"""Policies that agree with the kernel, by the names of their records."""


def record(
    kernel: Kernel,
    port: Port,
    packets: list[np.ndarray],
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> str:
    """Record a port of the kernel.

    Args:
        kernel: The kernel.
        port: The port.
        packets: An arrival process: times in ns and sizes in bytes, for each flow.
        seed: Seed of the kernel.
        progress: Called with the share of the run that is done.
    """
    import numpy as np

    sent = port.sent(packets)
    with machine.workspace() as place:
        source = one_port.scenario(place, port, sent, in_kernel=True)
        outcome = runs.run_once(
            kernel, source, seed, 0, progress, qdiscs={one_port.LINK: [*port.qdisc]} if port.qdisc else None
        )
    rows = []
    for flow in range(len(sent)):
        own = outcome.flows[f"f{flow}"]
        flows = np.full(len(own.length), flow)
        rows.append(np.column_stack((own.arrived[1], flows, own.length, own.started[1], own.is_marked)))
    table = np.concatenate(rows)
    table = table[np.argsort(table[:, 0], kind="stable")]
    steps = (table[:, 0] + outcome.clock) // CLOCK_STEP
    waited = (table[:, 3] + outcome.clock) // CLOCK_STEP - steps
    fates = [
        "x" if start < 0 else f"{wait}{'m' * bool(mark)}"
        for start, wait, mark in zip(table[:, 3].tolist(), waited.tolist(), table[:, 4].tolist(), strict=True)
    ]
    head = [f"# Linux {kernel.version}: {line}" for line in outcome.qdiscs[one_port.LINK]]
    gaps = np.diff(steps, prepend=steps[0])
    lines = [
        f"{gap} {flow} {length} {'ecn' if one_port.ECN[flow % 2] == 'on' else '-'} {fate}"
        for gap, flow, length, fate in zip(
            gaps.tolist(), table[:, 1].tolist(), table[:, 2].tolist(), fates, strict=True
        )
    ]
    return "\n".join([*head, f"start {steps[0]}", *lines, ""])


def follow(port: Port, packets: list[np.ndarray], text: str) -> dict[str, Any]:
    """Send the packets of a record through a port of the simulator; return what both did with them."""
    with machine.workspace() as place:
        source = one_port.scenario(place, port, port.sent(packets), in_kernel=False)
        found: dict[str, Any] = source.scenario.lockstep(0, text)
    return found


def compare(
    kernel: Kernel,
    count: int,
    seed: int,
    chosen: Mapping[str, Port] = POLICIES,
    progress: Callable[[float], None] | None = None,
) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Yield each policy's name, the records of its runs, and what the kernel and the simulator did."""
    runs_of = {name: _counts(count, port.most) for name, port in chosen.items()}
    total, done = sum(map(sum, runs_of.values())), 0
    for name, port in chosen.items():
        texts, rows = [], []
        for number, own in enumerate(runs_of[name]):

            def tell(share: float, done: int = done, own: int = own) -> None:
                if progress is not None:
                    progress((done + share * own) / total)

            packets = one_port.arrivals(own, seed + number)
            texts.append(record(kernel, port, packets, seed + number, tell))
            rows.append(follow(port, packets, texts[-1]))
            done += own
        yield name, texts, {"policy": name, **_sum(rows)}


def _counts(count: int, most: int | None) -> list[int]:
    """Divide packets into runs of so many at most."""
    runs_needed = 1 if most is None else -(-count // most)
    return [count // runs_needed + (number < count % runs_needed) for number in range(runs_needed)]


def _sum(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of several runs together."""
    return {
        "packets": sum(row["packets"] for row in rows),
        "dropped": tuple(sum(row["dropped"][side] for row in rows) for side in (0, 1)),
        "marked": tuple(sum(row["marked"][side] for row in rows) for side in (0, 1)),
        "differing": sum(row["differing"] for row in rows),
        "apart": max(row["apart"] for row in rows),
    }
