"""Turns a scenario into a plan: what the guest builds, sends and records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import TidegateError, backends
from tidegate_lab.testbed import network, qdisc
from tidegate_lab.testbed.traffic import PORT

if TYPE_CHECKING:
    import numpy as np

    from tidegate.source import LoadedScenario

ETHERNET = 14
"""Bytes of an Ethernet header, which are part of a packet's size."""
MIN_DATAGRAM = 46
"""The shortest packet that can carry its number, in bytes."""
ADDRESSES, SOURCES = 10 << 24, (10 << 24) + (64 << 16)
"""The first destination address of flows, and the first source address of those that get no answer."""
ECT0 = 2
GREATEST_WINDOW = 1 << 20
"""The receiver's window at or above which the kernel's own tuning is left as it is, in bytes."""
NANOSECONDS = 1e9

HOST = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/tcp_rmem": "4096 131072 6291456",
    "net/ipv4/tcp_wmem": "4096 16384 4194304",
}
"""Settings of each node: the memory for connections is the usual one, whatever the machine has."""
RECOVERY = {
    "rack": {"tcp_sack": 1, "tcp_recovery": 1, "tcp_early_retrans": 3},
    "sack": {"tcp_sack": 1, "tcp_recovery": 0, "tcp_early_retrans": 0},
    "newreno": {"tcp_sack": 0, "tcp_recovery": 0, "tcp_early_retrans": 0},
}
"""Settings of the kernel for a transport's loss recovery."""
CONGESTION = ("reno", "cubic", "dctcp", "bbr")
"""The congestion controls of `kernel.config`."""
UNUSABLE = {
    "has_trace": "a delivery trace",
    "changes": "a change of rate or delay",
    "loses": "loss",
    "has_jitter": "jitter",
    "reorders": "reordering",
    "has_overhead": "link-layer overhead",
}
"""Properties of a link that keep it out of the kernel."""


@dataclass(frozen=True)
class Arrivals:
    """The packets of open-loop flows, and when flows start and stop, as a simulation of the seed draws them.

    Attributes:
        packets: Times in ns and lengths in bytes, by the index of the flow.
        start: When each flow starts, in ns.
        stop: When each flow stops, in ns; None for the end of the run.
    """

    packets: Mapping[int, np.ndarray]
    start: Sequence[int]
    stop: Sequence[int | None]


def described(scenario: LoadedScenario) -> dict[str, Any]:
    """Return the network of a scenario.

    Raises:
        TidegateError: Something in it cannot be carried over to the kernel.
    """
    found = backends.network(scenario)
    if found["has_gate"]:
        raise TidegateError("a gate in the scenario is not carried over to the kernel")
    if found["stages"]:
        raise TidegateError("a stage in the scenario is not carried over to the kernel")
    for link in found["links"]:
        for key, what in UNUSABLE.items():
            if link[key]:
                raise TidegateError(f"link `{link['name']}`: {what} is not carried over to the kernel")
    for flow in found["flows"]:
        if wrong := _unusable(flow):
            raise TidegateError(f"flow `{flow['name']}`: {wrong} not carried over to the kernel")
    return found


def _unusable(flow: Mapping[str, Any]) -> str | None:
    """Return what keeps a flow out of the kernel."""
    source = flow["source"]
    if flow["destinations"] > 1:
        return "several destinations are"
    if flow["paths"] > 1:
        return "a path for each packet is"
    if flow["is_set_up"]:
        return "set-up by signalling is"
    if flow["is_cells"]:
        return "ATM cells are"
    if flow["has_envelope"]:
        return "an envelope is"
    if source["kind"] == "open-loop":
        return None
    if source["transport"]["name"] != "tcp":
        return f"the transport `{source['transport']['name']}` is"
    if source["transport"]["values"]["recovery"] not in RECOVERY:
        return f"the loss recovery `{source['transport']['values']['recovery']}` is"
    if source["transport"]["values"]["congestion"]["name"] not in CONGESTION:
        return f"the congestion control `{source['transport']['values']['congestion']['name']}` is"
    if source["kind"] == "sender" and source["application"]["kind"] != "bulk":
        return f"the application `{source['application']['kind']}` is"
    return None


