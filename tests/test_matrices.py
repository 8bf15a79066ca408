"""Traffic matrices of scenarios, beside numpy's reading of the same file."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import tidegate
from captures import DATA

NODES, LINKS = DATA / "matrices/AbileneTM.txt.gz", DATA / "topology/cfr-rl/Abilene.tsv"
MATRIX = 1000
RATE = 36e6

needs_abilene = pytest.mark.skipif(not NODES.is_file(), reason="needs Abilene's matrices in ../shared/data")


def abilene(folder: Path) -> Path:
    """Write a scenario of Abilene's nodes, links and a matrix, at a hundredth of its rates."""
    rows = [line.split() for line in LINKS.read_text(encoding="utf-8").splitlines()[2:]]
    nodes = [f"n{node}" for node in range(12)]
    parts = ['version = 1\nduration = "20s"\nwarmup = "1s"\n']
    parts += [f'[[node]]\nname = "{node}"\n' for node in nodes]
    parts += [
        f'[[link]]\nfrom = "n{start}"\nto = "n{end}"\nrate = "{rate}0bit"\nduplex = false\n'
        for _, start, end, _, rate in rows
    ]
    names = ", ".join(f'"{node}"' for node in nodes)
    parts.append(
        f'[[flow]]\nname = "demands"\nsize = "1000B"\n'
        f'matrix = {{ file = "{NODES}", line = {MATRIX}, nodes = [{names}] }}\n'
        f'source = {{ kind = "poisson", rate = "{RATE:.0f}bit" }}\n'
    )
    path = folder / "abilene.toml"
    path.write_text("".join(parts), encoding="utf-8")
    return path


@needs_abilene
def test_each_pair_sends_its_share_of_a_measured_matrix(tmp_path: Path) -> None:
    """Each pair of Abilene has a flow with its share of the rate, within 99.9 % intervals, and every link
    carries the flows whose routes cross it.
    """
    with gzip.open(NODES, "rt") as file:
        demands = np.loadtxt(file)[MATRIX - 1].reshape(12, 12)
    np.fill_diagonal(demands, 0)
    shares = demands / demands.sum()
    results = tidegate.simulate(abilene(tmp_path), seed=3)
    flows = results["flows"].to_pandas()
    assert len(flows) == np.count_nonzero(demands)
    expected = np.array(
        [shares[int(start[1:]), int(end[1:])] for start, end in zip(flows["from"], flows["to"], strict=True)]
    )
    assert expected.sum() == pytest.approx(1)
    packets = expected * RATE / 8000 * 19
    # One interval in a thousand may miss its value; 4.5 deviations make it none of 132.
    assert np.all(np.abs(flows["sent_packets"] - packets) <= 4.5 * np.sqrt(packets) + 1)
    carried = (flows["received_bytes"] * flows["hops"]).sum()
    assert results["links"].to_pandas()["bytes"].sum() == pytest.approx(carried, rel=0.001)
