"""A gate in the box: started, asked, stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegate._tidegate import TidegateError
from tidegate.lab.net import Net

OWN = (sys.executable, "-c", "import sys; from tidegate._tidegate import gate; sys.exit(gate(['gate', *sys.argv[1:]]))")
"""The package's own gate, the same function as the `tidegate-gate` program."""


class Gate:
    """A gate that runs a file in the box, on one processor."""

    def __init__(
        self,
        net: Net,
        text: str,
        processor: int,
        arguments: Sequence[str] = (),
        program: Sequence[str] = OWN,
    ) -> None:
        self._errors = tempfile.TemporaryFile()
        with tempfile.TemporaryDirectory() as folder:
            # A name of its own, so that its control socket has one too.
            path = Path(folder, f"{net.name('box')}.toml")
            path.write_text(text)
            words = (*program, "up", str(path), "--json", *arguments)
            self._process: subprocess.Popen[bytes] = net.start("box", words, processor, subprocess.PIPE)
            assert self._process.stderr is not None
            said = self._process.stderr.readline().decode()
            if " -> " not in said:
                more = said + self._process.stderr.read().decode()
                raise TidegateError(f"the gate did not start: {more.strip()}")

    def cpu(self) -> float:
        """Return the seconds of a processor that it has taken so far, as the kernel's scheduler counts them."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def stop(self) -> dict[str, Any]:
        """Stop it as an operator would, and return its report."""
        self._process.send_signal(signal.SIGTERM)
        printed, said = self._process.communicate()
        if self._process.returncode != 0:
            raise TidegateError(f"the gate failed: {said.decode().strip()}")
        report: dict[str, Any] = json.loads(printed)
        return report
