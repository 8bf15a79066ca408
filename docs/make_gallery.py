"""Write docs/gallery.md and its pictures: small networks of examples/gallery, one idea each.

    .venv/bin/python docs/make_gallery.py [NAME...]

A network is a scenario with a comment above it: a title, some sentences, and a line such as
`show: delay_p99 for port.policy = fifo | virtual-clock`. With names, only these are carried out and
printed, and nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

import tidegate
from tidegate.plots import style
from tidegate.show import with_interval

ROOT = Path(__file__).parents[1]
FILES = ROOT / "examples" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
IMAGES = ROOT / "docs" / "images" / "gallery"
REPLICATIONS = 5

MEASURES = {
    "throughput": ("throughput", "bit/s"),
    "lost": ("lost packets", "share"),
    "delay_p99": ("99 % of the packets within", "s"),
    "queueing_mean": ("mean wait in queues", "s"),
    "queueing_p99": ("99 % of the packets wait at most", "s"),
    "transfer_p99": ("99 % of the transfers within", "s"),
}

HEAD = """# Gallery

<!-- Written by docs/make_gallery.py: do not edit. -->

Small networks, one idea each, from [`examples/gallery`](../examples/gallery): run one with `tidegate run`,
change it, and run it again. Figures are means of five runs with 95 % intervals. A test carries all of them
out and compares this page with the outcome.
"""

ORDER = (
    "interleaving",
    "firewall",
    "punishment",
    "self-acceleration",
    "leftovers",
    "slots",
    "starvation",
    "deadlines",
    "shares",
    "small-packets",
    "bloat",
    "pie",
    "red",
    "buffer-size",
    "rtt-fairness",
    "l4s",
    "dctcp",
    "incast",
    "short-transfers",
    "ecmp",
    "bursty-loss",
    "assured",
    "classes",
    "back-pressure",
    "parking-lot",
)


@dataclass(frozen=True)
class Network:
    """A network of the gallery.

    Attributes:
        name: The name of its file.
        title: Its title.
        text: Some sentences about it.
        metric: The measure that it shows, of MEASURES.
        key: The key that varies.
        values: Its values.
    """

    name: str
    title: str
    text: str
    metric: str
    key: str
    values: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The file of the scenario."""
        return FILES / f"{self.name}.toml"


def read(name: str) -> Network:
    """Return a network by its name."""
    lines = (FILES / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    comment = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    shown = next(line for line in comment if line.startswith("show: ")).removeprefix("show: ")
    metric, _, varied = shown.partition(" for ")
    key, _, values = varied.partition(" = ")
    text = " ".join(line for line in comment[1:] if line and not line.startswith("show: "))
    return Network(name, comment[0], text, metric, key, tuple(one.strip() for one in values.split(" | ")))


def label(value: str) -> str:
    """Return a value as a heading: the kind of a policy, or what the file says."""
    return value.partition('kind = "')[2].partition('"')[0] or value


def carry_out(network: Network) -> dict[str, dict[str, Any]]:
    """Return the measure of each group, under each value."""
    found: dict[str, dict[str, Any]] = {}
    for value in network.values:
        sets = [(network.key, value)]
        results = tidegate.simulate(network.path, sets=sets, replications=REPLICATIONS)
        found[label(value)] = {
            row.group: getattr(row, network.metric)
            for row in results.groups
            if getattr(row, network.metric).mean is not None and not row.group.endswith("/ack")
        }
    return found


def table(network: Network, found: dict[str, dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    heading, unit = MEASURES[network.metric]
    groups = list(next(iter(found.values())))
    rows = [[f"`{group}`", *(with_interval(of[group], unit) for of in found.values())] for group in groups]
    lines = [[heading, *(f"`{value}`" for value in found)], ["---"] * (1 + len(found)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(network: Network, found: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw the figures as bars."""
    heading, unit = MEASURES[network.metric]
    groups = list(next(iter(found.values())))
    everything = [one.mean for of in found.values() for one in of.values()]
    units: Sequence[tuple[float, str]] = {"bit/s": style.RATES, "s": style.TIMES}.get(unit, ((0.01, "%"),))
    scale, name = style.scale(everything, units)
    with mpl.rc_context(style.RC):
        figure = style.new_figure(5.6, 2.6)
        axes = figure.subplots()
        width = 0.8 / len(found)
        for nth, (value, of) in enumerate(found.items()):
            places = [place + width * (nth - (len(found) - 1) / 2) for place in range(len(groups))]
            heights = [of[group].mean / scale for group in groups]
            errors = [(of[group].half_width or 0.0) / scale for group in groups]
            colour = style.COLOURS[nth % len(style.COLOURS)]
            axes.bar(places, heights, 0.92 * width, yerr=errors, capsize=2, color=colour, label=value)
        axes.set_xticks(range(len(groups)), groups)
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.set_ylabel(f"{heading}\n({name})", fontsize=8)
        axes.grid(visible=False, axis="x")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110, metadata={"Software": None})


def entry(network: Network, found: dict[str, dict[str, Any]]) -> str:
    """Return the part of the page about a network."""
    picture = f"![{network.title}](images/gallery/{network.name}.png)"
    file = f"[`{network.name}.toml`](../examples/gallery/{network.name}.toml)"
    return f"\n## {network.title}\n\n{network.text} {file}\n\n{picture}\n\n{table(network, found)}\n"


def main() -> None:
    """Carry out the networks, and write the page and the pictures."""
    if names := sys.argv[1:]:
        for name in names:
            network = read(name)
            print(network.title, table(network, carry_out(network)), sep="\n")
        return
    parts = [HEAD]
    for name in ORDER:
        network = read(name)
        found = carry_out(network)
        draw(network, found, IMAGES / f"{name}.png")
        parts.append(entry(network, found))
    PAGE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
