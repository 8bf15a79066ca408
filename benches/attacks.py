"""Shares of bounds that attacks reach on tandems: the table of docs/bounds.md.

Each link of 10 Mbit/s has the attacked flow, three others with reservations and bursts of 6,000 bytes,
and one without a reservation that sends packets of 1,500 bytes. All others pass one link.
"""

import time

from tidegate.attack import attack

LOADS = {
    "all": ("1mbit", "3mbit", "3mbit", "2900kbit"),
    "half": ("500kbit", "1500kbit", "1500kbit", "1400kbit"),
}
"""Reservations of the attacked flow and of the others, by the share of the links that is reserved."""

DATAGRAMS = "100kbit"


def flow(name: str, first: int, last: int, rate: str, size: int, burst: int) -> str:
    """Return a flow whose source always has more to send than its envelope lets go."""
    reserve = "" if rate == DATAGRAMS else f'reserve = "{rate}"\n'
    return (
        f'[[flow]]\nname = "{name}"\nfrom = "s{first}"\nto = "s{last}"\n{reserve}size = "{size}B"\n'
        f'source = {{ kind = "greedy" }}\nenvelope = {{ rate = "{rate}", burst = "{burst}B" }}\n'
    )


def tandem(scheduler: str, hops: int, load: str) -> str:
    """Return the scenario of a row of links."""
    own, *others = LOADS[load]
    text = (
        f'version = 1\nduration = "1s"\nport = {{ scheduler = "{scheduler}" }}\n'
        f'topology = {{ kind = "chain", switches = {hops + 1}, rate = "10mbit", delay = "1ms" }}\n'
    )
    text += flow("voice", 1, hops + 1, own, 500, 2000)
    for hop in range(1, hops + 1):
        for number, rate in enumerate(others):
            text += flow(f"beside-{hop}-{number}", hop, hop + 1, rate, 500, 6000)
        text += flow(f"datagrams-{hop}", hop, hop + 1, DATAGRAMS, 1500, 1500)
    return text


def main() -> None:
    """Print the table."""
    print("| reserved | discipline | links | delay, ms | bound, ms | share | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for load in LOADS:
        for scheduler in ("fifo", "virtual-clock", "wfq"):
            for hops in range(1, 6):
                start = time.perf_counter()
                found = attack(tandem(scheduler, hops, load), "voice")
                took = time.perf_counter() - start
                assert found.bound is not None
                delays = f"{found.delay * 1e3:.2f} | {found.bound * 1e3:.2f} | {found.share:.1%} | {took:.1f}"
                print(f"| {load} | {scheduler} | {hops} | {delays} |", flush=True)


if __name__ == "__main__":
    main()
