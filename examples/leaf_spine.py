"""The fabric of 144 hosts on which data-centre transports are compared, under DCTCP and CUBIC.

Nine leaves with 16 hosts of 10 Gbit/s each, and four spines with links of 40 Gbit/s, as in pFabric
(2013) and Homa (2018). Transfers of web search or of Hadoop begin by a Poisson process between any
two hosts. Prints the slowdown by size, and draws it. Run it with `python examples/leaf_spine.py`.
"""

import argparse
import resource
import time

import matplotlib.pyplot as plt
import pandas as pd

import tidegate

SCENARIO = """
version = 1
name = "leaf-spine"
routing = "ecmp"
warmup = "0s"

[topology]
kind = "leaf-spine"
leaves = 9
spines = 4
hosts = 16
rate = "40gbit"
delay = "500ns"
access = { rate = "10gbit", delay = "1us" }

[[connection]]
name = "transfers"
among = { pairs = "all-to-all" }
size = "1500B"
transport = { kind = "tcp", stack = "rfc", minimum_rto = "5ms" }
data = { kind = "transfers", arrivals = "poisson", once = true }
"""
HOSTS, RATE = 144, 10e9
MEAN_SIZE = {"web-search": 1.71e6, "hadoop": 120e3}
QUEUES = {
    "cubic": '{ kind = "drop-tail", limit = "250p" }',
    "dctcp": '{ kind = "red", min_th = "65p", max_th = "65p", weight = 1, signal = "mark", limit = "250p" }',
}
"""Droppers of all ports, those of hosts too, by congestion control."""
BINS = {"to 100 kB": (0, 100e3), "to 10 MB": (100e3, 10e6), "above": (10e6, float("inf"))}
"""Sizes as pFabric groups them, in bytes."""


def run(sizes: str, control: str, load: float, seconds: float) -> pd.DataFrame:
    """Return the transfers of one run that have ended."""
    count = max(int(load * HOSTS * RATE / 8 / MEAN_SIZE[sizes] * seconds), 1)
    sets = [
        # Transfers that begin last have as long again to end.
        ("duration", f"{2 * seconds}s"),
        ("connection.transfers.count", str(count)),
        ("connection.transfers.transport.congestion", control),
        ("connection.transfers.transport.ecn", "on" if control == "dctcp" else "off"),
        ("port.dropper", QUEUES[control]),
        ("host.dropper", QUEUES[control]),
        ("connection.transfers.data.sizes", sizes),
        ("connection.transfers.data.load", str(load)),
    ]
    began = time.monotonic()
    results = tidegate.simulate(SCENARIO, sets=sets, series=False)
    took = time.monotonic() - began
    transfers = results.transfers.to_pandas()
    ended = transfers.dropna(subset=["slowdown"])
    for name, (least, most) in BINS.items():
        some = ended[(ended["size"] > least) & (ended["size"] <= most)]["slowdown"]
        begun = int(((transfers["size"] > least) & (transfers["size"] <= most)).sum())
        if begun:
            print(
                f"{sizes:10} {load:4} {control:6} {name:9} {len(some):6}/{begun:<6}"
                f"{some.mean():8.2f}{some.quantile(0.5):8.2f}{some.quantile(0.99):9.2f}",
                flush=True,
            )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'':10} {'':4} {'':6} {took:.0f} s, {memory:.0f} MB", flush=True)
    return ended


def draw(runs: dict[tuple[str, str, float], pd.DataFrame], file: str) -> None:
    """Draw the median and the 99th percentile of slowdowns over the size, a panel for each run."""
    kinds = list(dict.fromkeys(sizes for sizes, _, _ in runs))
    loads = list(dict.fromkeys(load for _, _, load in runs))
    figure, panels = plt.subplots(
        len(kinds), len(loads), figsize=(3.6 * len(loads), 3 * len(kinds)), sharey=True, squeeze=False
    )
    for (sizes, control, load), ended in runs.items():
        panel = panels[kinds.index(sizes)][loads.index(load)]
        ranks = ended["size"].rank(method="first")
        groups = ended.groupby(pd.cut(ranks, min(10, len(ended))), observed=True)
        colour = "C0" if control == "cubic" else "C1"
        for quantile, style in ((0.5, "-"), (0.99, "--")):
            panel.loglog(
                groups["size"].median(),
                groups["slowdown"].quantile(quantile),
                style,
                color=colour,
                marker=".",
                label=f"{control}, {'median' if quantile == 0.5 else '99 %'}",
            )
        panel.set_title(f"{sizes}, load {load}")
        panel.set_xlabel("size in bytes")
    panels[0][0].set_ylabel("slowdown")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    print(f"figure in {file}")


def main() -> None:
    """Run the grid that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=list(MEAN_SIZE), choices=list(MEAN_SIZE))
    parser.add_argument("--loads", nargs="+", type=float, default=[0.3, 0.5, 0.8])
    parser.add_argument("--seconds", type=float, default=0.05, help="time in which transfers begin")
    parser.add_argument("--figure", default="leaf-spine.png")
    chosen = parser.parse_args()
    print(f"{'sizes':10} load control{'':4}size     ended/begun    mean  median      p99")
    runs = {
        (sizes, control, load): run(sizes, control, load, chosen.seconds)
        for sizes in chosen.sizes
        for load in chosen.loads
        for control in QUEUES
    }
    draw(runs, chosen.figure)


if __name__ == "__main__":
    main()
