"""The segments that a sender of TCP sends after stated losses, beside those of a Linux kernel."""

import json
import os
import select
import socket
import time
from itertools import pairwise

import pytest

from conftest import call
from tidegate import TidegateError
from tidegate_lab.testbed import losses
from tidegate_lab.testbed.clock import Loop
from tidegate_lab.testbed.losses import DATA, NEAR, PATTERNS, WHEEL, Comparison, Segment
from tidegate_lab.uml import build

VERIFY = os.environ.get("TIDEGATE_VERIFY")
RECORDED = losses.recorded()
SINGLE = PATTERNS[0]
each = pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)


@each
def test_the_sender_sends_what_the_kernel_sent(pattern):
    found = losses.compare(pattern, RECORDED[pattern.name], losses.in_simulator(pattern))
    assert found.holds, found


@each
def test_the_record_has_the_stated_losses_and_no_others(pattern):
    kernel, end, again = RECORDED[pattern.name], 0, []
    assert kernel[0] == Segment(0, 0, DATA)
    for one in kernel:
        if one.start < end:
            again.append(one.start // DATA + 1)
        else:
            assert one.start == end
        end = max(end, one.start + one.length)
    # The probe of a tail is its last segment.
    assert sorted(again) == list(pattern.dropped)
    assert len(kernel) > 150
    assert all(earlier.time < later.time for earlier, later in pairwise(kernel))


@pytest.mark.skipif(not VERIFY, reason="seconds in the kernel for each: set TIDEGATE_VERIFY")
@each
def test_the_kernel_does_it_again(pattern):
    anew = losses.compared(losses.in_kernel(build.find(), pattern))
    assert [one[1:] for one in anew] == [one[1:] for one in RECORDED[pattern.name]]
    assert all(
        abs(one.time - before.time) <= NEAR for one, before in zip(anew, RECORDED[pattern.name], strict=True)
    )


def changed(place, **values):
    kernel = list(RECORDED[SINGLE.name])
    kernel[place] = kernel[place]._replace(**values)
    return kernel


def test_a_segment_that_is_another_or_late_is_found():
    kernel = RECORDED[SINGLE.name]
    assert losses.compare(SINGLE, kernel, kernel) == Comparison(len(kernel), None, 0, holds=True)
    # The order of two transmissions, a length, a missing end, a time.
    swapped = [*kernel[:210], kernel[211], kernel[210], *kernel[212:]]
    assert losses.compare(SINGLE, kernel, swapped).difference == 210
    assert losses.compare(SINGLE, kernel, changed(300, length=DATA - 1)).difference == 300
    assert losses.compare(SINGLE, kernel, kernel[:250]).difference == 250
    assert losses.compare(SINGLE, kernel, []).difference == 0
    late = changed(250, time=kernel[250].time + NEAR + 1)
    found = losses.compare(SINGLE, kernel, late)
    assert (found.difference, found.apart, found.holds) == (None, NEAR + 1, False)
    tail = next(pattern for pattern in PATTERNS if pattern.transfer is not None)
    assert losses.compare(tail, kernel, late).holds
    assert not losses.compare(tail, kernel, changed(250, time=kernel[250].time + WHEEL + 1)).holds


def test_a_run_without_a_loss_is_no_record():
    sent = [Segment(number, number * DATA, DATA) for number in range(500)]
    with pytest.raises(TidegateError, match="has not 100 segments"):
        losses.compared(sent)
    with pytest.raises(TidegateError, match="has not 100 segments"):
        losses.compared([*sent, sent[-1]])
    with pytest.raises(TidegateError, match="sent no data"):
        losses.relative([])


def test_the_command_compares_with_the_record(tmp_path):
    done = call("lab", "losses", "--recorded", "--only", "cubic-tail-each")
    assert done.exit_code == 0
    assert "1 of 1 patterns hold" in done.stdout
    shown = call("lab", "losses", "--recorded", "--only", "reno-single", "--json")
    rows = json.loads(shown.stdout)["patterns"]
    assert [(row["pattern"], row["holds"]) for row in rows] == [
        ("reno-single-each", True),
        ("reno-single-delayed", True),
    ]
    refused = call("lab", "losses", "--only", "no-such-pattern")
    assert refused.exit_code == 1
    assert "no pattern has `no-such-pattern` in its name" in refused.stderr
    record = tmp_path / "record.json"
    call("lab", "losses", "--recorded", "--only", "cubic-tail-each", "--record", record)
    assert record.read_text() == losses.RECORDED.read_text()


def test_a_call_that_a_socket_asks_for_comes_at_its_time_and_not_before():
    loop = Loop(time.monotonic_ns())
    here, there = socket.socketpair()
    asked, came = [], []

    def ask(_):
        there.recv(1)
        asked.append(loop.now() + 5_000_000)
        loop.at(asked[0], lambda: came.append(loop.now()))

    loop.watch(there, select.EPOLLIN, ask)
    here.send(b"1")
    loop.run(100_000_000)
    assert came[0] >= asked[0]
    here.close()
    there.close()
