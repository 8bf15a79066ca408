"""Records what a port in the kernel did with packets, for a port of the simulator to follow it.

A record has the times at which packets reached the port and at which they left it, in steps of the
kernel's clock, as `tidegate_core::lockstep` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tidegate_lab.testbed import one_port, runs
from tidegate_lab.testbed.network import CLOCK_STEP
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    import numpy as np

    from tidegate_lab.uml.build import Kernel

PORT = "r->d"
"""The link behind the port."""
POLICIES = {
    "fifo": ('"fifo"', "100p"),
    "strict-priority": ('"strict-priority"', "1000000p"),
    "drr": ('{ scheduler = { kind = "drr", form = "linux" } }', "1000000p"),
    "codel": ('{ dropper = { kind = "codel", form = "linux" } }', "1000000p"),
    "fq-codel": ('{ policy = { kind = "fq-codel", form = "linux" } }', "1000000p"),
}
"""Policies that agree with the kernel, with the memory of the switch."""
LEFT_OUT = 0.5
"""Time at the end of a run of which no packet is recorded, in s: packets may still wait then."""


def record(
    kernel: Kernel,
    policy: str,
    buffer: str,
    packets: list[np.ndarray],
    seed: int,
    progress: Callable[[float], None] | None = None,
    qdisc: list[str] | None = None,
) -> str:
    """Record a port of the kernel.

    Args:
        kernel: The kernel.
        policy: The policy of the port, as in a scenario.
        buffer: The memory of the switch.
        packets: Times in ns and sizes in bytes, for each flow.
        seed: Seed of the kernel.
        progress: Called with the share of the run that is done.
        qdisc: The commands for the port, in place of those for its policy.
    """
    import numpy as np

    end = one_port.duration(packets)
    with machine.workspace() as place:
        one_port.write(place / "sent.csv", packets)
        source = one_port.scenario(place, "sent.csv", policy, buffer, end, access=True)
        outcome = runs.run_once(
            kernel, source, seed, 0, progress, qdiscs=None if qdisc is None else {PORT: qdisc}
        )
    rows = []
    for flow in range(len(packets)):
        own = outcome.flows[f"f{flow}"]
        known = own.arrived[1] < (end - LEFT_OUT) * 1e9
        flows = np.full(known.sum(), flow)
        columns = (own.arrived[1], flows, own.length, own.started[1], own.is_marked)
        rows.append(np.column_stack([column if column is flows else column[known] for column in columns]))
    table = np.concatenate(rows)
    table = table[np.argsort(table[:, 0], kind="stable")]
    steps = (table[:, 0] + outcome.clock) // CLOCK_STEP
    waited = (table[:, 3] + outcome.clock) // CLOCK_STEP - steps
    fates = [
        "x" if start < 0 else f"{wait}{'m' * bool(mark)}"
        for start, wait, mark in zip(table[:, 3].tolist(), waited.tolist(), table[:, 4].tolist(), strict=True)
    ]
    head = [f"# Linux {kernel.version}: {line}" for line in outcome.qdiscs[PORT]]
    gaps = np.diff(steps, prepend=steps[0])
    lines = [
        f"{gap} {flow} {length} {'ecn' if one_port.ECN[flow % 2] == 'on' else '-'} {fate}"
        for gap, flow, length, fate in zip(
            gaps.tolist(), table[:, 1].tolist(), table[:, 2].tolist(), fates, strict=True
        )
    ]
    return "\n".join([*head, f"start {steps[0]}", *lines, ""])


def compare(
    kernel: Kernel, count: int, seed: int, progress: Callable[[float], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what the kernel's and the simulator's ports did with the same packets, for each policy."""
    packets = one_port.arrivals(count, seed)
    for done, (name, (policy, buffer)) in enumerate(POLICIES.items()):

        def tell(share: float, done: int = done) -> None:
            if progress is not None:
                progress((done + share) / len(POLICIES))

        text = record(kernel, policy, buffer, packets, seed, tell)
        with machine.workspace() as place:
            one_port.write(place / "sent.csv", packets)
            source = one_port.scenario(
                place, "sent.csv", policy, buffer, one_port.duration(packets), access=False
            )
            yield {"policy": name, **source.scenario.lockstep(0, text)}
