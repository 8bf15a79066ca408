"""Puts a gate into a plan, in place of the port of a link."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate_lab.uml.guest import RESULTS

FILE = "gate.toml"


@dataclass(frozen=True)
class Gated:
    """A gate in place of the port of a link, and of the link back.

    Attributes:
        link: Name of the link.
        file: Returns the gate's file, for the address from which each flow is sent.
    """

    link: str
    file: Callable[[Mapping[str, str]], str]


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
    addresses = {
        flow["name"]: own["source_address"]
        for flow, own in zip(found["flows"], planned["flows"], strict=True)
    }
    (place / FILE).write_text(gated.file(addresses), encoding="utf-8")
    command = [sys.executable, "-m", "tidegate", "gate", "up", f"{RESULTS}/{FILE}", "--json"]
    planned["gate"] = {"box": box, "command": command}
