"""Results in a directory: whole, or not there."""

import ctypes
import errno
import json
import os
import subprocess
import sys
import threading
import tomllib

import polars as pl
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tidegate
from conftest import call
from tidegate import Results, TidegateError, outdir


@pytest.fixture
def results(chain):
    return tidegate.simulate(chain, replications=2, series=True)


def test_what_is_saved_is_what_is_loaded(results, tmp_path):
    results.save(tmp_path / "deep" / "er" / "out")
    loaded = Results.load(tmp_path / "deep" / "er" / "out")
    for name in (
        "scenario_name",
        "scenario_toml",
        "scenario_hash",
        "seeds",
        "fingerprints",
        "packet_hops",
        "base_dir",
    ):
        assert getattr(loaded, name) == getattr(results, name), name
    for name, table in results.tables.items():
        assert loaded.tables[name].to_pylist() == table.to_pylist()
    assert loaded.groups() == results.groups()
    assert loaded.link_rows() == results.link_rows()


def test_the_directory_says_what_made_it(results, tmp_path):
    out = results.save(tmp_path / "out")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["format_version"] == 6
    assert manifest["seeds"] == [1, 2]
    assert manifest["scenario_sha256"] == results.scenario_hash
    assert manifest["base_dir"] == str(tmp_path)
    assert tomllib.loads((out / "scenario.toml").read_text())["name"] == "chain"
    metadata = pq.read_schema(out / "flows.parquet").metadata
    assert metadata[b"tidegate.scenario_sha256"].decode() == results.scenario_hash
    assert metadata[b"tidegate.seeds"] == b"[1, 2]"
    assert pl.read_parquet(out / "links.parquet").height == results.links.num_rows
    assert tidegate.simulate(out / "scenario.toml").fingerprints == results.fingerprints[:1]


def test_earlier_results_are_replaced(results, chain, tmp_path):
    out = tmp_path / "out"
    results.save(out)
    other = tidegate.simulate(chain, seed=5)
    other.save(out)
    assert Results.load(out).fingerprints == other.fingerprints
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.toml", "out"]


def test_two_writers_of_one_directory_both_succeed_and_a_reader_finds_it_whole(chain, tmp_path):
    """Each writes its own runs over and over while a third one reads."""
    runs = [tidegate.simulate(chain, seed=seed) for seed in (5, 9)]
    out = runs[0].save(tmp_path / "out")
    failures = []

    def write(results):
        try:
            for _ in range(30):
                results.save(out)
        except TidegateError as error:
            failures.append(str(error))

    writers = [threading.Thread(target=write, args=(one,)) for one in runs]
    for writer in writers:
        writer.start()
    read = 0
    while any(writer.is_alive() for writer in writers):
        loaded = Results.load(out)
        assert loaded.flows["seed"].unique().to_pylist() == list(loaded.seeds)
        assert loaded.fingerprints in {one.fingerprints for one in runs}
        read += 1
    assert failures == []
    assert read > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.toml", "out"]


def test_what_a_killed_process_left_is_in_nobodys_way(results, tmp_path):
    """A container gives its processes the same numbers again."""
    (tmp_path / f".out.{os.getpid()}.tmp").mkdir()
    results.save(tmp_path / "out")
    assert Results.load(tmp_path / "out").seeds == (1, 2)


