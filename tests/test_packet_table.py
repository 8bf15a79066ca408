"""The table of packets, and parts of tables by time."""

import pyarrow.parquet
import pytest

import tidegate
from conftest import call

SCENARIO = """version = 1
duration = "2s"
topology = { kind = "chain", switches = 3, rate = "1mbit" }
port = "fifo"
switch = { buffer = "5p" }
[[flow]]
name = "data"
count = 3
from = "s1"
to = "s3"
size = "500B"
source = { kind = "poisson", rate = "400kbit" }
"""


@pytest.fixture(scope="module")
def table():
    return tidegate.packets(SCENARIO)


def test_the_rows_are_what_the_other_tables_count(table):
    run = tidegate.simulate(SCENARIO)
    rows = table.to_pandas()
    for link, departed, dropped in zip(
        *(run.links[name].to_pylist() for name in ("link", "packets", "dropped_packets")), strict=True
    ):
        outcomes = rows[rows["link"] == link]["outcome"].value_counts()
        assert outcomes.get("departed", 0) == departed
        assert outcomes.get("dropped", 0) == dropped
    sent = rows[rows["link"] == "s1->s2"].groupby("flow").size()
    assert sent.to_dict() == dict(
        zip(*(run.flows[name].to_pylist() for name in ("flow", "sent_packets")), strict=True)
    )
    waits = rows[rows["outcome"] == "departed"].eval("started - arrived")
    assert waits.min() == 0
    # The first bits of 500 bytes at 1 Mbit/s are 4 ms apart.
    sending = rows[rows["outcome"] == "departed"].eval("departed - started")
    assert sending.between(0.004 - 1e-9, 0.004 + 2e-9).all()
    assert rows["arrived"].is_monotonic_increasing


def test_a_part_of_a_table_by_time(table):
    part = table.from_to("500ms", 1.0)
    assert 0 < len(part) < len(table)
    times = part["arrived"].to_pylist()
    assert 0.5 <= min(times) <= max(times) < 1.0
    run = tidegate.simulate(SCENARIO, series=True)
    assert max(run.series.from_to(0, "1s")["time"].to_pylist()) < 1.0
    with pytest.raises(
        tidegate.TidegateError, match=r"is of the whole run: measure .* `warmup` and `duration`"
    ):
        run.links.from_to(0, 1)
    with pytest.raises(tidegate.TidegateError, match="unit"):
        table.from_to("5", "6s")


def test_the_command_writes_it_and_measures_a_part_of_the_time(tmp_path, table):
    file, out = tmp_path / "network.toml", tmp_path / "packets.parquet"
    file.write_text(SCENARIO)
    done = call("run", file, "--packets", out)
    assert done.exit_code == 0, done.stderr
    assert pyarrow.parquet.read_table(out).equals(table.arrow)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []
    part = call("run", file, "--from", "500ms", "--to", "1s", "--json").stdout
    assert part == call("run", file, "--set", "warmup=500ms", "--set", "duration=1s", "--json").stdout
    assert "asks for more" in call("run", file, "--packets", out, "--replications", "2").stderr
    missing = call("run", file, "--packets", tmp_path / "none" / "x.parquet")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "there is no folder" in missing.stderr
    late = call("run", file, "--from", "3s")
    assert late.exit_code == 1
    assert "warmup" in late.stderr
