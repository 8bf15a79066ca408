"""Sweeps: their tables, their points, and what is refused."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tidegate
from conftest import call
from sweeping import POLICY, RATE, SHORT, VALUES, Counting, swept
from tidegate import sweeps
from tidegate.estimates import estimate
from tidegate.sweeps.batch import Batch, carry_out
from tidegate.sweeps.rows import UNITS

FIGURES = [name for name in UNITS if name != "due"]


@pytest.fixture(scope="module")
def table():
    return swept()


def test_the_rows_are_what_simulate_measures_at_each_point(table):
    rows = table.to_pylist()
    assert len(rows) == 6 * 20 * 2
    expected = []
    for number, (policy, rate) in enumerate((p, r) for p in VALUES[POLICY] for r in VALUES[RATE]):
        results = tidegate.simulate(SHORT, replications=20, sets=[(POLICY, policy), (RATE, rate)])
        figures = results.group_figures()
        for replication, (seed, fingerprint) in enumerate(
            zip(results.seeds, results.fingerprints, strict=True)
        ):
            for (group, flows), of_group in figures.items():
                assert set(of_group) == set(UNITS)
                expected.append(
                    {
                        "point": number,
                        POLICY: policy,
                        RATE: rate,
                        "replication": replication,
                        "seed": seed,
                        "fingerprint": fingerprint,
                        "group": group,
                        "flows": flows,
                        **{name: of_group[name][replication] for name in (*FIGURES, "due")},
                    }
                )
    assert [{name: row[name] for name in expected[0]} for row in rows] == expected


def test_the_number_and_the_kind_of_workers_change_no_row(table):
    assert swept(jobs=1).equals(table)
    with ThreadPoolExecutor(3) as threads:
        assert swept(executor=threads).equals(table)
    with Counting() as counting:
        assert swept(executor=counting, jobs=7).equals(table)
    assert set(counting.runs.values()) == {1}
    assert len(counting.runs) == 120


def test_every_point_has_the_same_seeds(table):
    seeds = {}
    for row in table.to_pylist():
        seeds.setdefault(row["point"], []).append(row["seed"])
    assert set(map(tuple, seeds.values())) == {tuple(seed for seed in range(1, 21) for _ in range(2))}


def test_columns_have_plain_types_and_units(table):
    types = {field.name: str(field.type) for field in table.schema}
    assert types[POLICY] == types["group"] == types["fingerprint"] == "string"
    assert types["seed"] == types["received"] == types["point"] == "int64"
    assert types["delay_p99"] == "double"
    assert table.schema.field("delay_p99").metadata[b"unit"] == b"s"
    weights = swept(values={"flow.data.count": [2, 4]}, replications=1)
    assert weights["flow.data.count"].to_pylist() == [2, 2, 4, 4]
    frame = table.to_pandas().groupby([POLICY, RATE, "group"])["delay_p99"].mean()
    assert len(frame) == 12


def test_a_summary_has_the_means_and_their_intervals(table):
    found = sweeps.summary(table).to_pylist()
    assert len(found) == 12
    for row in found:
        values = [
            one["delay_p99"]
            for one in table.to_pylist()
            if (one["point"], one["group"]) == (row["point"], row["group"])
        ]
        assert (row["delay_p99"], row["delay_p99_ci95"]) == estimate(values)
        assert row["runs"] == 20
    one_run = sweeps.summary(swept(replications=1)).to_pylist()
    assert {row["throughput_ci95"] for row in one_run} == {None}


def test_identical_runs_have_no_interval(still):
    table = tidegate.sweep(still, {POLICY: ["fifo", "fq-codel"]}, replications=3, jobs=1)
    assert {row["throughput_ci95"] for row in sweeps.summary(table).to_pylist()} == {None}


def test_the_section_of_a_scenario_says_what_is_varied(table, tmp_path):
    section = f"""
[sweep]
replications = 20

