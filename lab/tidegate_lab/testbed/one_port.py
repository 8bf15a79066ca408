"""An arrival process, and the scenario of one port of a switch that it passes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import commands

if TYPE_CHECKING:
    import numpy as np

    from tidegate.backends import Source

LINK = "r->d"
"""The link behind the port."""
RATE = 31_250_000
"""Rate of the link behind the port, in bit/s: a byte takes a step of the kernel's clock."""
SHAPED = 25_000_000
"""Rate of shapers and ceilings of the port, in bit/s."""
SLOWER = RATE / SHAPED
"""The factor on times of arrivals for which these are as busy as the link would be without them."""
ACCESS = 10_000_000_000
LEVELS = 8
"""Levels of urgency, of which each flow has the next one."""
FLOWS = 4
"""Flows of the process; every second one is ECN-capable."""
ECN = ("on", "off")
SIZES = (100, 576, 1000, 1514)
MEAN_GAP = 167e-6
"""Mean time between packets outside of pauses, in s: somewhat more than the link carries."""
PAUSES = (0.0004, 16e-3)
"""Share of packets after a pause, and the pause's mean, in s."""
TURNS = (0.05, 2.0)
"""Mean time for which the load is steady, in s, and the greatest factor on it."""
LEAD = 10_000_000
"""Time between packets that come before all others, in ns."""
UNLIMITED = "1000000p"
"""Memory of a switch that is never full."""


@dataclass(frozen=True)
class Port:
    """A port, as keys of a scenario.

    Attributes:
        policy: The key `port`.
        buffer: The memory of the switch.
        link: Further keys of the link.
        flows: Further keys of each flow.
        classes: Classes.
        qdisc: The kernel's commands for the port, if `link`, `flows` or `classes` have what is not
            carried over from a scenario.
        is_one_flow: All packets are one flow's.
        is_led: A packet of each flow, alone, comes before all others.
        slower: A factor on the times of arrivals.
        most: The most packets of one run; None for any number.
    """

    policy: str = '"fifo"'
    buffer: str = UNLIMITED
    link: str = ""
    flows: tuple[str, ...] = ()
    classes: str = ""
    qdisc: tuple[str, ...] = ()
    is_one_flow: bool = False
    is_led: bool = False
    slower: float = 1.0
    most: int | None = None

    def sent(self, packets: list[np.ndarray]) -> list[np.ndarray]:
        """Return the packets of each flow of the port, of those of an arrival process."""
        import numpy as np

        flows = [joined(packets)[:, :2]] if self.is_one_flow else packets
        made = []
        for number, flow in enumerate(flows):
            times = np.rint(flow[:, 0] * self.slower).astype(np.int64)
            own = np.column_stack((times, flow[:, 1]))
            if self.is_led:
                own[:, 0] += LEAD * (len(flows) + 1)
                own = np.concatenate(([[LEAD * (number + 1), SIZES[-1]]], own))
            made.append(own)
        return made


def arrivals(count: int, seed: int) -> list[np.ndarray]:
    """Return an arrival process: for each flow, times in ns and sizes in bytes.

    Sizes are mixed, the load turns between a half and twice the link's, and there are pauses.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    gaps = rng.exponential(MEAN_GAP, count)
    lasts, factor = TURNS
    turn = np.cumsum(gaps) // lasts
    gaps *= rng.uniform(1 / factor, factor, int(turn[-1]) + 1)[turn.astype(int)]
    share, mean = PAUSES
    paused = rng.random(count) < share
    gaps[paused] += rng.exponential(mean, paused.sum())
    times = np.cumsum(np.rint(gaps * 1e9).astype(np.int64) + 1)
    sizes = rng.choice(SIZES, count)
    flows = rng.choice(FLOWS, count, p=(0.1, 0.2, 0.3, 0.4))
    return [np.column_stack((times[flows == flow], sizes[flows == flow])) for flow in range(FLOWS)]


def joined(packets: list[np.ndarray]) -> np.ndarray:
    """Return the packets of all flows in order of time: rows of time, size and flow."""
    import numpy as np

    rows = np.concatenate(
        [np.column_stack((own, np.full(len(own), flow))) for flow, own in enumerate(packets)]
    )
    return rows[np.argsort(rows[:, 0], kind="stable")]


def duration(packets: list[np.ndarray]) -> float:
    """Return the duration of a run in which these packets leave a port of the rate `SHAPED`, in s."""
    import numpy as np

    rows = joined(packets)
    sent = np.cumsum(rows[:, 1]) * 8 / SHAPED
    began = rows[:, 0] * 1e-9 - np.concatenate(([0.0], sent[:-1]))
    return float(began.max() + sent[-1]) + 1.0


def write(file: Path, packets: list[np.ndarray]) -> None:
    """Write packets as the source `trace` reads them."""
    with file.open("w", encoding="utf-8") as text:
        text.write("time,size,flow\n")
        text.writelines(
            f"{time // 10**9}.{time % 10**9:09d},{size},{flow}\n"
            for time, size, flow in joined(packets).tolist()
        )


def scenario(
    place: Path,
    port: Port,
    packets: list[np.ndarray],
    *,
    in_kernel: bool,
    until: float | None = None,
) -> Source:
    """Return the scenario of one port that these packets pass.

    Args:
        place: A folder for its files.
        port: The port.
        packets: Times in ns and sizes in bytes, for each flow.
        in_kernel: A fast link stands in front of the port, and what the kernel's commands stand for
            is left out.
        until: End of the run, in s; by default all packets have left by then.
    """
    write(place / "sent.csv", packets)
    keys = ("",) * len(packets) if in_kernel or not port.flows else port.flows
    links = f'link = [{{ from = "r", to = "d", rate = "{RATE}bit", duplex = false'
    links += " }" if in_kernel else f"{port.link} }}"
    if in_kernel:
        links += f', {{ from = "h", to = "r", rate = "{ACCESS}bit", duplex = false, policy = "fifo" }}'
    names = [*(["h"] if in_kernel else []), "r", "d"]
    kinds = {"r": "switch"}
    nodes = "".join(f'[[node]]\nname = "{name}"\nkind = "{kinds.get(name, "host")}"\n' for name in names)
    flows = "".join(
        f'[[flow]]\nname = "f{flow}"\nfrom = "{names[0]}"\nto = "d"\necn = "{ECN[flow % 2]}"\n'
        f"priority = {flow % LEVELS}\n{keys[flow]}"
        f'source = {{ kind = "trace", file = "sent.csv", flow = "{flow}" }}\n'
        for flow in range(len(packets))
    )
    end = duration(packets) if until is None else until
    head = (
        f'version = 1\nduration = "{end:.6f}s"\nport = {port.policy}\n'
        f'switch = {{ buffer = "{port.buffer}" }}\n'
    )
    described = place / "one-port.toml"
    classes = "" if in_kernel else port.classes
    described.write_text(f"{head}{links}]\n{nodes}{classes}{flows}", encoding="utf-8")
    return commands.resolved(described)
