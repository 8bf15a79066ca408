"""The `tidegate` command as a process: signals, pipes and time."""

import json
import signal
import time
from pathlib import Path

import pytest

import tidegate
from conftest import start


def test_an_interrupted_run_ends_soon_and_leaves_nothing(endless, tmp_path):
    process = start("run", endless, "--replications", 3, "--jobs", 2, "--out", tmp_path / "out")
    time.sleep(1.5)
    assert process.poll() is None
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=10)
    assert time.monotonic() - asked < 1.5
    assert process.returncode == 130
    assert (output, errors) == ("", "tidegate: interrupted\n")
    assert list(tmp_path.iterdir()) == [endless]


def test_a_reader_that_leaves_early_is_no_error():
    process = start("reference")
    process.stdout.readline()
    process.stdout.close()
    _, errors = process.communicate(timeout=10)
    assert errors == ""


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_reader_that_never_was_is_no_error(chain, command):
    process = start(command, chain)
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=10)


def test_a_full_standard_output_is_one_message():
    with Path("/dev/full").open("w") as full:
        process = start("schema", stdout=full)
        _, errors = process.communicate(timeout=10)
    assert errors == "tidegate: No space left on device\n"
    assert process.returncode == 1


def test_a_run_is_the_same_in_every_process(chain):
    process = start("run", chain, "--json")
    output, errors = process.communicate(timeout=20)
    assert errors == ""
    assert json.loads(output)["fingerprint"] == tidegate.simulate(chain).fingerprints[0]


def test_a_check_takes_well_under_a_second(chain):
    times = []
    for _ in range(3):
        began = time.perf_counter()
        start("check", chain).communicate(timeout=10)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.8
