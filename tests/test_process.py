"""The `tidegate` command as a process: signals and pipes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tidegate
from conftest import start


def wait_for_threads(process, threads):
    """Wait until the process has so many threads: until it is at work."""
    while process.poll() is None and len(list(Path(f"/proc/{process.pid}/task").iterdir())) < threads:
        time.sleep(0.05)


def test_an_interrupted_run_ends_and_leaves_nothing(endless, tmp_path):
    process = start("run", endless, "--replications", 3, "--jobs", 2, "--out", tmp_path / "out")
    wait_for_threads(process, 3)
    process.send_signal(signal.SIGINT)
    # The run itself would take hours: that it ends at all is because it was asked to.
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (output, errors) == ("", "tidegate: interrupted\n")
    assert list(tmp_path.iterdir()) == [endless]


def test_a_reader_that_leaves_early_is_no_error():
    process = start("reference")
    process.stdout.readline()
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert errors == ""


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_reader_that_never_was_is_no_error(chain, command):
    process = start(command, chain)
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=60)


def test_a_reader_that_leaves_a_table_is_no_bad_input(chain):
    process = start("run", chain)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_stream_that_is_closed_is_no_error(chain, tmp_path, closed):
    code = "from tidegate.cli import main; main()"
    shell = f'exec "$0" "$@" {closed}>&-'
    command = ["sh", "-c", shell, sys.executable, "-c", code, "run", chain, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert tidegate.Results.load(tmp_path / "out").seeds == (1,)


@pytest.mark.parametrize("coding", ["latin-1", "ascii"])
def test_a_terminal_without_unicode_shows_what_it_can(chain, coding):
    for arguments in (["run", chain, "--replications", "2"], ["reference"]):
        process = start(*arguments, coding=coding)
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        assert output


def test_names_that_are_no_utf8_are_no_error(chain, tmp_path):
    odd = tmp_path / os.fsdecode(b"\xff")
    for arguments in (
        ["run", chain, "--out", odd],
        ["explain", odd, "--flow", "voice"],
        ["check", odd / "no"],
    ):
        process = start(*arguments)
        output, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors
        assert (process.returncode, bool(output)) == ((0, True) if arguments[0] != "check" else (1, False))


def test_a_full_standard_output_is_one_message():
    with Path("/dev/full").open("w") as full:
        process = start("schema", stdout=full)
        _, errors = process.communicate(timeout=60)
    assert errors == "tidegate: No space left on device\n"
    assert process.returncode == 1


def test_a_run_is_the_same_in_every_process(chain):
    process = start("run", chain, "--json")
    output, errors = process.communicate(timeout=60)
    assert errors == ""
    assert json.loads(output)["fingerprint"] == tidegate.simulate(chain).fingerprints[0]
