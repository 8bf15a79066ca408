"""A scenario built in Python: how much may a neighbour misbehave before a call notices?

A call and a neighbour share a link of 1 Mbit/s; each reserves what it says that it sends. The
neighbour says 600 kbit/s and sends up to three times as much.

What to look for: the call's delay under FIFO explodes as soon as the neighbour fills the link, and
under VirtualClock stays where it was.
"""

import argparse
from pathlib import Path

import tidegate
from tidegate import Cbr, Chain, Fifo, Flow, Poisson, Port, Scenario, Switch, VirtualClock, plots
from tidegate.show import with_interval


def scenario(scheduler: Fifo | VirtualClock, times: float) -> Scenario:
    return Scenario(
        name=f"neighbour sends {times:g} times what it says",
        duration="20s",
        warmup="1s",
        topology=Chain(switches=2, rate="1mbit", delay="5ms"),
        port=Port(scheduler=scheduler),
        switch=Switch(buffer="100p"),
        flow=[
            Flow(name="call", from_="s1", to="s2", reserve="80kbit", size="200B", source=Cbr(rate="80kbit")),
            Flow(
                name="neighbour",
                from_="s1",
                to="s2",
                reserve="600kbit",
                size=["64B", "576B", "1500B"],
                source=Poisson(rate="600kbit", times=times),
            ),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    out = parser.parse_args().out

    print("99 % of the call's packets within (± half the 95 % interval of 5 runs)")
    for times in (1, 1.5, 2, 3):
        results = {
            "fifo": tidegate.simulate(scenario(Fifo(), times), replications=5),
            "virtual-clock": tidegate.simulate(scenario(VirtualClock(), times), replications=5),
        }
        cells = []
        for name, one in results.items():
            cells.append(f"{name} {with_interval(one.groups['call'].delay_p99, 's'):16}")
        print(f"  neighbour sends {times:3g} times what it says:  {'   '.join(cells)}")

    # Every table is an Arrow table, which pandas and polars take as it is.
    flows = results["fifo"].flows
    print(f"\nColumns of the table of flows: {', '.join(flows.column_names)}")
    try:
        import polars
    except ImportError:
        print(flows.select(["replication", "flow", "throughput", "delay_p99"]).slice(0, 4))
    else:
        frame = polars.DataFrame(flows)
        print(frame.group_by("group", maintain_order=True).agg(polars.col("throughput", "delay_p99").mean()))

    figure = plots.comparison(results, title="A neighbour that sends three times what it says")
    print(f"\nThe figure is in {plots.save(figure, out / 'neighbour.png')}.")


if __name__ == "__main__":
    main()
