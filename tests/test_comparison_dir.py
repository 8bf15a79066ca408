"""Directories of results hold one scenario, whoever writes them and whatever was killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate import Results, TidegateError

DEFECTS = Path(__file__).parent / "defects"
A, B = (DEFECTS / f"compare-stale-{which}.toml" for which in "AB")


def compare(path, out, schedulers="fifo,virtual-clock", *more):
    return call("compare", path, "--scheduler", schedulers, "--replications", 2, "--out", out, *more)


def test_run_does_not_replace_another_scenarios_results(tmp_path):
    out = tmp_path / "out"
    assert call("run", A, "--out", out).exit_code == 0
    first = Results.load(out)
    refused = call("run", B, "--out", out)
    assert refused.exit_code == 1
    assert "out: holds results of another scenario, `compare-stale-A` in" in refused.stderr
    assert "--force" in refused.stderr
    assert Results.load(out).fingerprints == first.fingerprints
    with pytest.raises(TidegateError, match="results of another scenario"):
        tidegate.simulate(B).save(out)
    assert call("run", B, "--out", out, "--force").exit_code == 0
    assert Results.load(out).scenario_name == "compare-stale-B"


def test_a_scenario_of_the_same_name_elsewhere_is_another_one(tmp_path):
    for folder, source in (("one", A), ("two", B)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.toml").write_text(source.read_text())
    out = tmp_path / "out"
    assert call("run", tmp_path / "one" / "net.toml", "--out", out).exit_code == 0
    assert call("run", tmp_path / "two" / "net.toml", "--out", out).exit_code == 1


def test_an_edited_scenario_replaces_its_results_and_says_so(tmp_path):
    out = tmp_path / "out"
    assert call("run", A, "--out", out).stdout.endswith(f"results in {out}\n")
    again = call("run", A, "--seed", 5, "--out", out)
    assert again.stdout.endswith(f"results in {out}\n")
    edited = call("run", A, "--set", "flow.a.source.rate=500kbit", "--out", out)
    assert edited.exit_code == 0
    assert "they replace those of another text of the scenario" in edited.stdout


def test_compare_mixes_no_scenarios_in_a_directory(tmp_path):
    out = tmp_path / "out"
    assert compare(A, out, "fifo,wfq,virtual-clock").exit_code == 0
    refused = compare(B, out)
    assert refused.exit_code == 1
    assert "holds results of another scenario, `compare-stale-A`" in refused.stderr
    assert sorted(path.name for path in out.iterdir()) == ["fifo", "virtual-clock", "wfq"]
    assert compare(B, out, "fifo,virtual-clock", "--force").exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["fifo", "virtual-clock"]
    assert call("plot", out, "--out", tmp_path / "b.png").exit_code == 0


@pytest.mark.parametrize("more", [["--set", "flow.a.source.rate=500kbit"], ["--seed", "7"]])
def test_compare_keeps_no_folder_of_other_runs_of_the_scenario(tmp_path, more):
    out = tmp_path / "out"
    assert compare(A, out, "fifo,wfq,virtual-clock").exit_code == 0
    refused = compare(A, out, "fifo,virtual-clock", *more)
    assert refused.exit_code == 1
    assert "holds results of another comparison, `compare-stale-A` in wfq" in refused.stderr
    # All of them are replaced: nothing of the earlier comparison stays.
    assert compare(A, out, "fifo,wfq,virtual-clock", *more).exit_code == 0
    # Further policies on the same packets stand beside the others.
    assert compare(A, out, "fifo,drr", *more).exit_code == 0
    assert call("plot", out, "--out", tmp_path / "a.png").exit_code == 0


def test_plot_draws_no_results_of_different_scenarios(tmp_path):
    out = tmp_path / "out"
    for name, source in (("fifo", A), ("wfq", B)):
        tidegate.simulate(source, sets=[("port.scheduler", name)]).save(out / name)
    refused = call("plot", out, "--out", tmp_path / "x.png")
    assert refused.exit_code == 1
    assert "holds results of different scenarios" in refused.stderr
    assert "`compare-stale-A`" in refused.stderr
    assert "`compare-stale-B`" in refused.stderr
    assert not (tmp_path / "x.png").exists()
    # A scenario at another rate is another one, too.
    tidegate.simulate(A, sets=[("port.scheduler", "wfq"), ("topology.rate", "2mbit")]).save(
        out / "wfq", force=True
    )
    assert call("plot", out, "--out", tmp_path / "x.png").exit_code == 1
    tidegate.simulate(A, sets=[("port.scheduler", "wfq")]).save(out / "wfq")
    assert call("plot", out, "--out", tmp_path / "x.png").exit_code == 0


SLOW = """\
import sys, time, pathlib
import pyarrow.parquet as pq
import tidegate
results = tidegate.simulate(sys.argv[1])
write = pq.write_table
def slow(*given, **settings):
    write(*given, **settings)
    print("writing", flush=True)
    time.sleep(60)
pq.write_table = slow
results.save(sys.argv[2])
"""


def beside(out):
    return [path for path in out.parent.iterdir() if path.name.startswith(f".{out.name}.")]


def test_what_a_killed_run_left_is_removed_by_the_next_one_and_what_is_being_written_is_not(tmp_path):
    out = tmp_path / "out"
    writer = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(A), str(out)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "writing\n"
    (left,) = beside(out)
    assert call("run", A, "--out", out).exit_code == 0
    assert beside(out) == [left], "its writer lives"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert beside(out) == [left]
    assert call("run", A, "--out", out).exit_code == 0
    assert beside(out) == []
    assert Results.load(out).replications == 1


def test_nothing_else_is_removed(tmp_path):
    kept = [".out.tmp", ".out.notes.tmp", ".other.0123456789ab.tmp", "out.0123456789ab.tmp"]
    for name in kept:
        (tmp_path / name).mkdir()
    call("run", A, "--out", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "out"])
