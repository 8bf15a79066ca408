"""The segments that a sender of TCP sends after stated losses, beside those of a Linux kernel."""

import json
import os

import pytest

from conftest import call
from tidegate import TidegateError
from tidegate_lab.testbed import losses
from tidegate_lab.testbed.losses import DATA, NEAR, PATTERNS, Segment
from tidegate_lab.uml import build

VERIFY = os.environ.get("TIDEGATE_VERIFY")
RECORDED = losses.recorded()
names = pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)


@names
def test_the_sender_sends_what_the_kernel_sent(pattern):
    found = losses.compare(pattern, RECORDED[pattern.name], losses.in_simulator(pattern))
    assert found.holds == (pattern.name not in OPEN), found


@names
def test_the_record_has_the_stated_losses_and_no_others(pattern):
    kernel = RECORDED[pattern.name]
    again, end = [], 0
    for one in kernel:
        assert one.length == DATA
        if one.start < end:
            again.append(one.start // DATA + 1)
        end = max(end, one.start + one.length)
    assert sorted(again) == list(pattern.dropped)
    assert kernel.index(next(one for one in kernel if kernel.index(one) + 1)) == 0
    assert [one.time for one in kernel] == sorted(one.time for one in kernel)


@pytest.mark.skipif(not VERIFY, reason="some seconds in the kernel: set TIDEGATE_VERIFY")
@names
def test_the_kernel_does_it_again(pattern):
    anew = losses.compared(losses.in_kernel(build.find(), pattern))
    assert [one[1:] for one in anew] == [one[1:] for one in RECORDED[pattern.name]]
    assert max(abs(a.time - b.time) for a, b in zip(anew, RECORDED[pattern.name], strict=True)) < NEAR
