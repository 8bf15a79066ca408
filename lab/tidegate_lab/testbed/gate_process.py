"""A gate in a node of its own, as the unchanged program. Runs in the guest."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

from tidegate_lab.testbed.network import node


def start(index: int, command: list[str]) -> subprocess.Popen[str]:
    """Start a gate in a node, and wait until it says that it forwards.

    Raises:
        RuntimeError: It did not start, with what it printed.
    """
    words = ["ip", "netns", "exec", node(index), *command]
    gate = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert gate.stderr is not None
    said = ""
    while " -> " not in said:
        line = gate.stderr.readline()
        if not line:
            raise RuntimeError(f"the gate did not start: {said}")
        said = line
    return gate


def stop(gate: subprocess.Popen[str]) -> Any:
    """Stop a gate, and return its report.

    Raises:
        RuntimeError: It failed, with what it printed.
    """
    gate.send_signal(signal.SIGTERM)
    printed, said = gate.communicate()
    if gate.returncode != 0:
        raise RuntimeError(f"the gate failed: {said}")
    return json.loads(printed)
