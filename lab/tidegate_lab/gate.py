"""A gate in the box: started, watched, stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegate import TidegateError
from tidegate_lab.net import GATE_INSIDE, GATE_OUTSIDE, Net

OWN = (sys.executable, "-m", "tidegate", "gate")
"""The installed gate: the same function as the `tidegate-gate` program."""


class Gate:
    """A gate in the box that runs a file of this package, on one processor.

    Args:
        net: The network.
        file: Name of the file in this package; None for a gate of which only the line's rate is
            stated.
        sets: Values that are changed in it, as in `gate.up=20mbit`.
        processor: The number of the processor.
        arguments: More arguments of `up`.
        rate: Rate of the line where there is no file, as in `20mbit`.

    Raises:
        TidegateError: It did not start.
    """

    def __init__(
        self,
        net: Net,
        file: str | None,
        sets: Sequence[str],
        processor: int,
        arguments: Sequence[str] = (),
        rate: str = "",
    ) -> None:
        # Its control socket is named after it.
        changes = [word for one in (f"name={net.name('box')}", *sets) for word in ("--set", one)]
        line = ("--inside", GATE_INSIDE, "--outside", GATE_OUTSIDE, "--rate", rate)
        stated = line if file is None else (str(Path(__file__).with_name(file)),)
        words = (*OWN, "up", *stated, "--json", *changes, *arguments)
        self._process: subprocess.Popen[bytes] = net.start("box", words, processor, subprocess.PIPE)
        assert self._process.stderr is not None
        said = self._process.stderr.readline().decode()
        if " -> " not in said:
            more = said + self._process.stderr.read().decode()
            raise TidegateError(f"the gate did not start: {more.strip()}")

    def cpu(self) -> float:
        """Return the processor time that it has taken so far, in seconds, by the kernel's scheduler."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def stop(self) -> dict[str, Any]:
        """Stop it as an operator would, and return its report.

        Raises:
            TidegateError: It did not end well.
        """
        self._process.send_signal(signal.SIGTERM)
        printed, said = self._process.communicate()
        if self._process.returncode != 0:
            raise TidegateError(f"the gate failed: {said.decode().strip()}")
        report: dict[str, Any] = json.loads(printed)
        return report