def test_where_directories_cannot_be_exchanged_they_are_renamed(results, tmp_path, monkeypatch):
    class Libc:
        def renameat2(self, *_):
            ctypes.set_errno(errno.ENOSYS)
            return -1

    out = results.save(tmp_path / "out")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Libc())
    results.save(out)
    assert Results.load(out).seeds == (1, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.toml", "out"]


def test_a_name_that_is_no_utf8_is_kept(results, tmp_path):
    out = results.save(tmp_path / os.fsdecode(b"\xff") / "out")
    assert Results.load(out).seeds == (1, 2)
    outdir.write(results, out, f"tidegate run --out {out}")
    assert json.loads((out / "manifest.json").read_bytes())["command"].endswith(f"{out}")


def test_reading_imports_no_pandas(results, tmp_path):
    out = results.save(tmp_path / "out")
    code = (
        "import sys, tidegate\n"
        "from tidegate.explain import explain\n"
        f"results = tidegate.Results.load({str(out)!r})\n"
        "explain(results, 'voice'), results.groups(), repr(results.groups()), results._repr_html_()\n"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_empty_directory_is_used(results, tmp_path):
    (tmp_path / "out").mkdir()
    results.save(tmp_path / "out")
    assert Results.load(tmp_path / "out").seeds == (1, 2)


def strange_file(out):
    out.write_text("mine")


def strange_directory(out):
    out.mkdir()
    (out / "thesis.txt").write_text("mine")


def strange_manifest(out):
    out.mkdir()
    (out / "manifest.json").write_text('{"name": "a web application"}')


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (strange_file, "is a file"),
        (strange_directory, "holds no results of tidegate"),
        (strange_manifest, "holds no results of tidegate"),
    ],
)
def test_what_is_not_ours_is_left_alone(results, tmp_path, prepare, message):
    out = tmp_path / "out"
    prepare(out)
    before = sorted(tmp_path.rglob("*"))
    for attempt in (outdir.check_writable, results.save):
        with pytest.raises(TidegateError, match=message):
            attempt(out)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_added_to_earlier_results_keeps_them_from_being_replaced(results, tmp_path):
    out = results.save(tmp_path / "out")
    (out / "notes.md").write_text("mine")
    with pytest.raises(TidegateError, match=r"also holds notes\.md"):
        results.save(out)
    assert (out / "notes.md").read_text() == "mine"


def test_a_path_below_a_file_is_no_directory(results, chain):
    for attempt in (outdir.check_writable, results.save):
        with pytest.raises(TidegateError, match="cannot be written: Not a directory"):
            attempt(chain / "out")


def test_a_check_leaves_no_trace(tmp_path):
    outdir.check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_what_was_there(results, tmp_path, monkeypatch, earlier):
    out = tmp_path / "above" / "out"
    if earlier:
        results.save(out)
    before = sorted(tmp_path.rglob("*"))

    def full(_table, where, **_):
        where.write_bytes(b"PAR1 and half a table")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(TidegateError, match="out: cannot be written: No space left on device"):
        results.save(out)
    assert sorted(tmp_path.rglob("*")) == before
    if earlier:
        assert Results.load(out).fingerprints == results.fingerprints


def test_only_results_are_loaded(results, tmp_path):
    with pytest.raises(TidegateError, match="holds no results"):
        Results.load(tmp_path)
    out = results.save(tmp_path / "out")
    (out / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(TidegateError, match="cannot be read"):
        Results.load(out)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"format_version": 7}))
    with pytest.raises(TidegateError, match="format 6"):
        Results.load(out)


def test_results_of_an_earlier_format_are_refused_with_what_is_missing(results, tmp_path):
    out = results.save(tmp_path / "out")
    for name in ("groups", "drops"):
        (out / f"{name}.parquet").unlink()
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"format_version": 2}))
    with pytest.raises(TidegateError) as refused:
        Results.load(out)
    said = str(refused.value)
    assert "results of format 2 without `groups`, `drops`, and this version" in said
    assert "run the scenario.toml in it again" in said
    results.save(out)
    assert Results.load(out).groups() == results.groups()


def test_tables_are_written_as_csv_if_asked_for(results, tmp_path):
    out = results.save(tmp_path / "out", csv=True)
    assert {path.stem for path in out.glob("*.csv")} == {path.stem for path in out.glob("*.parquet")}
    for name, table in results.tables.items():
        read = pyarrow.csv.read_csv(out / f"{name}.csv")
        assert read.column_names == table.column_names
        assert read.num_rows == table.num_rows
    flows = pyarrow.csv.read_csv(out / "flows.csv")
    for column in ("flow", "sent_packets", "delay_mean"):
        assert flows[column].to_pylist() == results.flows[column].to_pylist()
    assert Results.load(out).fingerprints == results.fingerprints
    results.save(out)
    assert list(out.glob("*.csv")) == []


def test_csv_needs_a_directory(chain):
    refused = call("run", chain, "--csv")
    assert refused.exit_code == 1
    assert "--csv writes CSV files beside the others of --out DIR, which is not given" in refused.stderr
