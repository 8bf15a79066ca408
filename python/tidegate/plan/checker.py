"""Re-checks the certificate of a plan, in exact rational numbers: `python checker.py CERTIFICATE.json`.

This program imports nothing of tidegate, and has its own reading of the theory.

Model. A flow is within its contract if over any closed interval of t seconds it sends at most `burst +
rate · t` for each of its token buckets, in whole packets. A port with VirtualClock whose reservations do
not exceed the rate C of its link is a guaranteed-rate node of rate R and error L / C, for a flow with
the reservation R, where L is the largest packet of any flow (Goyal, Lam and Vin, Determining end-to-end
delay bounds in heterogeneous networks, Multimedia Systems 5(3), 1997). For each
flow it is a server with the rate-latency curve (R, L / C) and a packetizer behind it (Le Boudec and Thiran,
Network Calculus, 2001, section 2.1.3). A packetizer behind a server takes a packet l off its curve, which is
l / R of latency; the last one on the route adds no delay (section 1.7.2). Curves in a row are convolved
(section 1.4.3): latencies add up.

Delay: the horizontal deviation of contract and curve (section 1.4.1), and all propagation. Backlog at a
port: the vertical deviation of the contract and the curve of all ports up to that one, with the packetizer
of that one (section 1.4.1).
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

Buckets = list[tuple[Fraction, Fraction]]


class CertificateError(Exception):
    """The certificate does not hold; the message says why."""


def check(certificate: object) -> None:
    """Check all promises of a certificate.

    Raises:
        CertificateError: One does not hold, or the certificate is no certificate.
    """
    try:
        _check(certificate)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, IndexError) as error:
        raise CertificateError(f"it is no certificate: {type(error).__name__} {error}") from None


def _check(document: Any) -> None:
    _demand(document["format"] == "tidegate plan certificate 1", "its format is another one")
    _demand(document["policy"] == "virtual-clock", "its policy is another one")
    nodes = _by_name(document["nodes"], "node")
    _demand(
        all(node["kind"] in ("switch", "host") for node in nodes.values()), "a node is no switch and no host"
    )
    links = _by_name(document["links"], "link")
    for name, link in links.items():
        _demand(link["from"] in nodes and link["to"] in nodes, f"{name} has an unknown end")
        _demand(
            number(link["rate"]) > 0 and number(link["delay"]) >= 0, f"{name} has no rate, or a delay below 0"
        )
    largest = number(document["largest"])
    flows = _by_name(document["flows"], "flow")
    reserved = dict.fromkeys(links, Fraction(0))
    held = {name: Fraction(0) for name, node in nodes.items() if node["kind"] == "switch"}
    for name, flow in flows.items():
        _check_flow(name, flow, nodes, links, largest)
        for link, backlog in zip(flow["route"], flow["backlogs"], strict=True):
            reserved[link] += number(flow["reserve"])
            if links[link]["from"] in held:
                held[links[link]["from"]] += number(backlog)
    for name, sum_ in reserved.items():
        _demand(sum_ <= number(links[name]["rate"]), f"the reservations exceed the rate of {name}")
    _demand(set(document["buffers"]) == set(held), "the buffers are not those of the switches")
    for name, sum_ in held.items():
        buffer = number(document["buffers"][name])
        _demand(buffer.denominator == 1, f"the buffer of {name} is no whole number of bytes")
        _demand(buffer >= sum_, f"the buffer of {name} may be too small")
    for name, wish in _by_name(document["wishes"], "wish").items():
        _check_wish(name, wish, flows)


def _check_flow(name: str, flow: Any, nodes: Any, links: Any, largest: Fraction) -> None:
    packet, reserve = number(flow["packet"]), number(flow["reserve"])
    _demand(0 < packet <= largest, f"the packet of {name} is larger than the largest, or empty")
    _demand(reserve > 0 and reserve.denominator == 1, f"the reservation of {name} is no whole number")
    _demand(reserve >= number(flow["least"]), f"the reservation of {name} is below the stated one")
    buckets = contract(flow)
    _demand(
        all(burst >= packet and rate > 0 for burst, rate in buckets),
        f"the contract of {name} lets no packet pass",
    )
    _demand(reserve >= rate_of(flow), f"the reservation of {name} is below its rate")
    at = flow["from"]
    passed = {at}
    for hop, link in enumerate(flow["route"]):
        _demand(links[link]["from"] == at, f"the route of {name} is broken at {link}")
        _demand(hop == 0 or nodes[at]["kind"] == "switch", f"the route of {name} crosses a host")
        at = links[link]["to"]
        _demand(at not in passed, f"the route of {name} passes {at} twice")
        passed.add(at)
    _demand(len(flow["route"]) > 0 and at == flow["to"], f"the route of {name} does not end at its receiver")
    route = [links[link] for link in flow["route"]]
    _demand(number(flow["bound"]) == delay(flow, route, largest), f"the bound of {name} is wrong")
    _demand(len(flow["backlogs"]) == len(route), f"{name} has not one backlog for each port")
    for hop, backlog in enumerate(flow["backlogs"]):
        right = backlog_at(flow, route[: hop + 1], largest)
        _demand(number(backlog) == right, f"the backlog of {name} at {flow['route'][hop]} is wrong")


def _check_wish(name: str, wish: Any, flows: Any) -> None:
    _demand(len(wish["flows"]) > 0, f"{name} has no flows")
    _demand(len(set(wish["flows"])) == len(wish["flows"]), f"{name} counts a flow twice")
    some = [flows[flow] for flow in wish["flows"]]
    bound = number(wish["bound"])
    _demand((wish["delay"] is None) != (wish["total"] is None), f"{name} is no wish of one thing")
    if wish["delay"] is not None:
        _demand(bound == max(number(flow["bound"]) for flow in some), f"the bound of {name} is wrong")
        _demand(bound <= number(wish["delay"]), f"{name} is not kept")
    else:
        _demand(bound == sum(rate_of(flow) for flow in some), f"the total of {name} is wrong")
        _demand(bound >= number(wish["total"]), f"{name} is not kept")


def contract(flow: Any) -> Buckets:
    """Return burst and rate of each bucket: a packet and the reservation where the contract is the plan's."""
    if flow["contract"] is None:
        return [(number(flow["packet"]), number(flow["reserve"]))]
    _demand(len(flow["contract"]) > 0, f"the contract of {flow['name']} has no bucket")
    return [(number(bucket["burst"]), number(bucket["rate"])) for bucket in flow["contract"]]


