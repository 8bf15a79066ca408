"""Scalable TCP (Kelly 2003) as a congestion control in Python.

    tidegate compare examples/tcp.toml --python examples/scalable_tcp.py --column 'reno:' \\
        --column 'scalable: connection.there.transport.congestion=scalable-tcp'

It loses more than twice as many packets as Reno, for no more throughput.
"""

from typing import ClassVar

import tidegate
from tidegate.congestion import Acknowledgement, Windows


class ScalableTcp(tidegate.CongestionControl):
    """Grows the window by a part of what is acknowledged, and reduces it by a part of itself."""

    name = "scalable-tcp"
    parameters: ClassVar = {"increase": 0.01, "left": 0.875}
    increase: float
    left: float

    def avoid(self, now: int, windows: Windows, report: Acknowledgement) -> int:
        """Add a part of the bytes that are acknowledged."""
        return windows.cwnd + max(round(self.increase * report.new), 1)

    def decrease(self, now: int, windows: Windows, flight: int) -> int:
        """Leave most of what is in flight."""
        return round(self.left * flight)
