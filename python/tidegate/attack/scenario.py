"""A pattern of arrivals as a scenario: `tidegate run` and `tidegate explain` take it as any other."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate._tidegate import TidegateError
from tidegate.attack.contracts import TICKS
from tidegate.replications import simulate
from tidegate.source import Source, load
from tidegate.toml import loads, to_toml

if TYPE_CHECKING:
    from tidegate.attack import Attack

GONE = ("count", "size", "stop", "every", "lasts")
"""Keys of a flow that a recording has no use for."""

FILES = ("file", "trace")
"""Keys of a scenario that name files."""


def write(attack: Attack, source: Source, path: Path) -> list[Path]:
    """Write a pattern as a scenario, with a recording for each flow beside it.

    Members of a group become flows of their own. The scenario is run once: its outcome must be that of
    the search, with the very delay.

    Args:
        attack: The pattern.
        source: The scenario that was attacked.
        path: File of the new scenario; the recordings have its name, and that of their flow.

    Returns:
        All files, the scenario first.

    Raises:
        TidegateError: The scenario does not give the outcome of the search, as when members of a group
            have different routes.
        OSError: A file cannot be written.
    """
    written = [path]
    document = loads(source.scenario.toml)
    document["name"] = f"{source.scenario.name}: attack on {attack.flow}"
    document["duration"] = _time(round(attack.seconds * TICKS))
    document.pop("warmup", None)
    follow(document, source.base_dir, path.parent)
    flows = []
    for flow in document.get("flow", []):
        members = [sent for sent in attack.pattern if sent.group == flow["name"]]
        flows += [] if members else [flow]
        for sent in members:
            first = sent.packets[0][0]
            recording = path.with_name(f"{path.stem}.{name_of(sent.flow)}.txt")
            recording.write_text(
                "".join(f"{_seconds(at - first)} {size}\n" for at, size in sent.packets), encoding="utf-8"
            )
            written.append(recording)
            kept = {key: value for key, value in flow.items() if key not in GONE}
            source_of = {"kind": "trace", "file": recording.name}
            flows.append(kept | {"name": name_of(sent.flow), "start": _time(first), "source": source_of})
    document["flow"] = flows
    path.write_text(to_toml(document), encoding="utf-8")
    _check(attack, path)
    return written


def name_of(flow: str) -> str:
    """Return the name of a flow in the written scenario: `call-1` for the member `call/1`."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", flow)


def _seconds(ticks: int) -> str:
    return f"{ticks // TICKS}.{ticks % TICKS:011d}"


def _time(ticks: int) -> str:
    return f"{_seconds(ticks)}s"


def follow(table: Any, old: Path, new: Path) -> None:
    """Have the files that a document names found from another folder."""
    if isinstance(table, list):
        for one in table:
            follow(one, old, new)
    elif isinstance(table, dict):
        for key, value in table.items():
            if key in FILES and isinstance(value, str) and not Path(value).is_absolute():
                table[key] = os.path.relpath(old / value, new.absolute())
            else:
                follow(value, old, new)


def _check(attack: Attack, path: Path) -> None:
    results = simulate(load(path), jobs=1)
    if results.fingerprints[0] != attack.fingerprint:
        raise TidegateError(
            f"{path}: this scenario does not give the outcome of the search: recordings, one for each flow, "
            "do not say all that its groups do"
        )
