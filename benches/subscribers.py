"""Twenty thousand subscribers from a CSV in the simulator, beside as many flows of an ordinary scenario.

Prints packet-hops per CPU second of both, taken in turns in one process, and their ratio.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tidegate._tidegate import Run, Scenario

SUBSCRIBERS = 20_000
SITES = 200
SECONDS = 8
ROUNDS = 3

CLASS = (
    '[[class]]\nname = "site-{site}"\nscheduler = "virtual-clock"\nreserve = "9mbit"\nceiling = "20mbit"\n'
)
GATE = """version = 1
gate = { inside = "a", outside = "b", up = "2gbit", down = "2gbit", overhead = 24, mpu = 84 }
port = { scheduler = "virtual-clock" }
switch = { buffer = "20000p" }
"""
NETWORK = """port = { scheduler = "virtual-clock" }
switch = { buffer = "20000p" }
node = [{ name = "inside", kind = "switch" }, { name = "outside", kind = "switch" }]
link = [{ from = "inside", to = "outside", rate = "2gbit" }]
"""
FLOW = """[[flow]]
name = "subscribers%s"
count = %d
from = "inside"
to = "outside"
size = "1000B"
source = { kind = "poisson", rate = "90kbit" }
%s
"""


def circuits() -> str:
    """Return the list: a hundred subscribers for each site."""
    lines = ["name,class,addresses,up_reserve,up_ceiling,down_reserve,down_ceiling"]
    for number in range(SUBSCRIBERS):
        site, address = number % SITES, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        lines.append(f"s{number},site-{site},{address},80kbit,10mbit,80kbit,50mbit")
    return "\n".join(lines) + "\n"


def scenarios(folder: Path) -> dict[str, Path]:
    """Write both scenarios into a folder."""
    (folder / "circuits.csv").write_text(circuits())
    sites = "".join(CLASS.format(site=site) for site in range(SITES))
    (folder / "gate.toml").write_text(
        GATE + sites + '[[flow]]\nname = "subscribers"\ncircuits = "circuits.csv"\n'
    )
    head = f'version = 1\nduration = "{SECONDS}s"\n'
    headers = 'headers = { flow = "10.0.0.0:5000>192.0.2.1:80/udp", each = "host" }'
    gate = 'topology = { kind = "gate", file = "gate.toml" }\n' + FLOW % ("", SUBSCRIBERS, headers)
    terms = 'reserve = "80kbit"\nceiling = "10mbit"\nclass = "site-{site}"'
    each = SUBSCRIBERS // SITES
    flows = "".join(FLOW % (f"-{site}", each, terms.format(site=site)) for site in range(SITES))
    paths = {"gate": folder / "scenario.toml", "plain": folder / "plain.toml"}
    paths["gate"].write_text(head + gate)
    paths["plain"].write_text(head + NETWORK + sites + flows)
    return paths


def measure(path: Path) -> tuple[float, float, int]:
    """Millions of packet-hops per CPU second, CPU seconds to set up, and bytes of memory for flows."""
    start = time.process_time()
    run = Run(Scenario.load(str(path), []), 1)
    ready = time.process_time()
    while not run.advance(1_000_000):
        pass
    return run.packet_hops / (time.process_time() - ready) / 1e6, ready - start, run.memory


def main() -> None:
    """Measure in turns."""
    with tempfile.TemporaryDirectory() as name:
        paths = scenarios(Path(name))
        rounds = [{kind: measure(path) for kind, path in paths.items()} for _ in range(ROUNDS)]
    speeds = {kind: statistics.median(one[kind][0] for one in rounds) for kind in paths}
    ratio = statistics.median(one["gate"][0] / one["plain"][0] for one in rounds)
    found = {**speeds, "ratio": ratio, "setup_seconds": rounds[0]["gate"][1], "memory": rounds[0]["gate"][2]}
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(found))
        return
    print(
        f"{found['gate']:.2f} M packet-hops per CPU s through the gate's file, {found['plain']:.2f} in an "
        f"ordinary scenario: {ratio:.2f} times"
    )
    print(f"set up in {found['setup_seconds']:.2f} CPU s, {found['memory'] / 1e6:.1f} MB for flows")


if __name__ == "__main__":
    main()
