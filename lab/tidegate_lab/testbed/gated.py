"""Puts a gate into a plan, in place of the port of a link."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tidegate_lab.uml.guest import RESULTS

FILE = "gate.toml"


class Ends(NamedTuple):
    """The addresses of a flow, that of its sender first."""

    sender: str
    receiver: str


@dataclass(frozen=True)
class Gated:
    """A gate in place of the port of a link, and of the link back.

    Attributes:
        link: Name of the link.
        files: Returns the gate's `FILE` and what it reads, by their names, for the ends of each flow.
    """

    link: str
    files: Callable[[Mapping[str, Ends]], Mapping[str, str]]


def insert(planned: dict[str, Any], found: Mapping[str, Any], gated: Gated, place: Path) -> None:
    """Put a gate into a plan: a node between both ends of the link, in which it runs."""
    at = next(index for index, link in enumerate(found["links"]) if link["name"] == gated.link)
    cable = planned["links"][at]["cable"]
    box = len(planned["nodes"])
    planned["nodes"].append({"ip": [], "sysctls": {}})
    for laid in planned["cables"]:
        if laid["number"] == cable:
            laid["box"] = box
    for link in planned["links"]:
        if link["cable"] == cable:
            # The gate keeps the rate.
            link["is_gated"] = True
    ends = {
        flow["name"]: Ends(own["source_address"], own["address"])
        for flow, own in zip(found["flows"], planned["flows"], strict=True)
    }
    for name, text in gated.files(ends).items():
        (place / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tidegate", "gate", "up", f"{RESULTS}/{FILE}", "--json"]
    planned["gate"] = {"box": box, "command": command}