def plan(
    scenario: LoadedScenario,
    found: Mapping[str, Any],
    arrivals: Arrivals,
    place: Path,
    ends: Sequence[tuple[int, int]] | None = None,
) -> dict[str, Any]:
    """Return the plan of a run, and write the packets of its open-loop flows to `place`.

    Args:
        scenario: The scenario.
        found: Its network.
        arrivals: Its packets.
        place: The folder of the run.
        ends: Numbers of the source address and of the destination address of each flow, all of them
            open-loop; by default each flow has addresses of its own.

    Raises:
        TidegateError: Something in the scenario cannot be carried over to the kernel.
    """
    flows, links = found["flows"], found["links"]
    laid = _cables(links)
    cables = _with_mtu(laid, flows)
    longest = max((flow["largest"] for flow in flows), default=1500)
    numbers = ends or [(index, index) for index in range(len(flows))]
    addresses = [network.dotted(ADDRESSES + 1 + number) for _, number in numbers]
    nodes: list[dict[str, Any]] = [{"ip": [], "sysctls": dict(HOST)} for _ in found["nodes"]]
    planned = []
    for index, flow in enumerate(flows):
        route = [links[at] | laid[at] for at in flow["route"]]
        # Flows that share an address share its route, too.
        mtu = (flow["largest"] if ends is None else longest) - ETHERNET
        own = network.dotted(SOURCES + 1 + numbers[index][0])
        source = own if flow["peer"] is None else addresses[flow["peer"]]
        nodes[route[-1]["to"]]["ip"].append(f"addr add {addresses[index]}/32 dev lo")
        if flow["peer"] is None:
            nodes[route[0]["from"]]["ip"].append(f"addr add {source}/32 dev lo")
        for hop, link in enumerate(route):
            words = f"route add {addresses[index]}/32 via {network.gateway(link)} dev {network.egress(link)}"
            nodes[link["from"]]["ip"].append(words + (f" {_metrics(flow, mtu)}" if hop == 0 else ""))
        both = {
            "from_node": route[0]["from"],
            "to_node": route[-1]["to"],
            "address": addresses[index],
            "source_address": source,
            # A recorder knows flows that share an address by their ports.
            "port": PORT if ends is None else PORT + 1 + index,
        }
        match flow["source"]["kind"]:
            case "open-loop":
                planned.append(both | _datagrams(flow, arrivals.packets[index], index, place))
            case "sender":
                for end in (route[0]["from"], route[-1]["to"]):
                    _set(nodes[end]["sysctls"], flow, found["nodes"][end]["name"])
                sample = round(scenario.sample * 1e9)
                start, stop = arrivals.start[index], arrivals.stop[index]
                planned.append(both | _connection(flow, start, stop, sample))
            case "receiver":
                planned.append(both | {"kind": "answers"})
    for own_node in nodes:
        own_node["ip"] = list(dict.fromkeys(own_node["ip"]))
    used = Counter(at for flow in flows for at in flow["route"])
    return {
        "duration": round(scenario.duration * NANOSECONDS),
        "warmup": round(scenario.warmup * NANOSECONDS),
        "nodes": nodes,
        "cables": cables,
        "links": [
            {
                **laid[at],
                "from": link["from"],
                "to": link["to"],
                "rate": link["rate"],
                "delay": round(link["delay"] * NANOSECONDS),
                "is_recorded": bool(used[at]),
                "qdisc": qdisc.lines(
                    link,
                    found["nodes"][link["from"]]["buffer"],
                    [
                        (addresses[index], flow["plans"][flow["route"].index(at)])
                        for index, flow in enumerate(flows)
                        if at in flow["route"]
                    ],
                    longest,
                ),
            }
            for at, link in enumerate(links)
        ],
        "flows": planned,
    }


def _metrics(flow: Mapping[str, Any], mtu: int) -> str:
    """Return what the kernel is to assume for a flow's route at its source."""
    source = flow["source"]
    words = [] if source["kind"] == "receiver" else [f"mtu {mtu}"]
    if source["kind"] == "sender":
        values = source["transport"]["values"]
        words += [f"initcwnd {values['initial_window']}", f"rto_min {round(values['minimum_rto'] * 1000)}ms"]
    return " ".join(words)


def _datagrams(flow: Mapping[str, Any], packets: np.ndarray, index: int, place: Path) -> dict[str, Any]:
    import numpy as np

    if len(packets) and packets[:, 1].min() < MIN_DATAGRAM:
        raise TidegateError(
            f"flow `{flow['name']}`: a packet of {packets[:, 1].min()} bytes is shorter than a datagram in "
            f"Ethernet with its number ({MIN_DATAGRAM} bytes)"
        )
    name = f"packets-{index}"
    (place / name).write_bytes(np.ascontiguousarray(packets, dtype=np.int64).tobytes())
    return {"kind": "datagrams", "packets": name, "tos": ECT0 if flow["ecn"] else 0}


def _connection(flow: Mapping[str, Any], start: int, stop: int | None, sample: int) -> dict[str, Any]:
    values = flow["source"]["transport"]["values"]
    window = values["receiver_window"]
    return {
        "kind": "connection",
        "congestion": values["congestion"]["name"],
        "receive_buffer": None if window >= GREATEST_WINDOW else window,
        "size": None,
        "start": start,
        "stop": stop,
        "sample": sample,
    }


def _set(sysctls: dict[str, str], flow: Mapping[str, Any], name: str) -> None:
    """Set what a connection states of its ends, which the kernel keeps by host."""
    values = flow["source"]["transport"]["values"]
    wanted = {
        **RECOVERY[values["recovery"]],
        "tcp_frto": 2 if values["frto"] == "on" else 0,
        "tcp_ecn": 1 if values["ecn"] == "on" else 0,
        "tcp_no_metrics_save": 1,
    }
    for key, value in wanted.items():
        path = f"net/ipv4/{key}"
        if sysctls.setdefault(path, str(value)) != str(value):
            raise TidegateError(
                f"flow `{flow['name']}`: another connection of `{name}` has other settings, "
                f"and the kernel keeps `{key}` by host"
            )


def _cables(links: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the cable and the end of each link: the links of both directions have one cable."""
    laid: list[dict[str, Any]] = []
    free: dict[tuple[int, int], list[int]] = {}
    number = 0
    for link in links:
        here, there = link["from"], link["to"]
        if waiting := free.get((here, there)):
            laid.append({"cable": waiting.pop(0), "end": "b", "ends": (there, here)})
            continue
        laid.append({"cable": number, "end": "a", "ends": (here, there)})
        free.setdefault((there, here), []).append(number)
        number += 1
    return laid


def _with_mtu(laid: Sequence[Mapping[str, Any]], flows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each cable with the longest packet that passes it."""
    mtus: dict[int, int] = {}
    for flow in flows:
        for at in flow["route"]:
            cable = laid[at]["cable"]
            mtus[cable] = max(mtus.get(cable, 576), flow["largest"] - ETHERNET)
    ends = {one["cable"]: one["ends"] for one in laid}
    return [{"number": cable, "ends": both, "mtu": mtus.get(cable, 1500)} for cable, both in ends.items()]
