"""Link-layer overhead of a scenario's links and of `replay`."""

import math
from pathlib import Path

import pytest

import tidegate
from tidegate.replay import replay

CALL, DATA = 200, 1400


def charged(size: int, overhead: int, mpu: int, atm: bool) -> int:
    """The size that tc-stab(8) and iproute2's `tc_adjust_size` compute."""
    size = max(size + overhead, mpu)
    return math.ceil(size / 48) * 53 if atm else size


def written(folder: Path, name: str, size) -> Path:
    """A list of packets: a call every 20 ms beside bursts of data."""
    rows = [(0.02 * at, "call", size(CALL)) for at in range(500)]
    rows += [
        (0.2 * burst + 0.0001 * at, "data", size(DATA if at % 3 else 60))
        for burst in range(50)
        for at in range(16)
    ]
    path = folder / name
    path.write_text(
        "time,flow,size\n" + "".join(f"{at:.6f},{flow},{size}\n" for at, flow, size in sorted(rows))
    )
    return path


@pytest.mark.parametrize("framing", [(40, 0, True), (24, 84, False), (-14, 0, False)])
def test_a_replay_with_overhead_is_one_of_longer_packets(framing, tmp_path):
    overhead, mpu, atm = framing
    options = {"rate": "1mbit", "target": "20ms", "protect": ["call"]}
    own = written(tmp_path, "own.csv", lambda size: size)
    longer = written(tmp_path, "longer.csv", lambda size: charged(size, *framing))
    framed = replay(own, overhead=overhead, mpu=mpu, atm=atm, **options)
    plain = replay(longer, **options)
    assert framed.plan.bytes == 500 * CALL + 50 * (10 * DATA + 6 * 60)
    assert framed.plan.charged == plain.plan.bytes
    for one, other in zip(framed.plan.flows, plain.plan.flows, strict=True):
        figures = "mean_rate", "burst", "reserve", "promised_p99", "backlog_bytes"
        assert [getattr(one, name) for name in figures] == [getattr(other, name) for name in figures]
    assert framed.plan.protected[0].reserve is not None
    for scheduler in framed.results:
        one, other = (played.results[scheduler].flows.to_pandas() for played in (framed, plain))
        columns = ["delay_mean", "delay_max", "dropped_packets"]
        assert one[columns].equals(other[columns])
        # The flows count their own bytes.
        assert one["sent_bytes"].sum() == framed.plan.bytes
    scenario = framed.write_scenario(tmp_path / "s.toml").read_text()
    for key, value in (("overhead", overhead), ("mpu", mpu)):
        assert (f"{key} = {value}" in scenario) == bool(value)
    again = tidegate.simulate(tmp_path / "s.toml")
    assert again.flows["delay_mean"].equals(framed.results["virtual-clock"].flows["delay_mean"])


def test_an_overhead_that_no_link_has_is_refused(tmp_path):
    own = written(tmp_path, "own.csv", lambda size: size)
    with pytest.raises(tidegate.TidegateError, match="an overhead of 4000 bytes"):
        replay(own, rate="1mbit", overhead=4000)


def test_a_transfer_on_an_empty_path_with_overhead_has_no_slowdown():
    scenario = """
        version = 1
        duration = "20s"
        node = [{ name = "a" }, { name = "b" }, { name = "c" }]
        link = [
            { from = "a", to = "b", rate = "20mbit", overhead = 24, mpu = 84 },
            { from = "b", to = "c", rate = "10mbit", delay = "1ms", overhead = 40, atm = true },
        ]
        [[connection]]
        name = "copy"
        from = "a"
        to = "c"
        size = "1500B"
        transport = { kind = "tcp", stack = "rfc", initial_window = 100 }
        data = { kind = "transfers", size = "60kB", arrivals = "think", think = "100ms" }
    """
    slowdowns = tidegate.simulate(scenario).transfers.to_pandas()["slowdown"].dropna()
    assert len(slowdowns) > 10
    assert slowdowns.between(1 - 1e-9, 1 + 1e-9).all(), slowdowns
