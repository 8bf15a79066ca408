"""Makes the stand-ins for recorded data that the examples run on in a clone.

They are committed; there is no need to run this.

    python examples/stand-ins/make.py

`ethernet.txt.gz`: packets of a busy Ethernet, `time size` lines (s, bytes). Sources that are on and off for
Pareto distributed times make traffic that is bursty on every time scale (Willinger, Taqqu, Sherman and
Wilson, Self-similarity through high-variability, IEEE/ACM Transactions on Networking 5(1), 1997). Mean rate
and mean size are those of the Bellcore trace of August 1989.

`lte.txt.gz`: opportunities of a mobile link, as mahimahi replays them: the millisecond of each 1500 bytes.
The rate wanders, and now and then pauses for a second.
"""

import gzip
import math
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent


def pareto(rng: random.Random, mean: float, shape: float) -> float:
    """Draw a Pareto distributed time with this mean."""
    return float(mean * (shape - 1) / shape / (1 - rng.random()) ** (1 / shape))


def ethernet(seconds: float = 30, sources: int = 8, gap: float = 0.0018, rate: float = 396) -> list[str]:
    """Superpose on/off sources; time is scaled to a mean of `rate` packets a second."""
    rng = random.Random(1989)
    on, off = 0.1, 2.4
    packets = []
    for _ in range(sources):
        # From before the start, so that it starts anywhere within a period.
        now = -pareto(rng, on + off, 1.3) * rng.random()
        while now < seconds:
            until = now + pareto(rng, on, 1.4)
            while now < min(until, seconds):
                if now >= 0:
                    size = rng.choices((64, 162, 594, 1518), (43, 24, 11, 22))[0]
                    packets.append((now, size))
                now += gap * rng.uniform(0.8, 1.2)
            now = until + pareto(rng, off, 1.2)
    scale = len(packets) / rate / seconds
    return [f"{time * scale:.6f} {size}" for time, size in sorted(packets)]


def lte(seconds: int = 60, mean: float = 4.6e6) -> list[str]:
    """A rate that wanders, in steps of 20 ms."""
    rng = random.Random(2016)
    step, level, pause, owed = 20, 0.0, 0, 0.0
    opportunities: list[int] = []
    for start in range(0, seconds * 1000, step):
        level = 0.985 * level + rng.gauss(0, 0.16)
        if pause == 0 and rng.random() < 0.001:
            pause = rng.randint(25, 60)
        pause = max(pause - 1, 0)
        rate = 0 if pause else min(mean * 0.72 * math.exp(level), 30e6)
        owed += rate * step / 1000 / 8 / 1500
        whole, owed = int(owed), owed % 1
        opportunities += sorted(start + rng.randrange(step) for _ in range(whole))
    return [str(at) for at in opportunities]


def write(name: str, lines: list[str]) -> None:
    """Write lines, compressed, the same bytes on every day."""
    with (HERE / name).open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())


if __name__ == "__main__":
    write("ethernet.txt.gz", ethernet())
    write("lte.txt.gz", lte())
