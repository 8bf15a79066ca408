"""The files that a replay writes."""

import errno
import os
import tomllib
from pathlib import Path

import pytest

import tidegate
from captures import OFFICE, VOICE
from conftest import call
from tidegate.replay import replay
from tidegate.replay.files import MARK

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_the_written_scenario_has_the_same_outcome(office, tmp_path):
    for scheduler, results in office.results.items():
        path = office.write_scenario(tmp_path / f"{scheduler}.toml", scheduler)
        again = tidegate.simulate(path)
        assert again.fingerprints == results.fingerprints
    text = path.read_text()
    assert text.startswith(MARK)
    assert text.count(f'"{VOICE}"') == 1
    assert text.count("[[flow]]") == 123


def test_a_file_that_a_person_has_changed_is_not_replaced(office, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("# mine\n")
    for write in (office.write_scenario, office.write_gate):
        with pytest.raises(tidegate.TidegateError, match="has been edited since a replay wrote it"):
            write(path)
        assert path.read_text() == "# mine\n"
        ours = write(write(tmp_path / "ours.toml"))
        changed = ours.read_text() + "# and this\n"
        ours.write_text(changed)
        with pytest.raises(tidegate.TidegateError, match="--force overwrites it"):
            write(ours)
        assert ours.read_text() == changed
        assert "# and this" not in write(ours, force=True).read_text()


def test_the_command_replaces_what_it_wrote_and_keeps_what_was_changed():
    assert call("replay", OFFICE, "--rate", "3mbit").exit_code == 0
    assert call("replay", OFFICE, "--rate", "4mbit").exit_code == 0
    for name in ("office.toml", "office-gate.toml"):
        path = Path(name)
        whole = path.read_text()
        path.write_text(whole + "# mine\n")
        done = call("replay", OFFICE, "--rate", "3mbit")
        assert done.exit_code == 1
        assert f"{name}: has been edited since a replay wrote it" in done.stderr
        assert path.read_text() == whole + "# mine\n"
        assert call("replay", OFFICE, "--rate", "3mbit", "--force").exit_code == 0
        assert "# mine" not in path.read_text()


def test_a_capture_is_never_overwritten(tmp_path):
    """Not by --force, by whatever name, and not where its own name is that of the scenario."""
    capture = tmp_path / "mine.pcap"
    capture.write_bytes(OFFICE.read_bytes())
    (tmp_path / "link.toml").symlink_to(capture)
    os.link(capture, tmp_path / "hard-gate.toml")
    listed = tmp_path / "list.toml"
    listed.write_text("".join(f"{at / 50:.2f} 100\n" for at in range(100)))
    for arguments in (
        (capture, "--scenario", capture),
        (capture, "--scenario", "link.toml"),
        (capture, "--scenario", "hard.toml"),
        (capture, "--scenario", f"../{tmp_path.name}/mine.pcap"),
        (listed,),
    ):
        done = call("replay", arguments[0], "--rate", "3mbit", "--force", *arguments[1:])
        assert done.exit_code == 1
        assert "is the capture, and is never overwritten" in done.stderr
    assert capture.read_bytes() == OFFICE.read_bytes()
    assert listed.read_text().startswith("0.00 100")
    played = replay(capture, rate="3mbit", schedulers=["fifo"])
    for write in (played.write_scenario, played.write_gate):
        with pytest.raises(tidegate.TidegateError, match="never overwritten"):
            write(capture, force=True)


def test_results_are_kept_apart_from_those_of_other_runs(tmp_path, chain):
    other = tmp_path / "other.pcap"
    other.write_bytes(OFFICE.read_bytes())

    def run(*arguments):
        return call(*arguments, "--out", "out")

    assert run("replay", OFFICE, "--rate", "3mbit").exit_code == 0
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    for arguments in (
        ("replay", other, "--rate", "3mbit"),
        ("replay", OFFICE, "--rate", "5mbit", "--scheduler", "fifo"),
        ("replay", OFFICE, "--rate", "5mbit", "--scheduler", "wfq"),
    ):
        done = run(*arguments)
        assert done.exit_code == 1
        assert "holds results of another run" in done.stderr
        assert len(done.stderr.splitlines()) == 2
        assert {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before
    # An equal capture takes the place of all that it wrote.
    assert run("replay", OFFICE, "--rate", "5mbit").exit_code == 0
    assert {
        tidegate.Results.load(path).scenario_name for path in (Path("out/fifo"), Path("out/virtual-clock"))
    } == {"office.pcap at 5mbit"}
    assert call("run", chain, "--out", "alone").exit_code == 0
    done = call("replay", OFFICE, "--rate", "3mbit", "--out", "alone")
    assert done.exit_code == 1
    assert "holds results of another run" in done.stderr


def test_captures_whose_names_differ_have_files_of_their_own(tmp_path):
    for name in ("a.1.pcap", "a.2.pcap"):
        (tmp_path / name).write_bytes(OFFICE.read_bytes())
        assert call("replay", name, "--rate", "3mbit").exit_code == 0
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"a.1.toml", "a.1-gate.toml", "a.2.toml", "a.2-gate.toml"}
    assert not any(name.endswith(".part") for name in written)


def test_a_full_disk_is_one_message(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    done = call("replay", OFFICE, "--rate", "3mbit")
    assert done.exit_code == 1
    assert done.stderr == "tidegate: office.toml: cannot be written: No space left on device\n"
    assert list(tmp_path.iterdir()) == []


def test_the_gate_file_is_one_that_a_gate_takes(office, tmp_path):
    path = office.write_gate(tmp_path / "gate.toml")
    assert tidegate._tidegate.gate(["tidegate gate", "check", str(path)]) == 0
    text = path.read_text()
    # A client's port is another one next time; a call's ports are all that tells it.
    assert 'protocol = "tcp", outside_port = 22' in text
    assert 'protocol = "udp", inside_port = 40000, outside_port = 40000' in text
    assert text.count("down = { reserve = ") == 3
    gated = tomllib.loads(text)
    reserved = [tidegate._tidegate.parse_rate(flow["down"]["reserve"]) for flow in gated["flow"]]
    assert sum(reserved) == office.plan.reserved


def test_flows_that_a_gate_cannot_tell_apart_share_a_rule(tmp_path):
    rows = [
        f"{at / 20 + flow / 1000:.3f},120,10.0.0.{9 - flow}:22>10.9.9.9:{4000 + flow}/tcp"
        for at in range(200)
        for flow in (0, 0, 1)
    ]
    path = tmp_path / "shells.csv"
    path.write_text("\n".join(["time,size,flow", *rows]).replace("10.0.0.8", "10.0.0.9") + "\n")
    played = replay(path, rate="1mbit")
    assert len(played.plan.protected) == 2
    text = played.write_gate(tmp_path / "gate.toml").read_text()
    assert text.count("[[flow]]") == 1
    assert f'reserve = "{tidegate._tidegate.show_rate(played.plan.reserved)}"' in text


def test_a_name_that_no_scenario_can_hold_is_one_message():
    name = os.fsdecode(b"\xff.pcap")
    Path(name).write_bytes(OFFICE.read_bytes())
    done = call("replay", name, "--rate", "3mbit")
    assert done.exit_code == 1
    assert done.stderr == ("tidegate: '\\udcff.pcap': a scenario can only name files whose names are UTF-8\n")
