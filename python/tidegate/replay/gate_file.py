"""A gate's file with the reservations of a replay."""

from __future__ import annotations

from tidegate import _tidegate
from tidegate.replay.names import FiveTuple
from tidegate.replay.plan import CapturedFlow, Plan
from tidegate.replay.scenario import about
from tidegate.toml import value_to_toml


def gate_toml(plan: Plan, scheduler: str) -> str | None:
    """Write a gate's file that protects what the plan reserves for; None when nothing has addresses.

    A client's port changes with every connection, so a flow to a service is identified by the
    service's port and the two addresses; flows that cannot be distinguished share a rule, and the
    sum of their reservations.

    Args:
        plan: The capture and the reservations.
        scheduler: Scheduler of the gate's ports.
    """
    rules: dict[str, list[CapturedFlow]] = {}
    for flow in plan.flows:
        if flow.reserve is not None and (tuple_ := FiveTuple.read(flow.flow)) is not None:
            rules.setdefault(_match(tuple_, plan.direction == "up"), []).append(flow)
    if not rules:
        return None
    rate = _tidegate.show_rate(plan.rate)
    way = plan.direction or "down"
    lines = [
        f"# Protects what a replay of {_printable(plan.file.name)} at {rate} reserves for: {about(plan)}.",
        "# Put your interfaces and the rates of your line here: tidegate gate check FILE. docs/gate.md",
        "version = 1",
        "",
        "[gate]",
        'inside = "inside"',
        'outside = "outside"',
    ]
    for side in ("up", "down"):
        lines.append(f'{side} = "{rate}"{"" if side == way else "  # not in the replay"}')
    lines += plan.framing.keys()
    lines += ["", "[port]", f"scheduler = {_toml(scheduler)}"]
    if plan.buffer is not None:
        lines += ["", "[switch]", f"buffer = {_toml(plan.buffer)}"]
    for match, flows in rules.items():
        reserve = _tidegate.show_rate(sum(flow.reserve or 0 for flow in flows))
        named = ", ".join(f"{flow.name} ({_printable(flow.flow)})" for flow in flows)
        lines += ["", f"# {named}", "[[flow]]", f"name = {_toml(flows[0].name)}", f"match = {match}"]
        lines.append(f'{way} = {{ reserve = "{reserve}" }}')
    return "\n".join(lines) + "\n"


def _match(flow: FiveTuple, up: bool) -> str:
    inside, outside = ("source", "destination") if up else ("destination", "source")
    keys = [f'{name} = "{getattr(flow, end)}"' for name, end in (("inside", inside), ("outside", outside))]
    keys.append(f'protocol = "{flow.protocol}"')
    for name, end in (("inside_port", inside), ("outside_port", outside)):
        port = getattr(flow, f"{end}_port")
        if port is not None and flow.service_port in (None, port):
            keys.append(f"{name} = {port}")
    return f"{{ {', '.join(keys)} }}"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _toml(text: str) -> str:
    return value_to_toml(text, "")