def rate_of(flow: Any) -> Fraction:
    """Return the rate in the long run."""
    return min(rate for _, rate in contract(flow))


def delay(flow: Any, route: Any, largest: Fraction) -> Fraction:
    """Return the bound on the delay over a route, in s."""
    reserve = number(flow["reserve"])
    latency = sum((8 * largest / number(link["rate"]) for link in route), Fraction(0))
    latency += (len(route) - 1) * 8 * number(flow["packet"]) / reserve
    # The curve has served what comes by a time so much later, at the most.
    late = max(8 * sent / reserve + latency - time for time, sent in _points(contract(flow)))
    return late + sum(number(link["delay"]) for link in route)


def backlog_at(flow: Any, route: Any, largest: Fraction) -> Fraction:
    """Return the most bytes of a flow at the last port of a part of its route."""
    reserve = number(flow["reserve"])
    latency = sum((8 * largest / number(link["rate"]) for link in route), Fraction(0))
    latency += len(route) * 8 * number(flow["packet"]) / reserve
    buckets = contract(flow)
    points = _points(buckets)
    points.append((latency, min(burst + rate * latency / 8 for burst, rate in buckets)))
    return max(sent - reserve * max(time - latency, Fraction(0)) / 8 for time, sent in points)


def _points(buckets: Buckets) -> list[tuple[Fraction, Fraction]]:
    """Return the times at which two buckets meet, and 0, with the bytes that all buckets let pass by then.

    Between them the contract is a straight line, so that no time has a larger deviation.
    """
    times = {Fraction(0)}
    for (burst, rate), (other, faster) in combinations(buckets, 2):
        if rate != faster:
            times.add(8 * (other - burst) / (rate - faster))
    return [(time, min(burst + rate * time / 8 for burst, rate in buckets)) for time in times if time >= 0]


def number(text: str) -> Fraction:
    """Return the number of a text: `5`, or `5/2`."""
    if not isinstance(text, str) or not text.isascii() or not set(text) <= set("0123456789/"):
        raise ValueError(f"{text!r} is not the text of a number of at least 0")
    return Fraction(text)


def _by_name(entries: Any, what: str) -> dict[str, Any]:
    named = {entry["name"]: entry for entry in entries}
    _demand(len(named) == len(entries), f"two entries have the name of one {what}")
    return named


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise CertificateError(message)


def main(path: str) -> int:
    """Check a file; return 0 if it holds, and 1 if it does not."""
    try:
        check(json.loads(Path(path).read_text(encoding="utf-8")))
    except (CertificateError, OSError, ValueError) as error:
        print(f"{path}: refused: {error}", file=sys.stderr)
        return 1
    print(f"{path}: every promise holds")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else "usage: python checker.py CERTIFICATE.json")
