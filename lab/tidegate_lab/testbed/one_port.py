"""An arrival process, and the scenario of one port of a switch that it passes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import commands

if TYPE_CHECKING:
    import numpy as np

    from tidegate.backends import Source

RATE = 31_250_000
"""Rate of the link behind the port, in bit/s: a byte takes a step of the kernel's clock."""
ACCESS = 10_000_000_000
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


def duration(packets: list[np.ndarray]) -> float:
    """Return the duration of a run in which these packets leave the port, in s."""
    return max(int(own[-1, 0]) for own in packets) * 1e-9 + 1.0


def write(file: Path, packets: list[np.ndarray]) -> None:
    """Write packets as the source `trace` reads them."""
    import numpy as np

    rows = np.concatenate(
        [np.column_stack((own, np.full(len(own), flow))) for flow, own in enumerate(packets)]
    )
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    with file.open("w", encoding="utf-8") as text:
        text.write("time,size,flow\n")
        text.writelines(
            f"{time // 10**9}.{time % 10**9:09d},{size},{flow}\n" for time, size, flow in rows.tolist()
        )


def scenario(place: Path, file: str, policy: str, buffer: str, duration: float, *, access: bool) -> Source:
    """Return the scenario of one port, with a fast link in front of it or without."""
    links = f'link = [{{ from = "r", to = "d", rate = "{RATE}bit", duplex = false }}'
    if access:
        links += f', {{ from = "h", to = "r", rate = "{ACCESS}bit", duplex = false, policy = "fifo" }}'
    names = [*(["h"] if access else []), "r", "d"]
    kinds = {"r": "switch"}
    nodes = "".join(f'[[node]]\nname = "{name}"\nkind = "{kinds.get(name, "host")}"\n' for name in names)
    flows = "".join(
        f'[[flow]]\nname = "f{flow}"\nfrom = "{names[0]}"\nto = "d"\necn = "{ECN[flow % 2]}"\n'
        f"priority = {flow}\n"
        f'source = {{ kind = "trace", file = "{file}", flow = "{flow}" }}\n'
        for flow in range(FLOWS)
    )
    head = f'version = 1\nduration = "{duration:.6f}s"\nport = {policy}\nswitch = {{ buffer = "{buffer}" }}\n'
    text = f"{head}{links}]\n{nodes}{flows}"
    described = place / "one-port.toml"
    described.write_text(text, encoding="utf-8")
    return commands.resolved(described)
