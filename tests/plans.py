"""Requirements files for tests of plans: one by hand, and small random ones."""

import random

OFFICE = """\
version = 1
name = "office"
duration = "500ms"
warmup = "100ms"
topology = { kind = "chain", switches = 3, rate = "10mbit", delay = "2ms", access = { rate = "100mbit" } }

[[flow]]
name = "voice"
count = 3
from = "h1"
to = "h3"
size = "200B"
source = { kind = "poisson", rate = "64kbit" }
envelope = { rate = "80kbit", burst = "400B", peak = "1mbit" }

[[flow]]
name = "backup"
count = 2
from = "h2"
to = "h3"
size = "1500B"
source = { kind = "greedy" }

[[wish]]
name = "calls"
flows = "voice"
delay = "20ms"

[[wish]]
name = "backups"
flows = "backup"
total = "5mbit"
"""


def drawn(seed: int, nodes: int = 4, most_flows: int = 4, tight: bool = False) -> str:
    """Return a random requirements file of few nodes, some of them switches at which flows start."""
    # Tight networks have few ends, so that flows compete.
    r = random.Random(seed)
    lines = ['version = 1\nduration = "300ms"\n']
    names = [f"n{node}" for node in range(nodes)]
    lines += [f'[[node]]\nname = "{name}"\n' for name in names]
    pairs = [(one, other) for one in range(nodes) for other in range(one)]
    chosen = [(node, r.randrange(node)) for node in range(1, nodes)]
    chosen += [pair for pair in pairs if pair not in chosen and r.random() < 0.5]
    for one, other in chosen:
        rate, delay = r.choice([1, 2] if tight else [1, 2, 5]), r.choice([0, 1, 3])
        lines.append(
            f'[[link]]\nfrom = "n{one}"\nto = "n{other}"\nrate = "{rate}mbit"\ndelay = "{delay}ms"\n'
        )
    flows = r.randint(2 if tight else 1, most_flows)
    elastic = []
    for flow in range(flows):
        start, end = (names[0], r.choice(names[1:3])) if tight else r.sample(names, 2)
        size = r.choice([200, 500, 1000])
        lines.append(f'[[flow]]\nname = "f{flow}"\nfrom = "{start}"\nto = "{end}"\nsize = "{size}B"\n')
        if r.random() < 0.3:
            elastic.append(flow)
            lines.append('source = { kind = "greedy" }\n')
        else:
            rate = r.choice([100, 300, 400] if tight else [50, 100, 300])
            burst = size * r.randint(1, 4)
            peak = f', peak = "{rate * 4}kbit"' if r.random() < 0.3 else ""
            source = r.choice(['kind = "greedy"', f'kind = "poisson", rate = "{rate}kbit"'])
            excess = r.choice(["wait", "drop"]) if "greedy" not in source else "wait"
            lines.append(
                f"source = {{ {source} }}\n"
                f'envelope = {{ rate = "{rate}kbit", burst = "{burst}B"{peak}, excess = "{excess}" }}\n'
            )
        if r.random() < 0.7:
            delay = r.choice([25, 40, 60] if tight else [30, 60, 120])
            lines.append(f'[[wish]]\nflows = "f{flow}"\ndelay = "{delay}ms"\n')
    if r.random() < 0.4:
        delay = r.choice([20, 40] if tight else [60, 90])
        named = ", ".join(f'"f{flow}"' for flow in range(flows))
        lines.append(f'[[wish]]\nname = "all"\nflows = [{named}]\ndelay = "{delay}ms"\n')
    if elastic or r.random() < 0.3:
        some = elastic or [0]
        total = r.choice([300, 900, 1500] if tight else [200, 400])
        named = ", ".join(f'"f{flow}"' for flow in some)
        lines.append(f'[[wish]]\nname = "total"\nflows = [{named}]\ntotal = "{total}kbit"\n')
    if "[[wish]]" not in "".join(lines):
        lines.append('[[wish]]\nflows = "f0"\ndelay = "100ms"\n')
    return "".join(lines)