[sweep.set]
"{POLICY}" = [
  "fifo", "fq-codel",
  "virtual-clock",
]
{RATE} = ["32kbit", "64kbit"]
"""
    head, flows = SHORT.split("[[flow]]", 1)
    path = tmp_path / "chain.toml"
    for text in (f"{SHORT}{section}", f"{head}{section}\n[[flow]]{flows}"):
        path.write_text(text)
        assert tidegate.sweep(path).equals(table)
        assert tidegate.sweep(text, jobs=1).equals(table)
        assert tidegate.simulate(path).fingerprints == tidegate.simulate(SHORT).fingerprints
    fewer = tidegate.sweep(path, {RATE: "64kbit"}, replications=1)
    assert fewer.column_names[:3] == ["point", POLICY, "replication"]
    assert fewer.num_rows == 6
    path.write_text(text.replace('size = "500B"', 'size = "500"'))
    with pytest.raises(tidegate.TidegateError, match=r"chain.toml:\d+") as raised:
        tidegate.sweep(path)
    line = int(str(raised.value).partition("chain.toml:")[2].partition(":")[0])
    assert "500" in path.read_text().splitlines()[line - 1]


def test_check_reads_the_points_of_a_section(tmp_path):
    path = tmp_path / "chain.toml"
    path.write_text(f"{SHORT}\n[sweep.set]\n{POLICY} = ['fifo', 'drr']\n{RATE} = ['1kbit', '2kbit']\n")
    assert call("check", path).stdout.endswith(", 0.4 s; a sweep of 4 points\n")
    assert json.loads(call("check", path, "--json").stdout)["points"] == 4
    path.write_text(path.read_text().replace("'2kbit'", "'2kbits'"))
    done = call("check", path)
    assert (done.exit_code, "2kbits" in done.stderr) == (1, True)
    path.write_text(SHORT)
    assert call("check", path).stdout.endswith(", 0.4 s\n")
    assert json.loads(call("check", path, "--json").stdout)["points"] is None


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("[sweep]\nreplication = 3", "has no key `replication`\n  help: did you mean `replications`"),
        ("[sweep]\nreplications = '3'", "`replications` is a whole number, not '3'"),
        ("[sweep]\nset = 3", "`set` is a table, not 3"),
        ("[sweep]\nuntil = 'delay:5%'\nset.duration = ['1s', '2s']", "`delay` is not a figure"),
    ],
)
def test_mistakes_in_the_section_are_told(section, message):
    with pytest.raises(tidegate.TidegateError) as raised:
        tidegate.sweep(f"{SHORT}\n{section}\n")
    assert message in str(raised.value)


def test_a_section_that_is_not_one_is_told():
    with pytest.raises(tidegate.TidegateError, match=r"write it as \[sweep\]"):
        tidegate.simulate(f"sweep = {{ replications = 3 }}\n{SHORT}")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"flow.voise.source.rate": ["1kbit", "2kbit"]}, "no flow `voise`\n  help: did you mean `voice`?"),
        ({"port.polisy": ["fifo", "red"]}, "`port` has no key `polisy`\n  help: did you mean `policy`?"),
        ({RATE: ["64kbit", "64"]}, "--set flow.voice.source.rate=64"),
        ({POLICY: ["fifo", "fifoo"]}, "fifoo"),
        ({POLICY: []}, "`port.policy` has no value"),
        ({RATE: ["64kbit..128kbit", "1kbit"]}, "needs the design random"),
        ({"seed": [1, 2]}, "`seed` cannot be varied"),
        ({POLICY: "fifo"}, "nothing is varied"),
        ({POLICY: None}, "a value is text, a number or a record"),
    ],
)
def test_no_run_begins_unless_every_point_is_valid(values, message):
    with Counting() as counting, pytest.raises(tidegate.TidegateError) as raised:
        swept(
            values={"flow.data.count": [1, 2], **values} if POLICY not in values else values,
            executor=counting,
        )
    assert message in str(raised.value)
    assert not counting.runs


def test_points_that_come_to_the_same_scenario_are_one():
    table = swept(values={RATE: ["64kbit", "64kbit", "32kbit"]}, replications=2)
    assert table[RATE].to_pylist() == ["64kbit"] * 4 + ["32kbit"] * 4


def test_records_of_policies_are_values():
    policies = [tidegate.Fifo(), tidegate.VirtualClock()]
    table = swept(values={"port.scheduler": policies}, replications=2)
    words = swept(values={"port.scheduler": ["fifo", "virtual-clock"]}, replications=2)
    assert table["fingerprint"].equals(words["fingerprint"])


def test_a_worker_of_another_version_is_told():
    batch = Batch("chain", "#0", SHORT, "chain.toml", ".", (1,), version="0.0.0")
    with pytest.raises(tidegate.TidegateError, match=r"and the sweep is one of 0\.0\.0"):
        carry_out(batch)


def test_a_script_needs_no_guard_around_its_main_part(tmp_path):
    (tmp_path / "chain.toml").write_text(SHORT)
    script = tmp_path / "script.py"
    script.write_text(
        "import tidegate\n"
        "table = tidegate.sweep('chain.toml', {'port.policy': ['fifo', 'red']}, replications=3)\n"
        "print(table.num_rows)\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )
    assert (done.stdout, done.stderr) == ("12\n", "")


def test_the_example_of_the_page_runs(monkeypatch):
    root = Path(__file__).parents[1]
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "sweeps.md").read_text(), re.DOTALL)
    monkeypatch.chdir(root)
    names = {}
    exec(code, names)
    assert names["table"].num_rows == 2 * 2 * 3 * 3
    assert names["means"].num_rows == 2 * 2 * 3


def test_the_command_shows_points_and_intervals(tmp_path):
    path = tmp_path / "chain.toml"
    path.write_text(SHORT)
    words = ["sweep", path, "--set", f"{POLICY}=fifo,red(min_th=2p)", "--set", f"{RATE}=32kbit,64kbit"]
    words += ["--set", "duration=500ms", "--replications", "4"]
    done = call(*words)
    assert done.exit_code == 0, done.stderr
    assert "4 points · 16 runs from seed 1 · 0.5 s each" in done.stdout
    for word in ("red(min_th=2p)", "p99 delay", "± is half the 95 % interval"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    document = json.loads(call(*words, "--json").stdout)
    assert len(document["rows"]) == 8
    assert document["rows"][0]["settings"] == {POLICY: "fifo", RATE: "32kbit"}
    assert document["rows"][0]["ci95"]["throughput"] > 0
    refused = call("sweep", path, "--set", f"{POLICY}=fifo,red", "--set", f"{POLICY}=codel")
    assert (refused.exit_code, "given twice" in refused.stderr) == (1, True)
    assert "nothing is varied" in call("sweep", path).stderr


def test_without_dask_one_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    path = tmp_path / "chain.toml"
    path.write_text(SHORT)
    done = call("sweep", path, "--set", "flow.data.count=1,2", "--cluster", "tcp://127.0.0.1:9")
    assert done.exit_code == 1
    assert done.stderr == (
        "tidegate: --cluster needs distributed, which is not installed\n"
        "  help: pip install 'tidegate[cluster]'\n"
    )
