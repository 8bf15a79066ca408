"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tidegate import TidegateError
from tidegate_lab import net, probed
from tidegate_lab.measures import Outcome

NAMES = {
    "voice": "a call beside four bulk TCPs on 10 Mbit/s: FIFO, VirtualClock, the kernel's HTB, the simulator",
    "shaping": "a backlogged source at four rates: departures, gaps, the processor's time, HTB and TBF",
    "fairness": "a host that starts to send after another has uploaded alone: the gate, HTB, CAKE, a FIFO",
    "household": "two hosts that upload and a call beside them: the gate without a file, HTB, CAKE, a FIFO",
    "starvation": "what no flow of a file matches, beside a full line: the gate, HTB, CAKE, a FIFO",
    "reports": "a call beside 60,000 idle flows and four clients that scrape the metrics",
    "overload": "a call beside more frames than the gate's processor can forward",
    "late": "a call on a processor that others keep busy: is the gate as late as it reports?",
    "gigabit": "ten TCPs on 1 Gbit/s: total, shares, the processor's time, HTB",
}
"""Experiments and their subjects."""

PROBED = ("fairness", "starvation", "reports", "overload", "late")
"""Those that a file describes as a load and a probe."""


def carry_out(name: str, seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out an experiment, each of its rows for `seconds`; `progress` gets the current measurement.

    Raises:
        TidegateError: There is no such experiment, or it cannot be done here.
    """
    if name not in NAMES:
        raise TidegateError(f"there is no experiment `{name}`\n  help: it is one of {', '.join(NAMES)}")
    net.check_permitted()
    if name in PROBED:
        return probed.carry_out(name, seconds, progress)
    outcome: Outcome = import_module(f"tidegate_lab.{name}").carry_out(seconds, progress)
    return outcome
