"""The kernel's queueing disciplines for the policies of a port, as arguments of `tc`.

The kernel counts no packet on its way out, so its limits are one packet less than a scenario's. It
counts lengths with the Ethernet header, as the packets of a scenario are taken to have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate import TidegateError
from tidegate_lab.uml.build import HZ

UNLIMITED = 1_000_000
"""Packets for which a queue without a limit has room."""
MICROSECONDS = 1e6
MOST_BURST = 10_000
"""The longest burst that is looked for."""

Flows = Sequence[tuple[str, Mapping[str, Any]]]
"""The destination address of each flow that leaves by the port, and its contract there."""


@dataclass(frozen=True)
class Place:
    """The place of a dropper.

    Attributes:
        link: The link behind it.
        limit: Packets for which the queue has room.
        longest: Bytes of the longest packet that passes. A scenario may count packets where the
            kernel counts bytes: each then counts as that many.
    """

    link: Mapping[str, Any]
    limit: int
    longest: int

    def packets(self, own: Mapping[str, int] | None) -> int:
        """Return the limit in packets, where the dropper may have its own.

        Raises:
            TidegateError: Its own is in bytes.
        """
        if own is None:
            return self.limit
        if "packets" not in own:
            raise _nothing(self.link, "a dropper with a limit in bytes")
        return min(self.limit, packets(own, self.longest))

    def bytes(self, own: Mapping[str, int] | None) -> int:
        """Return the limit in bytes, where the dropper may have its own."""
        room = self.limit * self.longest
        return room if own is None else min(room, max(_bytes(own, self.longest) - self.longest, 1))


def lines(link: Mapping[str, Any], buffer: Mapping[str, int] | None, flows: Flows, longest: int) -> list[str]:
    """Return the commands for the port of a link, below class 1:1 of the device `@`.

    Raises:
        TidegateError: The kernel has nothing for one of its policies.
    """
    port = link["port"]
    if port["meters"]:
        raise TidegateError(f"link `{link['name']}`: the kernel has no meters before a queue")
    if port["ceiling"] is not None or port["classes"]:
        raise TidegateError(
            f"link `{link['name']}`: classes and ceilings are not carried over to the kernel yet"
        )
    scheduler, dropper = port["scheduler"], port["dropper"]
    limit = packets(buffer, longest) if buffer else UNLIMITED
    if dropper is not None:
        name = dropper["policy"]["name"]
        make = PER_FLOW.get((scheduler["name"], name)) if dropper["per_flow"] else DROPPERS.get(name)
        if make is None or (not dropper["per_flow"] and scheduler["name"] != "fifo"):
            raise _nothing(link, f"{scheduler['name']} with {name}")
        kind = make(dropper["policy"]["values"], scheduler["values"], Place(link, limit, longest))
        return [f"qdisc add dev @ parent 1:1 handle 10: {kind}"]
    known = SCHEDULERS.get(scheduler["name"])
    if known is None:
        raise _nothing(link, scheduler["name"])
    return known(scheduler["values"], buffer, flows, longest)


def _nothing(link: Mapping[str, Any], what: str) -> TidegateError:
    have = ", ".join([*SCHEDULERS, *DROPPERS, *("+".join(pair) for pair in PER_FLOW)])
    return TidegateError(
        f"link `{link['name']}`: the kernel has no queueing discipline like {what}\n  help: it has {have}"
    )


def packets(buffer: Mapping[str, int], longest: int) -> int:
    """Return a limit in packets, those on the way out aside."""
    if "packets" in buffer:
        return max(buffer["packets"] - 1, 1)
    return max(buffer["bytes"] // longest - 1, 1)


def _fifo(
    values: Mapping[str, Any], buffer: Mapping[str, int] | None, flows: Flows, longest: int
) -> list[str]:
    del values, flows
    if buffer and "bytes" in buffer:
        kind = f"bfifo limit {max(buffer['bytes'] - longest, longest)}"
    else:
        kind = f"pfifo limit {packets(buffer, longest) if buffer else UNLIMITED}"
    return [f"qdisc add dev @ parent 1:1 handle 10: {kind}"]


def _priority(
    values: Mapping[str, Any], buffer: Mapping[str, int] | None, flows: Flows, longest: int
) -> list[str]:
    del values
    urgencies = sorted({contract["priority"] for _, contract in flows})
    bands = max(len(urgencies), 2)
    limit = packets(buffer, longest) if buffer else UNLIMITED
    made = [f"qdisc add dev @ parent 1:1 handle 10: prio bands {bands} priomap {' '.join(['0'] * 16)}"]
    made += [f"qdisc add dev @ parent 10:{band + 1:x} pfifo limit {limit}" for band in range(bands)]
    for address, contract in flows:
        band = urgencies.index(contract["priority"]) + 1
        made.append(_filter(address, f"10:{band:x}"))
    return made


def _drr(
    values: Mapping[str, Any], buffer: Mapping[str, int] | None, flows: Flows, longest: int
) -> list[str]:
    quantum = values.get("quantum") or longest
    limit = packets(buffer, longest) if buffer else UNLIMITED
    made = ["qdisc add dev @ parent 1:1 handle 10: drr"]
    for number, (address, _) in enumerate(flows, start=1):
        made += [
            f"class add dev @ parent 10: classid 10:{number:x} drr quantum {quantum}",
            f"qdisc add dev @ parent 10:{number:x} pfifo limit {limit}",
            _filter(address, f"10:{number:x}"),
        ]
    return made


def _filter(address: str, flow: str) -> str:
    return f"filter add dev @ parent 10: protocol ip prio 1 u32 match ip dst {address}/32 flowid {flow}"


def _time(seconds: float) -> str:
    return f"{round(seconds * MICROSECONDS)}us"


def _drop_tail(values: Mapping[str, Any], _: Mapping[str, Any], place: Place) -> str:
    if values.get("marked") is not None:
        raise _nothing(place.link, "drop-tail by marks")
    return f"pfifo limit {place.packets(values['limit'])}"


def _codel(values: Mapping[str, Any], _: Mapping[str, Any], place: Place) -> str:
    limit = place.packets(values.get("limit"))
    return f"codel limit {limit} target {_time(values['target'])} interval {_time(values['interval'])} ecn"


def _fq_codel(values: Mapping[str, Any], own: Mapping[str, Any], place: Place) -> str:
    if values.get("limit") is not None:
        raise _nothing(place.link, "a limit for each flow")
    quantum = own.get("quantum")
    words = "" if quantum is None else f" quantum {quantum}"
    return (
        f"fq_codel limit {place.limit} flows 1024{words} target {_time(values['target'])} "
        f"interval {_time(values['interval'])} ecn"
    )


def _pie(values: Mapping[str, Any], _: Mapping[str, Any], place: Place) -> str:
    return f"pie limit {place.packets(values.get('limit'))} {_control(values)}"


def _fq_pie(values: Mapping[str, Any], own: Mapping[str, Any], place: Place) -> str:
    if values.get("limit") is not None:
        raise _nothing(place.link, "a limit for each flow")
    quantum = own.get("quantum")
    words = "" if quantum is None else f" quantum {quantum}"
    return f"fq_pie limit {place.limit} flows 1024{words} {_control(values)}"


def _control(values: Mapping[str, Any]) -> str:
    estimator = " dq_rate_estimator" if values["delay"] == "departures" else ""
    # A timer of the kernel fires in the tick after the one for which it is set.
    update = max(values["update"] - 1 / HZ, 1 / HZ)
    return f"target {_time(values['target'])} tupdate {_time(update)} ecn{estimator}"


def _red(values: Mapping[str, Any], _: Mapping[str, Any], place: Place) -> str:
    mean, longest = values["mean_packet"], place.longest
    # The packet on its way out is in the average of a scenario.
    least, most = (max(_bytes(values[name], longest) - longest, 1) for name in ("min_th", "max_th"))
    return (
        f"red limit {place.bytes(values.get('limit'))} min {least} max {most} avpkt {mean} "
        f"burst {_burst(values['weight'], least / mean, place.link)} "
        f"probability {values['max_p']} bandwidth {place.link['rate']}bit"
        f"{SIGNALS[values['signal']]}"
    )


def _burst(weight: float, least: float, link: Mapping[str, Any]) -> int:
    """Return the burst in packets from which `tc` derives the weight for this threshold.

    Raises:
        TidegateError: It derives none that is nearer to it than half and double.
    """
    exponent = round(-math.log2(weight))

    def derived(burst: int) -> int:
        return next(
            one for one in range(1, 32) if burst + 1 - least <= (1 - (1 - 2.0**-one) ** burst) * 2.0**one
        )

    for burst in range(math.ceil(least), MOST_BURST):
        if derived(burst) == exponent:
            return burst
    raise TidegateError(
        f"link `{link['name']}`: `tc` derives RED's weight from a burst, and none gives {weight:g} here\n"
        f"  help: it is a half at most, and a power of two"
    )


def _bytes(limit: Mapping[str, int], each: int) -> int:
    return limit["bytes"] if "bytes" in limit else limit["packets"] * each


SIGNALS = {"drop": "", "mark-then-drop": " ecn harddrop", "mark": " ecn"}
"""Words for RED's signal: by itself the kernel goes on marking above the upper threshold."""
DROPPERS: dict[str, Callable[..., str]] = {
    "drop-tail": _drop_tail,
    "red": _red,
    "codel": _codel,
    "pie": _pie,
}
"""Disciplines for a dropper behind FIFO."""
PER_FLOW: dict[tuple[str, str], Callable[..., str]] = {
    ("drr++", "codel"): _fq_codel,
    ("drr++", "pie"): _fq_pie,
}
"""Disciplines for a scheduler with a dropper at each flow."""
SCHEDULERS: dict[str, Callable[..., list[str]]] = {
    "fifo": _fifo,
    "strict-priority": _priority,
    "drr": _drr,
}
"""Disciplines for a scheduler alone."""
