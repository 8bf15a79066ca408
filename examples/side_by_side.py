"""Six ways to manage one link: FIFO, RED, RIO, CoDel, FQ-CoDel and VirtualClock on the same captured packets.

    python examples/side_by_side.py

A replay is open loop: real programs would slow down when packets are lost or marked, which is what RED and
CoDel are for. What is compared here is whom a policy makes wait and whom it makes lose; how TCP answers is
seen in `tidegate paper allocated-capacity`.
"""

import argparse
from pathlib import Path

import tidegate
from tidegate import plots
from tidegate.show import with_interval

HERE = Path(__file__).resolve().parent

LIMIT = "50p"
"""Limit of all queues together: 200 ms of the link in packets of 1500 bytes."""

RED = f'min_th = "5p", max_th = "15p", limit = "{LIMIT}", mean_packet = "1kB"'
RIO = RED.replace("_th", "_out") + ', max_p_out = 0.5, min_in = "20p", max_in = "40p"'

POLICIES = {
    "fifo": ("fifo", f'{{ kind = "drop-tail", limit = "{LIMIT}" }}'),
    "red": ("fifo", f'{{ kind = "red", {RED} }}'),
    "rio": ("fifo", f'{{ kind = "rio", {RIO} }}'),
    "codel": ("fifo", f'{{ kind = "codel", limit = "{LIMIT}" }}'),
    "fq-codel": ("fq-codel", '{ kind = "codel", scope = "flow" }'),
    "virtual-clock": ("virtual-clock", None),
}
"""The scheduler and the dropper of each. Without a limit of its own, the pool's holds, which pushes out."""


def run(scheduler: str, dropper: str | None) -> tidegate.Results:
    sets = [("switch.buffer", LIMIT), ("port.scheduler", scheduler)]
    sets += [("port.dropper", dropper)] if dropper else []
    return tidegate.simulate(tidegate.load(HERE / "side-by-side.toml", sets))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    out = parser.parse_args().out

    results = {name: run(*policy) for name, policy in POLICIES.items()}
    for title, metric, unit in (("99 % of the packets within", "delay_p99", "s"), ("lost", "lost", "share")):
        print(title)
        print(f"{'':10}" + "".join(f"{name:>15}" for name in results))
        rows = zip(*(one.groups() for one in results.values()), strict=True)
        for row in rows:
            cells = "".join(f"{with_interval(getattr(one, metric), unit):>15}" for one in row)
            print(f"{row[0].group:10}{cells}")
        print()
    figure = plots.comparison(results, title="One captured office across 3 Mbit/s")
    print(f"The figure is in {plots.save(figure, out / 'side-by-side.png')}.")


if __name__ == "__main__":
    main()
