"""A scenario file that plays a capture across one link, with the suggested reservations."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from tidegate import _tidegate
from tidegate.replay.buffer import buffer_bytes
from tidegate.replay.names import OTHERS
from tidegate.replay.plan import CapturedFlow, Plan
from tidegate.toml import value_to_toml

LARGEST_FILE = 8 << 20
"""Bytes of the largest scenario file that is read."""


def scenario_toml(plan: Plan, *, scheduler: str, folder: Path | None = None) -> str:
    """Write a scenario in which the flows of `plan` cross one link, each of them once.

    There are two switches and one link without delay, and flows start at the first switch: a flow's
    end-to-end delay is its packets' queueing and own transmission, which is what reservations
    promise.

    Args:
        plan: The capture and the reservations.
        scheduler: Scheduler of the link, as in a scenario.
        folder: Folder of the scenario file, from which the capture is named; None to name it
            absolutely.

    Raises:
        TidegateError: The file's name is not text, or the scenario is larger than one may be.
    """
    file = str(plan.file.resolve())
    if not _is_text(file):
        raise _tidegate.TidegateError(
            f"{str(plan.file)!r}: a scenario can only name files whose names are UTF-8"
        )
    if folder is not None:
        file = os.path.relpath(file, folder.resolve())
    # Long enough for the last packet that waits to leave.
    milliseconds = math.ceil((plan.lasts + _time_to_drain(plan)) * 1000) + 1
    lines = [
        f"# {_comment(plan.file.name)} across one link of {_tidegate.show_rate(plan.rate)}: {about(plan)}.",
        "# A replay is open loop: the recorded senders do not react to what happens here.",
        "# r is a flow's mean rate, W its longest backlog at an ideal server of that rate. docs/replay.md",
        "version = 1",
        f"name = {_toml(_title(plan))}",
        f'duration = "{milliseconds}ms"',
        f"port = {{ scheduler = {_toml(scheduler)} }}",
    ]
    if plan.buffer is not None:
        lines.append(f"switch = {{ buffer = {_toml(plan.buffer)} }}")
    lines += ["", "[[node]]", 'name = "in"', "", "[[node]]", 'name = "out"', ""]
    lines += ["[[link]]", 'from = "in"', 'to = "out"', f'rate = "{_tidegate.show_rate(plan.rate)}"']
    lines += [*plan.framing.keys(), "duplex = false"]
    for flow in plan.alone:
        only = [] if plan.unnamed else [f"flow = {_toml(flow.flow)}"]
        lines += _flow(flow, flow.name, _source(plan, file, only))
    if together := len(plan.flows) - len(plan.alone):
        lines += ["", f"# The other {together} flows that cross the link, none of them protected."]
        lines += _flow(None, OTHERS, _source(plan, file, _all_but_those(plan)))[1:]
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > LARGEST_FILE:
        raise _tidegate.TidegateError(f"{plan.file}: its scenario would be larger than 8 MiB")
    return text


def about(plan: Plan) -> str:
    """Say which packets of the file cross the link."""
    ways = {"up": "what goes up, from the inside", "down": "what goes down, to the inside"}
    way = ways.get(plan.direction or "", "everything")
    return f"{way} ({', '.join(plan.inside)})" if plan.inside else way


def _time_to_drain(plan: Plan) -> float:
    """Seconds in which the queue that is left after the last packet is surely sent."""
    everything = plan.charged * plan.repeat
    limit = None if plan.buffer is None else buffer_bytes(plan.buffer, plan.longest_packet)
    return (min(everything if limit is None else limit, everything) + plan.longest_packet) * 8 / plan.rate


def _title(plan: Plan) -> str:
    return f"{plan.file.name} at {_tidegate.show_rate(plan.rate)}"


def _all_but_those(plan: Plan) -> list[str]:
    """Return the keys of a source that plays what crosses the link and has no name of its own."""
    keys = [f"omit = {_list([flow.flow for flow in plan.alone])}"]
    if plan.inside:
        keys += [f"inside = {_list(plan.inside)}", f'direction = "{plan.direction}"']
    return keys


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_toml, texts))}]"


def _source(plan: Plan, file: str, which: list[str]) -> str:
    keys = [f'kind = "{"capture" if plan.tuples else "trace"}"', f"file = {_toml(file)}", *which]
    if plan.speed != 1:
        keys.append(f"speed = {plan.speed!r}")
    if plan.repeat != 1:
        keys.append(f"repeat = {plan.repeat}")
    return f"{{ {', '.join(keys)} }}"


def _flow(flow: CapturedFlow | None, name: str, source: str) -> list[str]:
    lines = [""]
    if flow is not None:
        seen = f"{flow.packets} packets, {flow.bytes} B"
        if flow.mean_rate is not None:
            seen += f", r = {flow.mean_rate} bit/s, W = {flow.burst} B"
        if flow.promised_p99 is not None:
            seen += f"; promised: 99 % within {flow.promised_p99 * 1e3:.4g} ms"
        lines.append(f"# {_comment(seen)}")
    lines += ["[[flow]]", f'name = "{name}"', 'from = "in"', 'to = "out"']
    if flow is not None and flow.reserve is not None:
        lines.append(f'reserve = "{_tidegate.show_rate(flow.reserve)}"')
    else:
        # Read by strict priority only, where flows without a reservation come second.
        lines.append("priority = 1")
    lines.append(f"source = {source}")
    return lines


def _is_text(path: str) -> bool:
    return path.encode("utf-8", "replace").decode() == path


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _toml(text: str) -> str:
    return value_to_toml(text, "")
