"""The scenario format as dataclasses, written from the records: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import ClassVar, Literal

from tidegate import quantities


def _plain(
    value: object, quantity: type[quantities.Rate | quantities.Size | quantities.Time] | None
) -> object:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(one, quantity) for one in value]
    if quantity is not None and isinstance(value, Real):
        return quantity(value)
    return value


@dataclass(frozen=True, kw_only=True)
class Record:
    """A table of a scenario."""

    _kind: ClassVar[str | None] = None
    _quantities: ClassVar[dict[str, type[quantities.Rate | quantities.Size | quantities.Time]]] = {}
    """Keys that take a number in base units (bit/s, bytes, seconds) as well."""

    def to_dict(self) -> dict[str, object]:
        """Return what a scenario file would hold; keys that are None are left out."""
        table: dict[str, object] = {} if self._kind is None else {"kind": self._kind}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                table[field.name.removesuffix("_")] = _plain(value, self._quantities.get(field.name))
        return table


@dataclass(frozen=True, kw_only=True)
class Chain(Record):
    """Chain.

    Switches s1 … sN in a row, connected by duplex links; with `access`, host hK is connected to switch sK.

    Attributes:
        switches: Number of switches (a whole number from 1 to 100000).
        rate: Rate of the links between switches, in each direction (a rate such as "400kbit", or a number of
            bit/s).
        delay: Propagation delay of the links between switches, in each direction (a time such as "5ms", or a
            number of seconds). Default: 0s.
        access: Links between each switch and its host; without it there are no hosts, and flows start and end
            at switches.
    """

    _kind: ClassVar[str | None] = "chain"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    switches: int
    rate: str | float
    delay: str | float | None = None
    access: Access | None = None


@dataclass(frozen=True, kw_only=True)
class Dumbbell(Record):
    """Dumbbell.

    Hosts l1 … lN on the switch left, hosts r1 … rN on the switch right, one duplex link between the two.

    Attributes:
        pairs: Number of hosts on each side (a whole number from 1 to 100000).
        rate: Rate of the links between switches, in each direction (a rate such as "400kbit", or a number of
            bit/s).
        delay: Propagation delay of the links between switches, in each direction (a time such as "5ms", or a
            number of seconds). Default: 0s.
        access: Links between hosts and switches. Default: Access().
    """

    _kind: ClassVar[str | None] = "dumbbell"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    pairs: int
    rate: str | float
    delay: str | float | None = None
    access: Access | None = None


@dataclass(frozen=True, kw_only=True)
class ParkingLot(Record):
    """Parking lot.

    Switches s1 … s(K+1) in a row; traffic from host src on s1 to dst on s(K+1) crosses every hop, traffic
    from cI on sI to dI on s(I+1) only hop I.

    Attributes:
        hops: Number of links between switches (a whole number from 1 to 100000).
        rate: Rate of the links between switches, in each direction (a rate such as "400kbit", or a number of
            bit/s).
        delay: Propagation delay of the links between switches, in each direction (a time such as "5ms", or a
            number of seconds). Default: 0s.
        access: Links between hosts and switches. Default: Access().
    """

    _kind: ClassVar[str | None] = "parking-lot"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    hops: int
    rate: str | float
    delay: str | float | None = None
    access: Access | None = None


@dataclass(frozen=True, kw_only=True)
class Star(Record):
    """Star.

    Hosts h1 … hN on the switch hub.

    Attributes:
        hosts: Number of hosts (a whole number from 1 to 100000).
        rate: Rate of the link between the hub and each host, in each direction (a rate such as "400kbit", or
            a number of bit/s).
        delay: Propagation delay of the link between the hub and each host, in each direction (a time such as
            "5ms", or a number of seconds). Default: 0s.
    """

    _kind: ClassVar[str | None] = "star"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    hosts: int
    rate: str | float
    delay: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class LeafSpine(Record):
    """Leaf and spine.

    Switches leaf1 … leafL and spine1 … spineS, with a duplex link from every leaf to every spine. Hosts h1,
    h2 and so on are connected to the leaves, as many to each, those of leaf1 first.

    Attributes:
        leaves: Number of leaves (a whole number from 1 to 1000).
        spines: Number of spines (a whole number from 1 to 1000).
        hosts: Number of hosts at each leaf (a whole number from 1 to 1000).
        rate: Rate of the links between switches, in each direction (a rate such as "400kbit", or a number of
            bit/s).
        delay: Propagation delay of the links between switches, in each direction (a time such as "5ms", or a
            number of seconds). Default: 0s.
        access: Links between hosts and switches. Default: Access().
    """

    _kind: ClassVar[str | None] = "leaf-spine"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    leaves: int
    spines: int
    hosts: int
    rate: str | float
    delay: str | float | None = None
    access: Access | None = None


@dataclass(frozen=True, kw_only=True)
class FatTree(Record):
    """Fat tree.

    Switches with K ports each in K pods. A pod has K/2 switches edge1, edge2 and so on, with K/2 hosts each,
    and K/2 switches agg1, agg2 and so on; each of the ones has a link to each of the others. The first of the
    agg switches of every pod has links to the first K/2 of the switches core1 … core(K²/4), the second to the
    next, and so on. Hosts are h1 … h(K³/4), those of edge1 first.

    Attributes:
        k: Ports of a switch, an even number (a whole number from 2 to 64).
        rate: Rate of the links between switches, in each direction (a rate such as "400kbit", or a number of
            bit/s).
        delay: Propagation delay of the links between switches, in each direction (a time such as "5ms", or a
            number of seconds). Default: 0s.
        access: Links between hosts and switches. Default: Access().

    Source: Al-Fares, Loukissas and Vahdat 2008, section 2.2.
    """

    _kind: ClassVar[str | None] = "fat-tree"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    k: int
    rate: str | float
    delay: str | float | None = None
    access: Access | None = None


@dataclass(frozen=True, kw_only=True)
class Graph(Record):
    """Graph.

    Switches and links of a graph in a file. A node is named by its label, with a hyphen in place of what a
    name cannot have, and a number behind one that is taken. Its host has the node's name and `-host`. A
    duplex link has the speed that its edge states, and the delay of 5 µs for each kilometre of the great
    circle between the places of its ends; an edge of a directed graph is one direction. An edge from a node
    to itself is left out.

    Attributes:
        file: File in GraphML or, with the ending .gml, in GML, as those of the Internet Topology Zoo.
        rate: Rate of a link whose edge states no `LinkSpeedRaw` in bit/s, in each direction (a rate such as
            "400kbit", or a number of bit/s).
        delay: Propagation delay of a link one of whose ends states no `Latitude` and `Longitude`, in each
            direction (a time such as "5ms", or a number of seconds). Default: 0s.
        access: Links between each switch and its host; without it there are no hosts, and flows start and end
            at switches.

    Source: ITU-T G.114, Annex A, for the delay.
    """

    _kind: ClassVar[str | None] = "graph"

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    file: str
    rate: str | float | None = None
    delay: str | float | None = None
    access: Access | None = None


@dataclass(frozen=True, kw_only=True)
class Gate(Record):
    """Gate.

    Switches inside and outside, and between them the link that a gate file describes: each direction has the
    gate's rate, framing, policies and flows, and its memory. A given key of `port` or `switch` replaces the
    gate's, to try another scheduler or buffer with the same file; the scenario's classes and contracts have
    no effect there. A flow or a connection needs `headers` to pass, or a `capture` that has them.

    Attributes:
        file: Gate file; the names of its interfaces are ignored.
        delay: Propagation delay of the link, in each direction (a time such as "5ms", or a number of
            seconds). Default: 0s.
    """

    _kind: ClassVar[str | None] = "gate"

    _quantities: ClassVar = {"delay": quantities.Time}

    file: str
    delay: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Nodes(Record):
    """Nodes.

    Only the nodes and links of `[[node]]` and `[[link]]`.
    """

    _kind: ClassVar[str | None] = "nodes"


TopologyName = Literal["nodes"]

TopologyKind = Chain | Dumbbell | ParkingLot | Star | LeafSpine | FatTree | Graph | Gate | Nodes


@dataclass(frozen=True, kw_only=True)
class ShortestPath(Record):
    """Shortest path.

    Every flow takes the shortest path by hops. Of several, and of parallel links, it is the first in the
    file.
    """

    _kind: ClassVar[str | None] = "shortest-path"


@dataclass(frozen=True, kw_only=True)
class Ecmp(Record):
    """Equal-cost multipath.

    Equal-cost multipath: at each node, one of the links that lead to the destination by the fewest hops,
    parallel ones included. Flows with a `route` keep it, and those with several destinations take the
    shortest paths.

    Attributes:
        per: Choice of the link: for a whole flow by a hash of the names of node and flow, or for each packet
            at random (flow or packet). Default: flow.
        seed: Seed of the hash: the same seed gives a flow the same path, whatever other flows there are.
            Choices for each packet are of the run's seed (a whole number from 0 to 9223372036854775807).
            Default: 1.
        weighted: Whether links are taken in proportion to their rates, rather than equally often. Default:
            false.

    Source: RFC 2991, RFC 2992.
    """

    _kind: ClassVar[str | None] = "ecmp"

    per: Literal["flow", "packet"] | None = None
    seed: int | None = None
    weighted: bool | None = None


RoutingName = Literal["shortest-path", "ecmp"]

RoutingKind = ShortestPath | Ecmp


@dataclass(frozen=True, kw_only=True)
class Fifo(Record):
    """FIFO.

    Serves packets in the order in which they arrived, whatever their flow.

    Source: the usual baseline; Zhang 1991, section 5.
    """

    _kind: ClassVar[str | None] = "fifo"


@dataclass(frozen=True, kw_only=True)
class StrictPriority(Record):
    """Strict priority.

    Serves the most urgent backlogged level first, and FIFO within a level; a busy level starves those below
    it.

    Source: RFC 2475, section 2.3.3 (class-based priority).
    """

    _kind: ClassVar[str | None] = "strict-priority"


@dataclass(frozen=True, kw_only=True)
class VirtualClock(Record):
    """VirtualClock.

    Stamps each packet with its flow's auxiliary clock, which advances by packet size over reserved rate, and
    serves packets in the order of their stamps; flows without a reservation share the remaining capacity,
    first in first out.

    Attributes:
        stamp: Clock that stamps packets: one that never lags behind real time, or the monitor's clock, which
            saves credit between checks (aux-vc or virtual-clock). Default: aux-vc.
        synchronise: When a monitor's check sets auxVC back to VirtualClock: once the queue has been empty, or
            at once while the link is idle or sends a packet with a later stamp (empty-queue or later-stamp).
            Default: empty-queue.
        lead: Most by which a flow's first packet may be stamped ahead of real time, beyond its own time at
            the reserved rate: a bound on how long a flow pays for traffic above its reservation; without it,
            unlimited (a time such as "5ms", or a number of seconds).

    Source: Zhang 1991, section 3.1.
    """

    _kind: ClassVar[str | None] = "virtual-clock"

    _quantities: ClassVar = {"lead": quantities.Time}

    stamp: Literal["aux-vc", "virtual-clock"] | None = None
    synchronise: Literal["empty-queue", "later-stamp"] | None = None
    lead: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Tdm(Record):
    """Time-division multiplexing.

    Gives each flow its own slots of a fixed frame, as many as its reservation needs; a slot whose owner has
    nothing to send is wasted, or used by others within a window, and flows without a reservation share the
    slots without an owner.

    Attributes:
        rate: Rate of the slots; without it, the link's (a rate such as "400kbit", or a number of bit/s).
        slot: Length of a slot: the largest packet (a size such as "250B", or a number of bytes).
        slots: Number of slots in a frame, each worth this part of the rate (a whole number from 1 to 4096).
        window: Number of packets that a flow may send in each frame in slots whose owners have none (a whole
            number from 0 to 4096). Default: 0.

    Source: Zhang 1991, sections 3 and 5.2.
    """

    _kind: ClassVar[str | None] = "tdm"

    _quantities: ClassVar = {"rate": quantities.Rate, "slot": quantities.Size}

    rate: str | float | None = None
    slot: str | int
    slots: int
    window: int | None = None


@dataclass(frozen=True, kw_only=True)
class PeakVc(Record):
    """PeakVC.

    VirtualClock with clocks that advance at each flow's peak rate: bursts pass quickly, but a flow that sends
    at its peak rate for too long is not limited.

    Source: Pincheira 1994, section 4.3.
    """

    _kind: ClassVar[str | None] = "peak-vc"


@dataclass(frozen=True, kw_only=True)
class Pulse(Record):
    """Pulse.

    Stamps packets with a clock that advances at the flow's peak rate for W bytes and then compensates in one
    large tick. Clocks are never set to real time: a flow that was silent has priority over flows that were
    not.

    Source: Mukherjee, Landweber and Faber 1992; Pincheira 1994, section 2.3.2.
    """

    _kind: ClassVar[str | None] = "pulse"


@dataclass(frozen=True, kw_only=True)
class Deferred(Record):
    """Deferred.

    Stamps packets like VirtualClock, minus the time that the flow's backlog, up to W, takes at its reserved
    rate: a burst is accelerated while it builds up and delayed while it drains. A step towards Axel, not for
    use.

    Attributes:
        backlog: Server at which a flow's backlog is counted: an ideal one that serves the flow alone at its
            reserved rate, or the port itself (ideal or real). Default: real.

    Source: Pincheira 1994, section 3.
    """

    _kind: ClassVar[str | None] = "deferred"

    backlog: Literal["ideal", "real"] | None = None


@dataclass(frozen=True, kw_only=True)
class AxelUnbounded(Record):
    """Axel without its bound.

    Axel without the bound on a flow's gain over VirtualClock: a flow that repeatedly fills and drains its
    backlog takes the link from the others. A step towards Axel, not for use.

    Attributes:
        backlog: Server at which a flow's backlog is counted: an ideal one that serves the flow alone at its
            reserved rate, or the port itself (ideal or real). Default: real.

    Source: Pincheira 1994, section 3.
    """

    _kind: ClassVar[str | None] = "axel-unbounded"

    backlog: Literal["ideal", "real"] | None = None


@dataclass(frozen=True, kw_only=True)
class Axel(Record):
    """Axel.

    Stamps packets like VirtualClock, but advances the stamps of a flow whose backlog grows more slowly, down
    to the pace of its peak rate, and never more than W / r before VirtualClock's: bursts pass quickly, and
    each flow keeps its reserved rate.

    Attributes:
        backlog: Server at which a flow's backlog is counted: an ideal one that serves the flow alone at its
            reserved rate, or the port itself (ideal or real). Default: ideal.
        delta: Growth of a backlog that passes W between two packets: counted up to W, or not at all, for
            packets that are small beside W (exact or simplified). Default: exact.
        acceleration: Most backlog that is counted, and most that a flow gains on VirtualClock, as a time;
            without it, W / r (a time such as "5ms", or a number of seconds).

    Source: Pincheira 1994, section 3 and Figure 4.
    """

    _kind: ClassVar[str | None] = "axel"

    _quantities: ClassVar = {"acceleration": quantities.Time}

    backlog: Literal["ideal", "real"] | None = None
    delta: Literal["exact", "simplified"] | None = None
    acceleration: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class AxelFloor(Record):
    """Axel above a floor.

    Axel, but a flow with packets gets at least a share of its reserved rate at any time: its first packet
    goes first when a server of that rate would have sent it.

    Attributes:
        floor: Share of its reserved rate that every flow gets at any time (a number from 0.001 to 1).
            Default: 0.5.

    Source: Pincheira 1994, section 5.
    """

    _kind: ClassVar[str | None] = "axel-floor"

    floor: float | None = None


@dataclass(frozen=True, kw_only=True)
class AxelMeasured(Record):
    """Axel by measured delays.

    Axel that also accelerates a flow whose packets have waited longer and longer at the hops before: a burst
    that an earlier hop has spread still passes quickly. Packets carry the deviation of their delay from the
    mean.

    Attributes:
        backlog: Server at which a flow's backlog is counted: an ideal one that serves the flow alone at its
            reserved rate, or the port itself (ideal or real). Default: ideal.
        upstream: Measured delays that a flow is accelerated by: those at the hops before, added to the
            backlog or in its place (supplement or replace). Default: supplement.

    Source: Pincheira 1994, section 5.
    """

    _kind: ClassVar[str | None] = "axel-measured"

    backlog: Literal["ideal", "real"] | None = None
    upstream: Literal["supplement", "replace"] | None = None


@dataclass(frozen=True, kw_only=True)
class Wfq(Record):
    """Weighted fair queueing.

    Shares the link in proportion to the flows' reservations: serves packets in the order in which a fluid
    server that serves all flows at once (generalized processor sharing) would finish them.

    Attributes:
        unreserved: Weight of a flow without a reservation, as a rate (a rate such as "400kbit", or a number
            of bit/s). Default: 10kbit.

    Source: Parekh and Gallager 1993, section III; Demers, Keshav and Shenker 1989.
    """

    _kind: ClassVar[str | None] = "wfq"

    _quantities: ClassVar = {"unreserved": quantities.Rate}

    unreserved: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Wf2qPlus(Record):
    """WF²Q+.

    Shares the link in proportion to the flows' reservations, each never more than a packet ahead or behind:
    of the packets that a fluid server would have started, serves the one that it would finish first.

    Attributes:
        unreserved: Weight of a flow without a reservation, as a rate (a rate such as "400kbit", or a number
            of bit/s). Default: 10kbit.

    Source: Bennett and Zhang 1997.
    """

    _kind: ClassVar[str | None] = "wf2q-plus"

    _quantities: ClassVar = {"unreserved": quantities.Rate}

    unreserved: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Scfq(Record):
    """Self-clocked fair queueing.

    Shares the link in proportion to the flows' reservations: serves the packet with the smallest finish tag,
    and takes virtual time from the finish tag of the packet in service.

    Attributes:
        unreserved: Weight of a flow without a reservation, as a rate (a rate such as "400kbit", or a number
            of bit/s). Default: 10kbit.

    Source: Golestani 1994.
    """

    _kind: ClassVar[str | None] = "scfq"

    _quantities: ClassVar = {"unreserved": quantities.Rate}

    unreserved: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Sfq(Record):
    """Start-time fair queueing.

    Shares the link in proportion to the flows' reservations, also while its rate varies: serves the packet
    with the smallest start tag. Not Linux's sfq, which is stochastic fairness queueing.

    Attributes:
        unreserved: Weight of a flow without a reservation, as a rate (a rate such as "400kbit", or a number
            of bit/s). Default: 10kbit.

    Source: Goyal, Vin and Cheng 1996, section 2.
    """

    _kind: ClassVar[str | None] = "sfq"

    _quantities: ClassVar = {"unreserved": quantities.Rate}

    unreserved: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class FifoPlus(Record):
    """FIFO+.

    Serves packets in the order in which they would have arrived if each had waited for the mean time at every
    earlier hop.

    Source: Clark, Shenker and Zhang 1992, section 6.
    """

    _kind: ClassVar[str | None] = "fifo-plus"


@dataclass(frozen=True, kw_only=True)
class TimeShiftedFifo(Record):
    """Time-shifted FIFO.

    Serves packets in the order of arrival, with those that are not L4S (ECT(1) or CE) counted as later by a
    time shift: the scheduler of DualPI2, which drops and marks nothing by itself.

    Attributes:
        shift: Time by which a Classic packet counts as later than it arrived (a time such as "5ms", or a
            number of seconds). Default: 50ms.

    Source: RFC 9332, section 4.2.2.
    """

    _kind: ClassVar[str | None] = "time-shifted-fifo"

    _quantities: ClassVar = {"shift": quantities.Time}

    shift: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class RoundRobin(Record):
    """Packet round robin.

    Serves backlogged flows in turn, one packet each, whatever its size; flows share the link by packets, and
    reservations make no difference.

    Source: Nagle, RFC 970 (1985).
    """

    _kind: ClassVar[str | None] = "round-robin"


@dataclass(frozen=True, kw_only=True)
class Drr(Record):
    """Deficit round robin.

    Serves backlogged flows in turn; in its turn a flow sends a quantum of bytes in proportion to its
    reservation, at most one large packet, plus the unused rest of its last turn.

    Attributes:
        quantum: Quantum: bytes per turn of the flow with the largest weight; the others have less, in
            proportion to their weights (a size such as "250B", or a number of bytes). Default: 1514B.
        unreserved: Weight of a flow without a reservation, as a rate (a rate such as "400kbit", or a number
            of bit/s). Default: 10kbit.
        form: End of a turn: as soon as the flow's next packet is too long, or as in Linux when the next
            packet is selected; there a flow whose last packet has been taken has none left (look-ahead or
            linux). Default: look-ahead.

    Source: Shreedhar and Varghese 1996.
    """

    _kind: ClassVar[str | None] = "drr"

    _quantities: ClassVar = {"quantum": quantities.Size, "unreserved": quantities.Rate}

    quantum: str | int | None = None
    unreserved: str | float | None = None
    form: Literal["look-ahead", "linux"] | None = None


@dataclass(frozen=True, kw_only=True)
class DrrPlusPlus(Record):
    """DRR++.

    Serves backlogged flows in turns of a quantum of bytes, flows that have just become backlogged first: the
    scheduler of FQ-CoDel, which drops nothing by itself.

    Attributes:
        quantum: Quantum: bytes that a flow may send in its turn (a size such as "250B", or a number of
            bytes). Default: 1514B.
        form: A new flow without a packet goes to the old list, or as in Linux only where others are (rfc or
            linux). Default: rfc.

    Source: RFC 8290, section 4.2; MacGregor and Shi 2000.
    """

    _kind: ClassVar[str | None] = "drr++"

    _quantities: ClassVar = {"quantum": quantities.Size}

    quantum: str | int | None = None
    form: Literal["rfc", "linux"] | None = None


@dataclass(frozen=True, kw_only=True)
class HostDrrPlusPlus(Record):
    """DRR++ among hosts.

    Serves backlogged hosts in turns of a quantum of bytes, and the flows of each in turns of its own, flows
    that have just become backlogged first: fair among hosts first, then among flows. Drops nothing by itself.

    Attributes:
        quantum: Quantum: bytes that a host may send in its turn, and a flow in its turn of the host's (a size
            such as "250B", or a number of bytes). Default: 1514B.
        form: A new flow without a packet goes to the old list, or as in Linux only where others are (rfc or
            linux). Default: rfc.

    Source: tc-cake(8), dual-srchost and dual-dsthost; RFC 8290, section 4.2.
    """

    _kind: ClassVar[str | None] = "host-drr++"

    _quantities: ClassVar = {"quantum": quantities.Size}

    quantum: str | int | None = None
    form: Literal["rfc", "linux"] | None = None


@dataclass(frozen=True, kw_only=True)
class TripleIsolate(Record):
    """Triple isolation.

    Serves backlogged flows in turns, flows that have just become backlogged first; a flow's quantum is
    divided by the number of flows of that of its two hosts that has more: fair among the hosts of both sides,
    then among flows. Drops nothing by itself.

    Attributes:
        quantum: Quantum: bytes that a flow may send in its turn while neither of its hosts has another (a
            size such as "250B", or a number of bytes). Default: 1514B.

    Source: tc-cake(8), triple-isolate; Høiland-Jørgensen, Täht and Morton 2018, section 4.2.
    """

    _kind: ClassVar[str | None] = "triple-isolate"

    _quantities: ClassVar = {"quantum": quantities.Size}

    quantum: str | int | None = None


@dataclass(frozen=True, kw_only=True)
class Edf(Record):
    """Earliest deadline first.

    Stamps each packet with its arrival and its flow's deadline, and serves packets in the order of their
    stamps; flows without a deadline share the remaining capacity, first in first out.

    Source: Liu and Layland 1973; Liebeherr, Wrege and Ferrari 1996.
    """

    _kind: ClassVar[str | None] = "edf"


@dataclass(frozen=True, kw_only=True)
class JitterEdd(Record):
    """Jitter-EDD.

    Holds each packet for the time by which it left the previous hop before its deadline, then serves the
    earliest deadline first; flows without a deadline are not held, and share the remaining capacity.

    Source: Verma, Zhang and Ferrari 1991.
    """

    _kind: ClassVar[str | None] = "jitter-edd"


@dataclass(frozen=True, kw_only=True)
class FqCodel(Record):
    """FQ-CoDel.

    Flow queue CoDel: serves backlogged flows in turns of a quantum of bytes, flows that have just become
    backlogged first, and keeps the queue of each short with CoDel.

    Attributes:
        quantum: Quantum: bytes that a flow may send in its turn (a size such as "250B", or a number of
            bytes). Default: 1514B.
        target: Acceptable standing sojourn time in a flow's queue, above 0 (a time such as "5ms", or a number
            of seconds). Default: 5ms.
        interval: Time for which the sojourn time exceeds `target` before a packet is dropped or marked: about
            the longest round-trip time, above 0 (a time such as "5ms", or a number of seconds). Default:
            100ms.
        form: The RFC's algorithm, or that of Linux, as of CoDel (rfc or linux). Default: rfc.

    Source: RFC 8290.
    """

    _kind: ClassVar[str | None] = "fq-codel"

    _quantities: ClassVar = {
        "quantum": quantities.Size,
        "target": quantities.Time,
        "interval": quantities.Time,
    }

    quantum: str | int | None = None
    target: str | float | None = None
    interval: str | float | None = None
    form: Literal["rfc", "linux"] | None = None


@dataclass(frozen=True, kw_only=True)
class FqPie(Record):
    """FQ-PIE.

    Flow queue PIE: serves backlogged flows in turns of a quantum of bytes, flows that have just become
    backlogged first, and keeps the queue of each near a target delay with PIE.

    Attributes:
        quantum: Quantum: bytes that a flow may send in its turn (a size such as "250B", or a number of
            bytes). Default: 1514B.
        target: Target of the queueing delay of a flow, above 0 (a time such as "5ms", or a number of
            seconds). Default: 15ms.
        update: Time from one update of the drop probability to the next, above 0 (a time such as "5ms", or a
            number of seconds). Default: 15ms.
        max_burst: Length of a burst of a flow that passes before its packets are dropped at random (a time
            such as "5ms", or a number of seconds). Default: 150ms.
        alpha: Weight of the delay's distance from `target`, per second (a number from 0 to 1000). Default:
            0.125.
        beta: Weight of the delay's change since the last update, per second (a number from 0 to 1000).
            Default: 1.25.
        mark_below: Drop probability below which ECN-capable packets are marked; from there on they are
            dropped like others (a number from 0 to 1). Default: 0.1.
        mean_packet: Length of a typical packet: with no more than two of them queued, nothing of a flow is
            dropped at random (a size such as "250B", or a number of bytes). Default: 1500B.
        form: The algorithm of RFC 8033, or that of Linux, as of PIE (rfc or linux). Default: rfc.

    Source: Linux; RFC 8290, RFC 8033.
    """

    _kind: ClassVar[str | None] = "fq-pie"

    _quantities: ClassVar = {
        "quantum": quantities.Size,
        "target": quantities.Time,
        "update": quantities.Time,
        "max_burst": quantities.Time,
        "mean_packet": quantities.Size,
    }

    quantum: str | int | None = None
    target: str | float | None = None
    update: str | float | None = None
    max_burst: str | float | None = None
    alpha: float | None = None
    beta: float | None = None
    mark_below: float | None = None
    mean_packet: str | int | None = None
    form: Literal["rfc", "linux"] | None = None


@dataclass(frozen=True, kw_only=True)
class Dualpi2(Record):
    """DualPI2.

    Dual-queue coupled AQM: L4S packets (ECT(1) or CE) wait in a short queue and are marked, Classic ones in a
    longer one, and coupled probabilities keep the rates of the flows comparable.

    Attributes:
        target: Target of the Classic queueing delay, above 0 (a time such as "5ms", or a number of seconds).
            Default: 15ms.
        update: Time from one update of the base probability to the next (Tupdate), above 0 (a time such as
            "5ms", or a number of seconds). Default: 16ms.
        alpha: Weight of the Classic delay's distance from `target`, per second (a number from 0 to 1000).
            Default: 0.16.
        beta: Weight of the Classic delay's change since the last update, per second (a number from 0 to
            1000). Default: 3.2.
        k: Coupling factor: the L4S marking probability over the base probability (a number from 0.1 to 100).
            Default: 2.
        min_th: L4S delay above which L4S packets are marked (minTh) (a time such as "5ms", or a number of
            seconds). Default: 800us.
        range: L4S delays above `min_th` over which the marking probability rises to 1; 0 is a step (a time
            such as "5ms", or a number of seconds). Default: 400us.
        th_len: L4S packets waiting behind one up to which its delay does not mark it (a whole number from 0
            to 1000000). Default: 1.
        shift: Time by which a Classic packet counts as later than it arrived (a time such as "5ms", or a
            number of seconds). Default: 50ms.

    Source: RFC 9332.
    """

    _kind: ClassVar[str | None] = "dualpi2"

    _quantities: ClassVar = {
        "target": quantities.Time,
        "update": quantities.Time,
        "min_th": quantities.Time,
        "range": quantities.Time,
        "shift": quantities.Time,
    }

    target: str | float | None = None
    update: str | float | None = None
    alpha: float | None = None
    beta: float | None = None
    k: float | None = None
    min_th: str | float | None = None
    range: str | float | None = None
    th_len: int | None = None
    shift: str | float | None = None


SchedulerName = Literal[
    "fifo",
    "strict-priority",
    "virtual-clock",
    "peak-vc",
    "pulse",
    "deferred",
    "axel-unbounded",
    "axel",
    "axel-floor",
    "axel-measured",
    "wfq",
    "wf2q-plus",
    "scfq",
    "sfq",
    "fifo-plus",
    "time-shifted-fifo",
    "round-robin",
    "drr",
    "drr++",
    "host-drr++",
    "triple-isolate",
    "edf",
    "jitter-edd",
    "fq-codel",
    "fq-pie",
    "dualpi2",
]

SchedulerKind = (
    Fifo
    | StrictPriority
    | VirtualClock
    | Tdm
    | PeakVc
    | Pulse
    | Deferred
    | AxelUnbounded
    | Axel
    | AxelFloor
    | AxelMeasured
    | Wfq
    | Wf2qPlus
    | Scfq
    | Sfq
    | FifoPlus
    | TimeShiftedFifo
    | RoundRobin
    | Drr
    | DrrPlusPlus
    | HostDrrPlusPlus
    | TripleIsolate
    | Edf
    | JitterEdd
    | FqCodel
    | FqPie
    | Dualpi2
)


@dataclass(frozen=True, kw_only=True)
class FlowMonitor(Record):
    """Flow monitor.

    Compares each flow's VirtualClock with real time after every AR * AI of data: warns the source of a flow
    that is too far ahead, and removes the credit of one that is behind.

    Attributes:
        threshold: Lead of VirtualClock over real time beyond which a flow is warned (T); without it AIR *
            Vtick, which is the flow's average interval (a time such as "5ms", or a number of seconds).
        excess: Packets more than T ahead: their source is warned, or they are dropped as well (warn or drop).
            Default: warn.
        check: Occasion of a check: every AR * AI of data, or every average interval (data or time). Default:
            data.

    Source: Zhang 1991, sections 3.1 and 3.2.3.
    """

    _kind: ClassVar[str | None] = "flow-monitor"

    _quantities: ClassVar = {"threshold": quantities.Time}

    threshold: str | float | None = None
    excess: Literal["warn", "drop"] | None = None
    check: Literal["data", "time"] | None = None


@dataclass(frozen=True, kw_only=True)
class Policer(Record):
    """Policer of contracts.

    Drops or marks the packets of a flow that exceed its contract: more than `workahead` ahead of `reserve`,
    or faster than `peak`, if given.

    Attributes:
        excess: Packets that exceed the contract: they are dropped, or forwarded and marked as out of profile
            (drop or mark). Default: drop.

    Source: Pincheira 1994, section 2.1; RFC 2475, section 2.3.3 (policing).
    """

    _kind: ClassVar[str | None] = "policer"

    excess: Literal["drop", "mark"] | None = None


@dataclass(frozen=True, kw_only=True)
class Srtcm(Record):
    """Single rate three colour marker (srTCM).

    Colours a profile's packets: green within `reserve` (CIR) and `workahead` (CBS), yellow within
    `excess_burst` (EBS) beyond that, red otherwise.

    Attributes:
        mode: Use of a packet's earlier colour: ignored, or never improved (colour-blind or colour-aware).
            Default: colour-blind.

    Source: RFC 2697.
    """

    _kind: ClassVar[str | None] = "srtcm"

    mode: Literal["colour-blind", "colour-aware"] | None = None


@dataclass(frozen=True, kw_only=True)
class Trtcm(Record):
    """Two rate three colour marker (trTCM).

    Colours a profile's packets: red beyond `peak` (PIR) and `peak_burst` (PBS), yellow beyond `reserve` (CIR)
    and `workahead` (CBS), green otherwise.

    Attributes:
        mode: Use of a packet's earlier colour: ignored, or never improved (colour-blind or colour-aware).
            Default: colour-blind.

    Source: RFC 2698.
    """

    _kind: ClassVar[str | None] = "trtcm"

    mode: Literal["colour-blind", "colour-aware"] | None = None


@dataclass(frozen=True, kw_only=True)
class TswTagger(Record):
    """Time sliding window tagger (TSW).

    Tags a profile's packets as in (green) or out (red) of profile, by its estimated rate and its target rate,
    `reserve`; without one, all are out.

    Attributes:
        window: Length of the time sliding window (a time such as "5ms", or a number of seconds).
        packets: Packets to average over in place of a window: each has the weight 1/`packets` (EWMA) (a whole
            number from 1 to 65535).
        round_trips: Window in round-trip times measured by the flow's transport, which replaces `window` from
            the first measurement on, at the first port of the flow's route; without it, the window stays (a
            whole number from 1 to 1000).
        approach: Rate above which tagging starts: R_T, for a window of a whole sawtooth, or its peak, 4/3
            R_T, for one of a round-trip time (long or short). Default: short.
        tagging: Share of packets that are out above that rate: (average - R_T) / R_T, at random, or all
            (probabilistic or deterministic). Default: probabilistic.
        mode: Use of a packet's earlier colour: ignored, or out packets stay out and do not count
            (colour-blind or colour-aware). Default: colour-blind.

    Source: Clark and Fang 1998, section III.C.
    """

    _kind: ClassVar[str | None] = "tsw-tagger"

    _quantities: ClassVar = {"window": quantities.Time}

    window: str | float | None = None
    packets: int | None = None
    round_trips: int | None = None
    approach: Literal["long", "short"] | None = None
    tagging: Literal["probabilistic", "deterministic"] | None = None
    mode: Literal["colour-blind", "colour-aware"] | None = None


@dataclass(frozen=True, kw_only=True)
class Tsw2cm(Record):
    """Time sliding window two colour marker (TSW2CM).

    Colours the share of a profile's packets above `reserve` (CTR) red, at random, by its estimated rate.

    Attributes:
        window: Length of the time sliding window (AVG_INTERVAL) (a time such as "5ms", or a number of
            seconds).
        packets: Packets to average over in place of a window: each has the weight 1/`packets` (EWMA) (a whole
            number from 1 to 65535).
        round_trips: Window in round-trip times measured by the flow's transport, which replaces `window` from
            the first measurement on, at the first port of the flow's route; without it, the window stays (a
            whole number from 1 to 1000).
        mode: Use of a packet's earlier colour: ignored, or never improved (colour-blind or colour-aware).
            Default: colour-blind.

    Source: RFC 2859, with one target rate.
    """

    _kind: ClassVar[str | None] = "tsw2cm"

    _quantities: ClassVar = {"window": quantities.Time}

    window: str | float | None = None
    packets: int | None = None
    round_trips: int | None = None
    mode: Literal["colour-blind", "colour-aware"] | None = None


@dataclass(frozen=True, kw_only=True)
class Tsw3cm(Record):
    """Time sliding window three colour marker (TSW3CM).

    Colours the share of a profile's packets above `reserve` (CTR) yellow, and the share above `peak` (PTR)
    red, at random, by its estimated rate.

    Attributes:
        window: Length of the time sliding window (AVG_INTERVAL) (a time such as "5ms", or a number of
            seconds).
        packets: Packets to average over in place of a window: each has the weight 1/`packets` (EWMA) (a whole
            number from 1 to 65535).
        round_trips: Window in round-trip times measured by the flow's transport, which replaces `window` from
            the first measurement on, at the first port of the flow's route; without it, the window stays (a
            whole number from 1 to 1000).
        mode: Use of a packet's earlier colour: ignored, or never improved (colour-blind or colour-aware).
            Default: colour-blind.

    Source: RFC 2859.
    """

    _kind: ClassVar[str | None] = "tsw3cm"

    _quantities: ClassVar = {"window": quantities.Time}

    window: str | float | None = None
    packets: int | None = None
    round_trips: int | None = None
    mode: Literal["colour-blind", "colour-aware"] | None = None


@dataclass(frozen=True, kw_only=True)
class ClearingMeter(Record):
    """Clearing meter (receiver-based control).

    Clears the congestion indication (CE, EFCI) of packets inside a receiver's profile; packets outside keep
    it, or are dropped.

    Attributes:
        window: Window of the time sliding window over which the rate is averaged; without it, the profile is
            a token bucket of `reserve` and `workahead` (a time such as "5ms", or a number of seconds).
        approach: Rate above which packets are outside, with a `window`: R_T, or the peak of a sawtooth, 4/3
            R_T (long or short). Default: short.
        tagging: Share of packets that are outside above that rate, with a `window`: (average - R_T) / R_T, at
            random, or all (probabilistic or deterministic). Default: probabilistic.
        excess: Packets outside the profile: they pass unchanged, or are dropped (pass or drop). Default:
            pass.
        charges: Packets that are charged to the profile: all, or those that come in profile (green), and then
            the others pass unchanged (all or green). Default: all.

    Source: Clark and Fang 1998, section II.E.
    """

    _kind: ClassVar[str | None] = "clearing-meter"

    _quantities: ClassVar = {"window": quantities.Time}

    window: str | float | None = None
    approach: Literal["long", "short"] | None = None
    tagging: Literal["probabilistic", "deterministic"] | None = None
    excess: Literal["pass", "drop"] | None = None
    charges: Literal["all", "green"] | None = None


@dataclass(frozen=True, kw_only=True)
class SelectiveMarker(Record):
    """Selective marker.

    Colours the packets that an application favours green and its other packets red: one in so many, the first
    ones of each burst, or short ones.

    Attributes:
        every: One packet in so many is in profile, beginning with the first; without it, none for its place
            in the stream (a whole number from 1 to 65535).
        first: Packets at the beginning of each burst that are in profile; without it, none for their place in
            a burst (a whole number from 1 to 65535).
        pause: Time without a packet after which the next one begins a burst, above zero; needed by `first` (a
            time such as "5ms", or a number of seconds).
        up_to: Longest packet that is in profile for its length; without it, none (a size such as "250B", or a
            number of bytes).

    Source: Clark and Fang 1998, section II.E.
    """

    _kind: ClassVar[str | None] = "selective-marker"

    _quantities: ClassVar = {"pause": quantities.Time, "up_to": quantities.Size}

    every: int | None = None
    first: int | None = None
    pause: str | float | None = None
    up_to: str | int | None = None


MeterName = Literal[
    "flow-monitor",
    "policer",
    "srtcm",
    "trtcm",
    "tsw-tagger",
    "tsw2cm",
    "tsw3cm",
    "clearing-meter",
    "selective-marker",
]

MeterKind = (
    FlowMonitor | Policer | Srtcm | Trtcm | TswTagger | Tsw2cm | Tsw3cm | ClearingMeter | SelectiveMarker
)


@dataclass(frozen=True, kw_only=True)
class DropTail(Record):
    """Drop-tail.

    Drops the arriving packet when the port's queue would exceed its limit; packets marked as out of profile
    may have a lower limit.

    Attributes:
        limit: Longest queue of the port, the packet in service included (a limit such as "100p" or "64kB").
        marked: Longest queue that a packet marked as out of profile may join; without it, `limit` (a limit
            such as "100p" or "64kB").
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: RFC 7567, section 2.
    """

    _kind: ClassVar[str | None] = "drop-tail"

    limit: str
    marked: str | None = None
    scope: Literal["queue", "flow"] | None = None


@dataclass(frozen=True, kw_only=True)
class Red(Record):
    """RED.

    Random early detection: drops or marks arriving packets at random, with a probability that rises with the
    average queue.

    Attributes:
        min_th: Average queue at or above which packets are chosen at random; in bytes for byte mode (a limit
            such as "100p" or "64kB"). Default: 5p.
        max_th: Average queue at or above which every packet is chosen, or a growing share with `slope =
            "gentle"` (a limit such as "100p" or "64kB"). Default: 15p.
        max_p: Probability that a packet is chosen as the average queue approaches `max_th`, above 0 (a number
            from 0 to 1). Default: 0.1.
        weight: Weight of one arrival in the average queue (w_q), above 0 (a number from 0 to 1). Default:
            0.002.
        limit: Longest queue, the packet in service included; without it, limited only by the switch's memory
            (a limit such as "100p" or "64kB").
        slope: Above `max_th`: every packet is chosen, or with a probability that rises to 1 at twice `max_th`
            (step or gentle). Default: step.
        signal: Congestion signal: drops only; marks of ECN-capable packets where the choice is random, and
            drops above (RFC 3168); or marks of ECN-capable packets until the queue is at its limit (drop or
            mark-then-drop or mark). Default: mark-then-drop.
        mean_packet: Length of a typical packet, in which the capacity of an idle link is counted and by which
            byte mode scales (a size such as "250B", or a number of bytes). Default: 500B.
        form: Details of the algorithm: those of the paper, or those of Linux below a shaper (paper or linux).
            Default: paper.
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: Floyd and Jacobson 1993.
    """

    _kind: ClassVar[str | None] = "red"

    _quantities: ClassVar = {"mean_packet": quantities.Size}

    min_th: str | None = None
    max_th: str | None = None
    max_p: float | None = None
    weight: float | None = None
    limit: str | None = None
    slope: Literal["step", "gentle"] | None = None
    signal: Literal["drop", "mark-then-drop", "mark"] | None = None
    mean_packet: str | int | None = None
    form: Literal["paper", "linux"] | None = None
    scope: Literal["queue", "flow"] | None = None


@dataclass(frozen=True, kw_only=True)
class Rio(Record):
    """RIO.

    RED with in and out: drops or marks packets out of profile, which are red or yellow, at shorter average
    queues than packets in profile, which are green.

    Attributes:
        min_in: Average queue of *in* packets at or above which they are chosen at random; thresholds in bytes
            select byte mode (a limit such as "100p" or "64kB").
        max_in: Average queue of *in* packets at or above which every one is chosen (a limit such as "100p" or
            "64kB").
        max_p_in: Probability that an *in* packet is chosen as the average approaches `max_in`, above 0 (a
            number from 0 to 1). Default: 0.02.
        min_out: Average queue at or above which *out* packets are chosen at random (a limit such as "100p" or
            "64kB").
        max_out: Average queue at or above which every *out* packet is chosen (a limit such as "100p" or
            "64kB").
        max_p_out: Probability that an *out* packet is chosen as the average approaches `max_out`, above 0 (a
            number from 0 to 1). Default: 0.1.
        governs: Average by which *out* packets are judged: of all packets, of *out* packets, of *in* packets,
            or the greater of the last two (total or out or in or both). Default: total.
        weight: Weight of one arrival in an average queue (w_q), above 0 (a number from 0 to 1). Default:
            0.002.
        limit: Longest queue, the packet in service included (a limit such as "100p" or "64kB").
        slope: Above `max_in` and `max_out`: every packet is chosen, or with a probability that rises to 1 at
            twice the threshold (step or gentle). Default: step.
        signal: Congestion signal: drops only; marks of ECN-capable packets where the choice is random, and
            drops above (RFC 3168); or marks of ECN-capable packets until the queue is at its limit (drop or
            mark-then-drop or mark). Default: mark-then-drop.
        mean_packet: Length of a typical packet, in which the capacity of an idle link is counted and by which
            byte mode scales (a size such as "250B", or a number of bytes). Default: 500B.
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: Clark and Fang 1998, Figure 6.
    """

    _kind: ClassVar[str | None] = "rio"

    _quantities: ClassVar = {"mean_packet": quantities.Size}

    min_in: str
    max_in: str
    max_p_in: float | None = None
    min_out: str
    max_out: str
    max_p_out: float | None = None
    governs: Literal["total", "out", "in", "both"] | None = None
    weight: float | None = None
    limit: str
    slope: Literal["step", "gentle"] | None = None
    signal: Literal["drop", "mark-then-drop", "mark"] | None = None
    mean_packet: str | int | None = None
    scope: Literal["queue", "flow"] | None = None


@dataclass(frozen=True, kw_only=True)
class Wred(Record):
    """WRED.

    Weighted RED: drops or marks packets at random by one average queue, with thresholds and a probability for
    each colour.

    Attributes:
        min_green: Average queue at or above which green packets are chosen at random; thresholds in bytes
            select byte mode (a limit such as "100p" or "64kB").
        max_green: Average queue at or above which every green packet is chosen (a limit such as "100p" or
            "64kB").
        max_p_green: Probability that a green packet is chosen as the average approaches `max_green`, above 0
            (a number from 0 to 1). Default: 0.02.
        min_yellow: Average queue at or above which yellow packets are chosen at random (a limit such as
            "100p" or "64kB").
        max_yellow: Average queue at or above which every yellow packet is chosen (a limit such as "100p" or
            "64kB").
        max_p_yellow: Probability that a yellow packet is chosen as the average approaches `max_yellow`, above
            0 (a number from 0 to 1). Default: 0.05.
        min_red: Average queue at or above which red packets are chosen at random (a limit such as "100p" or
            "64kB").
        max_red: Average queue at or above which every red packet is chosen (a limit such as "100p" or
            "64kB").
        max_p_red: Probability that a red packet is chosen as the average approaches `max_red`, above 0 (a
            number from 0 to 1). Default: 0.1.
        weight: Weight of one arrival in the average queue (w_q), above 0 (a number from 0 to 1). Default:
            0.002.
        limit: Longest queue, the packet in service included (a limit such as "100p" or "64kB").
        slope: Above an upper threshold: every packet is chosen, or with a probability that rises to 1 at
            twice the threshold (step or gentle). Default: step.
        signal: Congestion signal: drops only; marks of ECN-capable packets where the choice is random, and
            drops above (RFC 3168); or marks of ECN-capable packets until the queue is at its limit (drop or
            mark-then-drop or mark). Default: mark-then-drop.
        mean_packet: Length of a typical packet, in which the capacity of an idle link is counted and by which
            byte mode scales (a size such as "250B", or a number of bytes). Default: 500B.
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: RFC 2597, section 4; Floyd and Jacobson 1993.
    """

    _kind: ClassVar[str | None] = "wred"

    _quantities: ClassVar = {"mean_packet": quantities.Size}

    min_green: str
    max_green: str
    max_p_green: float | None = None
    min_yellow: str
    max_yellow: str
    max_p_yellow: float | None = None
    min_red: str
    max_red: str
    max_p_red: float | None = None
    weight: float | None = None
    limit: str
    slope: Literal["step", "gentle"] | None = None
    signal: Literal["drop", "mark-then-drop", "mark"] | None = None
    mean_packet: str | int | None = None
    scope: Literal["queue", "flow"] | None = None


@dataclass(frozen=True, kw_only=True)
class Codel(Record):
    """CoDel.

    Controlled delay: drops or marks packets at the head of the queue while all of them have waited for longer
    than a target.

    Attributes:
        target: Acceptable standing sojourn time, above 0 (a time such as "5ms", or a number of seconds).
            Default: 5ms.
        interval: Time for which the sojourn time exceeds `target` before a packet is dropped: about the
            longest round-trip time, above 0 (a time such as "5ms", or a number of seconds). Default: 100ms.
        limit: Longest queue, the packet in service included; without it, limited only by the switch's memory
            (a limit such as "100p" or "64kB").
        form: The RFC's algorithm, or Linux's: times in units of 1,024 ns, an approximate square root, and a
            port's whole queue where the RFC has a flow's (rfc or linux). Default: rfc.
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: RFC 8289.
    """

    _kind: ClassVar[str | None] = "codel"

    _quantities: ClassVar = {"target": quantities.Time, "interval": quantities.Time}

    target: str | float | None = None
    interval: str | float | None = None
    limit: str | None = None
    form: Literal["rfc", "linux"] | None = None
    scope: Literal["queue", "flow"] | None = None


@dataclass(frozen=True, kw_only=True)
class Pie(Record):
    """PIE.

    Proportional integral controller enhanced: drops or marks arriving packets at random, with a probability
    that keeps the queueing delay near a target.

    Attributes:
        target: Target of the queueing delay, above 0 (a time such as "5ms", or a number of seconds). Default:
            15ms.
        update: Time from one update of the drop probability to the next, above 0 (a time such as "5ms", or a
            number of seconds). Default: 15ms.
        max_burst: Length of a burst that passes before packets are dropped at random (a time such as "5ms",
            or a number of seconds). Default: 150ms.
        alpha: Weight of the delay's distance from `target`, per second (a number from 0 to 1000). Default:
            0.125.
        beta: Weight of the delay's change since the last update, per second (a number from 0 to 1000).
            Default: 1.25.
        mark_below: Drop probability below which ECN-capable packets are marked; from there on they are
            dropped like others (a number from 0 to 1). Default: 0.1.
        mean_packet: Length of a typical packet: with no more than two of them queued, nothing is dropped at
            random (a size such as "250B", or a number of bytes). Default: 1500B.
        limit: Longest queue, the packet in service included; without it, limited only by the switch's memory
            (a limit such as "100p" or "64kB").
        delay: Estimate of the queueing delay: the queue over the departure rate, or the delay of the packet
            that was selected last, as in Linux (departures or timestamps). Default: departures.
        form: Details of the algorithm: those of RFC 8033, or those of Linux (rfc or linux). Default: rfc.
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: RFC 8033.
    """

    _kind: ClassVar[str | None] = "pie"

    _quantities: ClassVar = {
        "target": quantities.Time,
        "update": quantities.Time,
        "max_burst": quantities.Time,
        "mean_packet": quantities.Size,
    }

    target: str | float | None = None
    update: str | float | None = None
    max_burst: str | float | None = None
    alpha: float | None = None
    beta: float | None = None
    mark_below: float | None = None
    mean_packet: str | int | None = None
    limit: str | None = None
    delay: Literal["departures", "timestamps"] | None = None
    form: Literal["rfc", "linux"] | None = None
    scope: Literal["queue", "flow"] | None = None


@dataclass(frozen=True, kw_only=True)
class CoupledPi2(Record):
    """Coupled PI2.

    Keeps the Classic queueing delay near a target and marks L4S packets (ECT(1) or CE) with a coupled
    probability, or by their own short delay: the marking of DualPI2, without its scheduler.

    Attributes:
        target: Target of the Classic queueing delay, above 0 (a time such as "5ms", or a number of seconds).
            Default: 15ms.
        update: Time from one update of the base probability to the next (Tupdate), above 0 (a time such as
            "5ms", or a number of seconds). Default: 16ms.
        alpha: Weight of the Classic delay's distance from `target`, per second (a number from 0 to 1000).
            Default: 0.16.
        beta: Weight of the Classic delay's change since the last update, per second (a number from 0 to
            1000). Default: 3.2.
        k: Coupling factor: the L4S marking probability over the base probability (a number from 0.1 to 100).
            Default: 2.
        min_th: L4S delay above which L4S packets are marked (minTh) (a time such as "5ms", or a number of
            seconds). Default: 800us.
        range: L4S delays above `min_th` over which the marking probability rises to 1; 0 is a step (a time
            such as "5ms", or a number of seconds). Default: 400us.
        th_len: L4S packets waiting behind one up to which its delay does not mark it (a whole number from 0
            to 1000000). Default: 1.
        limit: Longest queue, the packet in service included; without it, limited only by the switch's memory
            (a limit such as "100p" or "64kB").
        scope: Scope: the `queue` of the port or class as a whole, or the queue of each `flow` there, with its
            own dropper (queue or flow). Default: queue.

    Source: RFC 9332, appendix A.1.
    """

    _kind: ClassVar[str | None] = "coupled-pi2"

    _quantities: ClassVar = {
        "target": quantities.Time,
        "update": quantities.Time,
        "min_th": quantities.Time,
        "range": quantities.Time,
    }

    target: str | float | None = None
    update: str | float | None = None
    alpha: float | None = None
    beta: float | None = None
    k: float | None = None
    min_th: str | float | None = None
    range: str | float | None = None
    th_len: int | None = None
    limit: str | None = None
    scope: Literal["queue", "flow"] | None = None


DropperName = Literal["red", "codel", "pie", "coupled-pi2"]

DropperKind = DropTail | Red | Rio | Wred | Codel | Pie | CoupledPi2


@dataclass(frozen=True, kw_only=True)
class DropHistory(Record):
    """Drop history.

    Reports flows that have a large share of the drops and keep losing packets in most intervals of a
    round-trip time, unlike sources that respond to congestion; on request it drops their packets outside
    their profiles.

    Attributes:
        drops: Drops that count: of packets out of profile (red and yellow), or all (out or all). Default:
            out.
        share: Least share of a window's drops that counts against a flow, above 0 (a number from 0 to 1).
            Default: 0.2.
        persistence: Least share of a window's intervals with drops that counts against a flow, above 0 (a
            number from 0 to 1). Default: 0.4.
        interval: Length of an interval: no longer than the shortest round-trip time, with queueing, of
            sources that respond (a time such as "5ms", or a number of seconds). Default: 10ms.
        window: Length of a window (a time such as "5ms", or a number of seconds). Default: 400ms.
        windows: Consecutive windows after which a flow is named (a whole number from 1 to 1000). Default: 4.
        action: Action on a named flow: it is reported, or its packets outside its profile are dropped as well
            (report or police). Default: report.
        release: Most packets outside its profile that a flow offers in a window to be released, over those
            that it lost in the last window that counted against it (a number from 0 to 1). Default: 0.5.
        release_after: Time for which it offers no more than that, at least a window (a time such as "5ms", or
            a number of seconds). Default: 5s.

    Source: Clark and Fang 1998, section IV.E; Floyd and Fall 1999.
    """

    _kind: ClassVar[str | None] = "drop-history"

    _quantities: ClassVar = {
        "interval": quantities.Time,
        "window": quantities.Time,
        "release_after": quantities.Time,
    }

    drops: Literal["out", "all"] | None = None
    share: float | None = None
    persistence: float | None = None
    interval: str | float | None = None
    window: str | float | None = None
    windows: int | None = None
    action: Literal["report", "police"] | None = None
    release: float | None = None
    release_after: str | float | None = None


DetectorName = Literal["drop-history"]

DetectorKind = DropHistory


@dataclass(frozen=True, kw_only=True)
class Efci(Record):
    """EFCI marking.

    Marks data cells while the queue of the ABR class is long; their destination sets CI in the next RM cell
    that it turns around.

    Attributes:
        threshold: Length of the class queue, in cells, at or above which data cells are marked (a whole
            number from 1 to 100000000). Default: 100.

    Source: ATM TM 4.0, section 5.10.6, rule 1a.
    """

    _kind: ClassVar[str | None] = "efci"

    threshold: int | None = None


@dataclass(frozen=True, kw_only=True)
class RelativeRate(Record):
    """Relative-rate marking.

    Sets NI, and in a longer queue CI, in the RM cells on their way back to the sources.

    Attributes:
        no_increase: Length of the class queue, in cells, at or above which rates are not increased (NI) (a
            whole number from 1 to 100000000). Default: 50.
        congested: Length of the class queue, in cells, at or above which rates are decreased (CI), at least
            `no_increase` (a whole number from 1 to 100000000). Default: 200.

    Source: ATM TM 4.0, section 5.10.6, rule 1c.
    """

    _kind: ClassVar[str | None] = "relative-rate"

    no_increase: int | None = None
    congested: int | None = None


@dataclass(frozen=True, kw_only=True)
class Eprca(Record):
    """EPRCA.

    Averages the rates that RM cells declare; while the queue of the ABR class is long it limits VCs to a
    share of the average, and while it is very long it also sets CI.

    Attributes:
        weight: Weight of an RM cell's rate in the mean allowed cell rate (MACR) (a number from 0 to 1).
            Default: 0.0625.
        down_pressure: Share of MACR to which VCs are limited while the queue is congested: the down pressure
            factor (DPF) (a number from 0 to 1). Default: 0.875.
        congested: Length of the class queue, in cells, at or above which rates are limited to that share (a
            whole number from 1 to 100000000). Default: 100.
        very_congested: Length of the class queue, in cells, at or above which rates are also decreased (CI),
            at least `congested` (a whole number from 1 to 100000000). Default: 1000.

    Source: Roberts 1994 (AF-TM 94-0735R1); Jain 1996, section 6.
    """

    _kind: ClassVar[str | None] = "eprca"

    weight: float | None = None
    down_pressure: float | None = None
    congested: int | None = None
    very_congested: int | None = None


@dataclass(frozen=True, kw_only=True)
class Aprc(Record):
    """Intelligent congestion control (APRC).

    Estimates a fair share from the rates that RM cells declare, and limits VCs to a part of it while the
    queue of the ABR class grows; while it is very long it also sets CI.

    Attributes:
        weight: Weight of an RM cell's rate in the estimate of the fair share (MACR) (a number from 0 to 1).
            Default: 0.0625.
        down_pressure: Share of MACR to which VCs are limited while the queue grows (a number from 0 to 1).
            Default: 0.875.
        cells: Number of cells over which the growth of the queue is judged (a whole number from 1 to
            100000000). Default: 100.
        very_congested: Length of the class queue, in cells, at or above which rates are limited and decreased
            (CI) whether or not it grows (a whole number from 1 to 100000000). Default: 300.

    Source: Siu and Tzeng 1994; Kalyanaraman 1997, section 4.6.
    """

    _kind: ClassVar[str | None] = "aprc"

    weight: float | None = None
    down_pressure: float | None = None
    cells: int | None = None
    very_congested: int | None = None


@dataclass(frozen=True, kw_only=True)
class Erica(Record):
    """ERICA.

    Measures load and active VCs over intervals, and allocates to each VC the greater of an equal share of the
    target rate and its own rate divided by the overload.

    Attributes:
        utilisation: Target utilisation: share of the link for CBR, VBR and ABR together, above 0 (a number
            from 0 to 1). Default: 0.9.
        interval: Averaging interval, above zero (a time such as "5ms", or a number of seconds). Default: 1ms.
        cells: Cells of the ABR class after which the interval ends early; without it, none (a whole number
            from 1 to 100000000).
        fairness_boost: Overload minus 1 up to which VCs also get the greatest allocation of the previous
            interval (δ of the fairness boost); without it, they do not (a number from 0 to 1).
        queue_delay: Target of the queueing delay, above zero: the target rate then depends on the length of
            the queue (ERICA+) instead of `utilisation`; without it, it does not (a time such as "5ms", or a
            number of seconds).
        average_active: Contribution of a VC to the number of active VCs in the first interval without a cell
            of it, decaying by the same factor afterwards, below 1; without it, 0 (a number from 0 to 1).
        average_overload: Weight of an interval in the averages of input rate and target rate, above 0;
            without it, 1 (a number from 0 to 1).
        fairness: Shares of the target rate: equal ones, or the MCR of each VC and an equal share of the rest
            (max-min or mcr-plus). Default: max-min.

    Source: Kalyanaraman et al. 1998, section 3; Kalyanaraman et al. 2000 (the enhancements).
    """

    _kind: ClassVar[str | None] = "erica"

    _quantities: ClassVar = {"interval": quantities.Time, "queue_delay": quantities.Time}

    utilisation: float | None = None
    interval: str | float | None = None
    cells: int | None = None
    fairness_boost: float | None = None
    queue_delay: str | float | None = None
    average_active: float | None = None
    average_overload: float | None = None
    fairness: Literal["max-min", "mcr-plus"] | None = None


@dataclass(frozen=True, kw_only=True)
class Ucsc(Record):
    """UCSC.

    Knows which VCs are limited elsewhere by the rates that they declare, and divides what these leave of the
    target rate equally among the others.

    Attributes:
        utilisation: Target utilisation: share of the link for CBR, VBR and ABR together, above 0 (a number
            from 0 to 1). Default: 0.9.
        interval: Averaging interval of CBR and VBR, above zero (a time such as "5ms", or a number of
            seconds). Default: 1ms.
        idle: Time without an RM cell after which a VC has no share, at least `interval` (a time such as
            "5ms", or a number of seconds). Default: 100ms.

    Source: Kalampoukas, Varma and Ramakrishnan 1995; Kalyanaraman 1997, section 4.9.
    """

    _kind: ClassVar[str | None] = "ucsc"

    _quantities: ClassVar = {"interval": quantities.Time, "idle": quantities.Time}

    utilisation: float | None = None
    interval: str | float | None = None
    idle: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Phantom(Record):
    """Phantom.

    Averages the rate that all VCs together leave of the link, and allocates to each VC a multiple of it.

    Attributes:
        factor: Allocation of a VC over the rate that all leave (the utilisation factor) (a whole number from
            1 to 1000000). Default: 5.
        interval: Averaging interval, above zero (a time such as "5ms", or a number of seconds). Default: 1ms.
        increase: Weight of an interval in MACR while it leaves more than MACR (a number from 0 to 1).
            Default: 0.015625.
        decrease: Weight of an interval in MACR while it leaves less (a number from 0 to 1). Default: 0.0625.

    Source: Afek, Mansour and Ostfeld 1996.
    """

    _kind: ClassVar[str | None] = "phantom"

    _quantities: ClassVar = {"interval": quantities.Time}

    factor: int | None = None
    interval: str | float | None = None
    increase: float | None = None
    decrease: float | None = None


RateControlName = Literal["efci", "relative-rate", "eprca", "aprc", "erica", "ucsc", "phantom"]

RateControlKind = Efci | RelativeRate | Eprca | Aprc | Erica | Ucsc | Phantom


@dataclass(frozen=True, kw_only=True)
class VsVd(Record):
    """Virtual source and virtual destination (VS/VD).

    Ends the control loop of each VC at the port and starts a new one, with a queue for each VC before the
    class queue. The default is option D of the paper, its best.

    Attributes:
        vc_rate: Current rate of a VC: declared by its source (frm1) or by the virtual source (frm2), or
            measured at the entry to the per-VC or the class queue (frm1 or frm2 or per-vc or class). Default:
            class.
        input_rate: Input rate: the sum of the inputs of the per-VC queues, or the input of the class queue
            (per-vc or class). Default: class.
        acts_on: Loop on which congestion of the link acts: the previous one, the next one, or both (previous
            or next or both). Default: both.
        updated_at: Time at which allocations are calculated: when an FRM cell of the previous loop is turned
            around, when a BRM cell of the next loop arrives, or both (frm1 or brm2 or both). Default: both.
        er_bound: Bound of ER1 besides the allocation: ACR2, or none (acr2 or none). Default: acr2.
        icr: Initial cell rate of virtual sources; without it, the VC's PCR (a rate such as "400kbit", or a
            number of bit/s).
        before_brm2: Allocation returned before the first BRM cell of the next loop, with `updated_at` brm2:
            none, the one calculated then, or the declared rate (no-limit or calculated or declared). Default:
            no-limit.
        per_vc_input: Input of a per-VC queue where rates are measured: all cells of the previous loop, or
            data cells alone (cells or data). Default: cells.
        service: Service of the per-VC queues: at ACR2, or by the port's scheduler whenever the link is free
            (acr2 or scheduler). Default: acr2.
        per_vc_delay: Target of the queueing delay in a per-VC queue, above zero: beyond it ER1 is below ACR2,
            so that the queue drains; without it, ER1 does not depend on that queue (a time such as "5ms", or
            a number of seconds).

    Source: Kalyanaraman et al. 1998; ATM TM 4.0, section 5.10.7.
    """

    _kind: ClassVar[str | None] = "vs-vd"

    _quantities: ClassVar = {"icr": quantities.Rate, "per_vc_delay": quantities.Time}

    vc_rate: Literal["frm1", "frm2", "per-vc", "class"] | None = None
    input_rate: Literal["per-vc", "class"] | None = None
    acts_on: Literal["previous", "next", "both"] | None = None
    updated_at: Literal["frm1", "brm2", "both"] | None = None
    er_bound: Literal["acr2", "none"] | None = None
    icr: str | float | None = None
    before_brm2: Literal["no-limit", "calculated", "declared"] | None = None
    per_vc_input: Literal["cells", "data"] | None = None
    service: Literal["acr2", "scheduler"] | None = None
    per_vc_delay: str | float | None = None


VsvdName = Literal["vs-vd"]

VsvdKind = VsVd


@dataclass(frozen=True, kw_only=True)
class Uniform(Record):
    """Uniform jitter.

    As likely anywhere between `spread` less than the delay and `spread` more, but not below zero.

    Attributes:
        spread: Largest difference from the delay (a time such as "5ms", or a number of seconds).
        reorders: Whether a packet may overtake those in front of it; otherwise it arrives with them at the
            earliest. Default: false.
    """

    _kind: ClassVar[str | None] = "uniform"

    _quantities: ClassVar = {"spread": quantities.Time}

    spread: str | float
    reorders: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Normal(Record):
    """Normal jitter.

    Normal about the delay, but not below zero.

    Attributes:
        deviation: Standard deviation (a time such as "5ms", or a number of seconds).
        reorders: Whether a packet may overtake those in front of it; otherwise it arrives with them at the
            earliest. Default: false.
    """

    _kind: ClassVar[str | None] = "normal"

    _quantities: ClassVar = {"deviation": quantities.Time}

    deviation: str | float
    reorders: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Exponential(Record):
    """Exponential jitter.

    Exponential beyond the delay.

    Attributes:
        mean: Mean of what is added to the delay (a time such as "5ms", or a number of seconds).
        reorders: Whether a packet may overtake those in front of it; otherwise it arrives with them at the
            earliest. Default: false.
    """

    _kind: ClassVar[str | None] = "exponential"

    _quantities: ClassVar = {"mean": quantities.Time}

    mean: str | float
    reorders: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Pareto(Record):
    """Pareto jitter.

    Pareto beyond the delay, at least mean · (shape - 1) / shape: few packets take much longer.

    Attributes:
        mean: Mean of what is added to the delay (a time such as "5ms", or a number of seconds).
        shape: Shape, above 1; up to 2 the variance is infinite (a number from 1 to 1000). Default: 2.5.
        reorders: Whether a packet may overtake those in front of it; otherwise it arrives with them at the
            earliest. Default: false.
    """

    _kind: ClassVar[str | None] = "pareto"

    _quantities: ClassVar = {"mean": quantities.Time}

    mean: str | float
    shape: float | None = None
    reorders: bool | None = None


JitterKind = Uniform | Normal | Exponential | Pareto


@dataclass(frozen=True, kw_only=True)
class GilbertElliott(Record):
    """Gilbert-Elliott.

    Loss in bursts: the link is in a good or in a bad state, good at first. A packet is lost with the
    probability of the state, which changes after each packet with another probability.

    Attributes:
        to_bad: Probability that the good state turns bad after a packet; `p` in netem (a number from 0 to 1).
        to_good: Probability that the bad state turns good after a packet; `r` in netem. A bad state lasts for
            the inverse of it on average, in packets (a number from 0 to 1).
        loss_in_good: Probability that a packet is lost in the good state; `1-k` in netem (a number from 0 to
            1). Default: 0.
        loss_in_bad: Probability that a packet is lost in the bad state; `1-h` in netem (a number from 0 to
            1). Default: 1.

    Source: Gilbert 1960; Elliott 1963.
    """

    _kind: ClassVar[str | None] = "gilbert-elliott"

    to_bad: float
    to_good: float
    loss_in_good: float | None = None
    loss_in_bad: float | None = None


LossKind = GilbertElliott


@dataclass(frozen=True, kw_only=True)
class Cbr(Record):
    """Constant rate.

    Packets evenly spaced at the rate.

    Attributes:
        rate: Mean rate, counted in whole packets (a rate such as "400kbit", or a number of bit/s).
        times: Factor on the rates of this source: above 1 it misbehaves and sends that many times its
            declared rate (a number from 1 to 1000). Default: 1.
    """

    _kind: ClassVar[str | None] = "cbr"

    _quantities: ClassVar = {"rate": quantities.Rate}

    rate: str | float
    times: float | None = None


@dataclass(frozen=True, kw_only=True)
class Poisson(Record):
    """Poisson.

    Packets at the rate with independent, exponential gaps.

    Attributes:
        rate: Mean rate, counted in whole packets (a rate such as "400kbit", or a number of bit/s).
        times: Factor on the rates of this source: above 1 it misbehaves and sends that many times its
            declared rate (a number from 1 to 1000). Default: 1.
    """

    _kind: ClassVar[str | None] = "poisson"

    _quantities: ClassVar = {"rate": quantities.Rate}

    rate: str | float
    times: float | None = None


@dataclass(frozen=True, kw_only=True)
class OnOff(Record):
    """On-off.

    Bursts at the peak rate, of a geometric number of packets, separated by exponential silences that give the
    mean rate.

    Attributes:
        rate: Mean rate, counted in whole packets (a rate such as "400kbit", or a number of bit/s).
        peak: Rate within a burst, at least `rate` (a rate such as "400kbit", or a number of bit/s).
        burst: Mean number of packets in a burst (a number from 1 to 1000000).
        times: Factor on the rates of this source: above 1 it misbehaves and sends that many times its
            declared rate (a number from 1 to 1000). Default: 1.

    Source: Pincheira 1994, section 4.1.
    """

    _kind: ClassVar[str | None] = "on-off"

    _quantities: ClassVar = {"rate": quantities.Rate, "peak": quantities.Rate}

    rate: str | float
    peak: str | float
    burst: float
    times: float | None = None


@dataclass(frozen=True, kw_only=True)
class PacketTrain(Record):
    """Packet train.

    Trains of a geometric number of packets, separated by exponential gaps that give the mean rate (AR).

    Attributes:
        rate: Mean rate, counted in whole packets (a rate such as "400kbit", or a number of bit/s).
        length: Mean number of packets in a train (a number from 1 to 1000000). Default: 5.
        gap: Time between packets of a train; without it 1/(2·AR), half the mean spacing (a time such as
            "5ms", or a number of seconds).
        times: Factor on the rates of this source: above 1 it misbehaves and sends that many times its
            declared rate (a number from 1 to 1000). Default: 1.

    Source: Zhang 1991, section 4.1.2.
    """

    _kind: ClassVar[str | None] = "packet-train"

    _quantities: ClassVar = {"rate": quantities.Rate, "gap": quantities.Time}

    rate: str | float
    length: float | None = None
    gap: str | float | None = None
    times: float | None = None


@dataclass(frozen=True, kw_only=True)
class Greedy(Record):
    """Greedy.

    Always has packets to send: keeps a fixed number of packets in its first queue.

    Attributes:
        window: Packets kept in its first queue (a whole number from 1 to 1000000). Default: 4.
    """

    _kind: ClassVar[str | None] = "greedy"

    window: int | None = None


@dataclass(frozen=True, kw_only=True)
class Trace(Record):
    """Trace.

    Packets at the times and with the sizes of a file: lines of a time in seconds and a size in bytes,
    separated by blanks or a comma. Times count from the first packet, which comes at the flow's `start`.

    Attributes:
        file: File to play.
        flow: Flow of a CSV file, as its column `flow` names it; without it, all. Several become flows
            NAME/voice and so on (text).
        omit: Flows of the file that are not played, as its column `flow` names them (text).
        speed: Speed of playback: at 2, gaps are half as long (a number from 0.001 to 1000). Default: 1.
        repeat: Number of times that it is played, one after another (a whole number from 1 to 1000000).
            Default: 1.
    """

    _kind: ClassVar[str | None] = "trace"

    file: str
    flow: str | None = None
    omit: str | list[str] | tuple[str, ...] | None = None
    speed: float | None = None
    repeat: int | None = None


@dataclass(frozen=True, kw_only=True)
class Video(Record):
    """Video.

    Frames of a video in packets of the flow's `size`, the last of a frame shorter; at the end of the file it
    starts again. Each flow starts with a random frame at a random phase of the frame interval.

    Attributes:
        file: Frame sizes in the order of transmission: lines of a number of bytes, or of columns of which the
            third is the type (I, P or B) and the fourth the bytes.
        fps: Frames in a second (a number from 0.001 to 1000000).
        spread: Times of a frame's packets: evenly over the frame interval, or at the peak rate from its
            beginning (frame or peak). Default: frame.
        peak: Rate at which the packets of a frame follow each other with `spread = "peak"`; without it, the
            flow's `peak` (a rate such as "400kbit", or a number of bit/s).
        first: Frame with which every flow starts at its `start`, from 0; without it, frame and phase are
            random (a whole number from 0 to 1000000000).

    Source: Pincheira 1994, section 1 (variable bit-rate video).
    """

    _kind: ClassVar[str | None] = "video"

    _quantities: ClassVar = {"peak": quantities.Rate}

    file: str
    fps: float
    spread: Literal["frame", "peak"] | None = None
    peak: str | float | None = None
    first: int | None = None


@dataclass(frozen=True, kw_only=True)
class Capture(Record):
    """Capture.

    Packets at the times and with the sizes of a packet capture. Times count from its first packet, which
    comes at the flow's `start`.

    Attributes:
        file: Capture to play.
        flow: Flow of it, as `10.0.0.1:5004>10.0.0.2:5004/udp`, or several, with `*` for an address, a port,
            an end or the protocol: `10.0.0.1:80>*/tcp`; without it, all. Several become flows
            NAME/10.0.0.1:80>10.0.0.2:5004/tcp and so on, each with the given reservation (text).
        omit: Flows of it that are not played, each written as `flow` (text).
        inside: Addresses and prefixes of one side, as `10.0.0.0/8`: only packets in one direction are played,
            from one of these addresses to none of them, or the reverse; without it, all packets that `flow`
            selects (text).
        direction: Direction of the packets that are played: `up` from the addresses of `inside`, `down` to
            them. On a route through a gate it is the flow's direction there (up or down).
        speed: Speed of playback: at 2, gaps are half as long (a number from 0.001 to 1000). Default: 1.
        repeat: Number of times that it is played, one after another (a whole number from 1 to 1000000).
            Default: 1.
    """

    _kind: ClassVar[str | None] = "capture"

    file: str
    flow: str | None = None
    omit: str | list[str] | tuple[str, ...] | None = None
    inside: str | list[str] | tuple[str, ...] | None = None
    direction: Literal["up", "down"] | None = None
    speed: float | None = None
    repeat: int | None = None


SourceName = Literal["greedy"]

SourceKind = Cbr | Poisson | OnOff | PacketTrain | Greedy | Trace | Video | Capture


@dataclass(frozen=True, kw_only=True)
class TokenBucket(Record):
    """Token bucket (user-behaviour envelope).

    Delays a flow's packets until they conform to a bucket of `burst` refilled at `rate`, and to `peak`;
    packets beyond a full `queue` are discarded. With a burst of one packet it is the simple leaky bucket;
    with `excess` dropped or marked, the one that saves credits. Without `rate` and `burst` it is the filter
    of the flow's contract (W, r, r̂).

    Attributes:
        rate: Rate at which the bucket refills; without it, the flow's `reserve` (a rate such as "400kbit", or
            a number of bit/s).
        burst: Depth of the bucket: the most that may leave back to back, at least the largest packet; without
            it, the flow's `workahead`, or `reserve` times `interval` (a size such as "250B", or a number of
            bytes).
        peak: Peak rate: after each packet there is a gap of its transmission time at this rate; without it
            and without `rate`, the flow's `peak`; without that, packets leave back to back (a rate such as
            "400kbit", or a number of bit/s).
        queue: Longest queue of waiting packets; without it nothing is discarded (a limit such as "100p" or
            "64kB").
        excess: Packets that do not conform: they wait, are dropped, or are sent at once, marked as out of
            profile (wait or drop or mark). Default: wait.
        calendar: Width of the buckets of a calendar into which packets are put by the time at which they
            conform, above zero: they leave at the end of their bucket. Without it, they leave when they
            conform (a time such as "5ms", or a number of seconds).

    Source: Zhang 1991, section 3.3 (envelope: burst = AR * AI) and section 5.2.1 (leaky buckets); Pincheira
    1994, section 2.1 (the filter).
    """

    _kind: ClassVar[str | None] = "token-bucket"

    _quantities: ClassVar = {
        "rate": quantities.Rate,
        "burst": quantities.Size,
        "peak": quantities.Rate,
        "calendar": quantities.Time,
    }

    rate: str | float | None = None
    burst: str | int | None = None
    peak: str | float | None = None
    queue: str | None = None
    excess: Literal["wait", "drop", "mark"] | None = None
    calendar: str | float | None = None


EnvelopeName = Literal["token-bucket"]

EnvelopeKind = TokenBucket


@dataclass(frozen=True, kw_only=True)
class Abr(Record):
    """ABR.

    Sends cells at the rate that the network allows, and requests that rate with one RM cell in every `nrm`
    cells. The ports on the route need a switch algorithm, or the rate never changes.

    Attributes:
        pcr: Peak cell rate; without it, the rate of the first link (a rate such as "400kbit", or a number of
            bit/s).
        mcr: Minimum cell rate, at most `pcr`; without it, 0 (a rate such as "400kbit", or a number of bit/s).
        icr: Initial cell rate, from `mcr` to `pcr`; without it, `pcr` (a rate such as "400kbit", or a number
            of bit/s).
        rif: Rate increase factor: share of `pcr` by which an RM cell may raise the rate (a number from 0 to
            1). Default: 0.0625.
        rdf: Rate decrease factor: share of the rate by which an RM cell with CI lowers it (a number from 0 to
            1). Default: 0.0625.
        cdf: Cutoff decrease factor: share of the rate by which each RM cell lowers it while `crm` RM cells
            are unanswered (a number from 0 to 1). Default: 0.0625.
        nrm: In-rate cells per RM cell, including the RM cell (a whole number from 2 to 256). Default: 32.
        mrm: Least number of in-rate cells between RM cells that `trm` causes (a whole number from 2 to 256).
            Default: 2.
        trm: Longest time between RM cells of a source that sends (a time such as "5ms", or a number of
            seconds). Default: 100ms.
        crm: Number of unanswered RM cells at which the rate is cut: TBE / Nrm (a whole number from 1 to
            16777215). Default: 524288.
        adtf: Time without an RM cell after which a rate above `icr` falls to `icr` (use it or lose it) (a
            time such as "5ms", or a number of seconds). Default: 500ms.
        tcr: Out-of-rate RM cells per second while the cell rate is below this (a whole number from 1 to
            1000000). Default: 10.
        headroom: Rate above its actual rate that a source may keep, down to `icr`: it loses the rest at its
            next RM cell (use it or lose it, rule 13); without it, it keeps all (a rate such as "400kbit", or
            a number of bit/s).
        rm_cell: Size of an RM cell, at most `size` (a size such as "250B", or a number of bytes). Default:
            53B.
        header: Header of a cell: data are `size` less this (a size such as "250B", or a number of bytes).
            Default: 5B.
        frame: Longest packet of AAL5, at most 65,535 bytes: data go in frames of whole cells with a trailer
            of 8 bytes, and a packet counts as delivered when all of its cells are; without it, data fill
            cells and each counts for itself (a size such as "250B", or a number of bytes).

    Source: ATM TM 4.0, sections 5.10.2 to 5.10.5.
    """

    _kind: ClassVar[str | None] = "abr"

    _quantities: ClassVar = {
        "pcr": quantities.Rate,
        "mcr": quantities.Rate,
        "icr": quantities.Rate,
        "trm": quantities.Time,
        "adtf": quantities.Time,
        "headroom": quantities.Rate,
        "rm_cell": quantities.Size,
        "header": quantities.Size,
        "frame": quantities.Size,
    }

    pcr: str | float | None = None
    mcr: str | float | None = None
    icr: str | float | None = None
    rif: float | None = None
    rdf: float | None = None
    cdf: float | None = None
    nrm: int | None = None
    mrm: int | None = None
    trm: str | float | None = None
    crm: int | None = None
    adtf: str | float | None = None
    tcr: int | None = None
    headroom: str | float | None = None
    rm_cell: str | int | None = None
    header: str | int | None = None
    frame: str | int | None = None


@dataclass(frozen=True, kw_only=True)
class Tcp(Record):
    """TCP.

    Sends data reliably and in order, as fast as congestion control allows, with one of several loss
    recoveries, with or without ECN. The congestion window grows until packets are lost or marked, then
    shrinks.

    Attributes:
        stack: Defaults of the keys below: Linux 6.1 (linux), or the RFCs, with their default in each key's
            help (rfc) (linux or rfc). Default: linux.
        congestion: Congestion control, which sets the congestion window. Default: cubic.
        recovery: Loss recovery: losses by time and tail loss probes, RFC 8985 (rack), the SACK scoreboard of
            RFC 6675 (sack, the RFCs' default), RFC 6582 (newreno), or the fast recovery of 1990 that the
            first new acknowledgement ends, RFC 2581 (reno-1990) (sack or rack or newreno or reno-1990).
            Default: rack.
        rack_form: Details of `rack`: as in Linux 6.1 (linux), or RFC 8985 (rfc, the RFCs' default) (rfc or
            linux). Default: linux.
        frto: New data after the first acknowledgement that follows a timeout, to see whether it was needless:
            F-RTO, RFC 5682. It needs `recovery` to be `rack`, and is off by default without it and in the
            RFCs (on or off). Default: on.
        growth: Unit in which the window grows: as in Linux (segments), or RFC 5681 (bytes, the RFCs' default,
            and that of a congestion control which counts no segments) (bytes or segments). Default: segments.
        slow_start: End of slow start: also by the growth of round trips, as in Linux with CUBIC (hystart), or
            at the threshold only, RFC 5681 (standard, the RFCs' default, and that of other controls)
            (standard or hystart). Default: hystart.
        reduction: Reduction of the window: over a round trip, RFC 6937 (prr), which needs `recovery` to be
            `rack`, or RFC 5681 (at-once, the RFCs' default, and that without `rack`) (at-once or prr).
            Default: prr.
        timestamps: Time stamps (RFC 7323), whose 12 bytes are part of `header`: every acknowledgement
            measures a round trip. They need `recovery` to be `rack`, and are off by default without it and in
            the RFCs (on or off). Default: on.
        handshake: Handshake before the first data (RFC 9293, section 3.5); the RFCs' default is off (on or
            off). Default: on.
        ecn: Explicit congestion notification (RFC 3168): data are sent ECN-capable, and the sender responds
            to marks (on or off). Default: off.
        granularity: Tick of the clock that measures round-trip times and timeouts; 500 ms in the 1990s (a
            time such as "5ms", or a number of seconds). Default: 1ms.
        minimum_rto: Least retransmission timeout, at least `granularity`; 1 s in RFC 6298 (a time such as
            "5ms", or a number of seconds). Default: 200ms.
        rto_floor: Quantity that `minimum_rto` limits: the margin in the timeout for variation, as in Linux
            (variation), or the timeout, RFC 6298 (timeout, the RFCs' default) (timeout or variation).
            Default: variation.
        timer_slack: Time by which timers of `rack` expire later than RFC 8985 asks for; the RFCs' default is
            0 (a time such as "5ms", or a number of seconds). Default: 2ms.
        maximum_rto: Greatest retransmission timeout (a time such as "5ms", or a number of seconds). Default:
            60s.
        delayed_acks: Time for which an acknowledgement is delayed to wait for a second segment, below 500 ms
            (RFC 5681, section 4.2); with 0, the RFCs' default, every segment is acknowledged at once (a time
            such as "5ms", or a number of seconds). Default: 40ms.
        quick_acks: Acknowledgements in a row that are not delayed: at the start of a connection, after a gap
            of more than a timeout, and when data come twice, as in Linux; two at a mark that begins an echo.
            The RFCs' default is 0 (a whole number from 0 to 1000). Default: 16.
        compressed_sacks: Time for which acknowledgements of data behind a gap are held back from the fourth
            on, to report several segments at once, as in Linux (`tcp_comp_sack_delay_ns`); at most a
            twentieth of the round trip. With 0, the RFCs' default, or without `delayed_acks`, none is (a time
            such as "5ms", or a number of seconds). Default: 1ms.
        push_acks: Acknowledgement at once of a segment that ends what the application has written (PSH), as
            in Linux for an application that reads at once; the RFCs' default is off (on or off). Default: on.
        initial_window: Initial congestion window in segments (RFC 6928); 1 or 2 in the 1990s (a whole number
            from 1 to 1000). Default: 10.
        autotuning: Window that the receiver advertises: it opens with what arrives, up to `receiver_window`,
            and a segment that opens it is acknowledged at once, as in Linux (on), or it is always
            `receiver_window`, the RFCs' default (off) (on or off). Default: on.
        receiver_window: Limit of the data in flight: what Linux's memory for sending holds in segments of
            1,448 bytes, or the receiver's buffer, by the RFCs' default 1 MiB (a size such as "250B", or a
            number of bytes). Default: 2027200B.
        header: Headers of a packet, and the size of an acknowledgement: data are `size` less this; 40 bytes
            by default without time stamps (a size such as "250B", or a number of bytes). Default: 52B.

    Source: RFC 5681, 6298, 2018, 6675, 8985, 6937, 2883, 6582, 2581, 3168.
    """

    _kind: ClassVar[str | None] = "tcp"

    _quantities: ClassVar = {
        "granularity": quantities.Time,
        "minimum_rto": quantities.Time,
        "timer_slack": quantities.Time,
        "maximum_rto": quantities.Time,
        "delayed_acks": quantities.Time,
        "compressed_sacks": quantities.Time,
        "receiver_window": quantities.Size,
        "header": quantities.Size,
    }

    stack: Literal["linux", "rfc"] | None = None
    congestion: CongestionControlName | CongestionControlKind | None = None
    recovery: Literal["sack", "rack", "newreno", "reno-1990"] | None = None
    rack_form: Literal["rfc", "linux"] | None = None
    frto: Literal["on", "off"] | None = None
    growth: Literal["bytes", "segments"] | None = None
    slow_start: Literal["standard", "hystart"] | None = None
    reduction: Literal["at-once", "prr"] | None = None
    timestamps: Literal["on", "off"] | None = None
    handshake: Literal["on", "off"] | None = None
    ecn: Literal["on", "off"] | None = None
    granularity: str | float | None = None
    minimum_rto: str | float | None = None
    rto_floor: Literal["timeout", "variation"] | None = None
    timer_slack: str | float | None = None
    maximum_rto: str | float | None = None
    delayed_acks: str | float | None = None
    quick_acks: int | None = None
    compressed_sacks: str | float | None = None
    push_acks: Literal["on", "off"] | None = None
    initial_window: int | None = None
    autotuning: Literal["on", "off"] | None = None
    receiver_window: str | int | None = None
    header: str | int | None = None


@dataclass(frozen=True, kw_only=True)
class Window(Record):
    """Fixed window.

    Keeps a fixed number of packets unacknowledged; every packet is acknowledged by one packet. Its throughput
    is window / round-trip time while that is below the rate of the path. Lost packets are not sent again.

    Attributes:
        window: Packets that may be unacknowledged (a whole number from 1 to 1000000). Default: 10.
        acknowledgement: Size of an acknowledgement (a size such as "250B", or a number of bytes). Default:
            40B.
        timeout: Time after which an unacknowledged packet counts as lost, at least the time that the first
            link takes to send the whole window (a time such as "5ms", or a number of seconds). Default: 1s.

    Source: RFC 5681, section 2 (the sliding window, without congestion control).
    """

    _kind: ClassVar[str | None] = "window"

    _quantities: ClassVar = {"acknowledgement": quantities.Size, "timeout": quantities.Time}

    window: int | None = None
    acknowledgement: str | int | None = None
    timeout: str | float | None = None


TransportName = Literal["abr", "tcp", "window"]

TransportKind = Abr | Tcp | Window


@dataclass(frozen=True, kw_only=True)
class Reno(Record):
    """Reno.

    Grows the congestion window by a segment per round trip, and halves it after a loss.

    Source: RFC 5681, section 3.1.
    """

    _kind: ClassVar[str | None] = "reno"


@dataclass(frozen=True, kw_only=True)
class Cubic(Record):
    """CUBIC.

    Grows the congestion window by a cubic function of the time since the last loss, which leaves 0.7 of it.

    Source: RFC 9438.
    """

    _kind: ClassVar[str | None] = "cubic"


@dataclass(frozen=True, kw_only=True)
class Dctcp(Record):
    """DCTCP.

    As Reno, but marks take the share of half the window that was marked.

    Source: RFC 8257.
    """

    _kind: ClassVar[str | None] = "dctcp"


@dataclass(frozen=True, kw_only=True)
class Prague(Record):
    """Prague.

    For L4S queues: reduces the congestion window by the share of marked packets, and has a rate that depends
    little on the round trip. It needs `recovery = "rack"` and `ecn = "on"`.

    Source: draft-briscoe-iccrg-prague-congestion-control; RFC 9331, section 4.
    """

    _kind: ClassVar[str | None] = "prague"


@dataclass(frozen=True, kw_only=True)
class Bbr(Record):
    """BBR, version 1.

    Paces data at the greatest rate at which they arrived lately, and has in flight twice what the path holds
    at the least round trip; neither a loss nor a mark reduces that rate. It needs `recovery = "rack"`.

    Source: draft-cardwell-iccrg-bbr-congestion-control-00; draft-cheng-iccrg-delivery-rate-estimation-02.
    """

    _kind: ClassVar[str | None] = "bbr"


CongestionControlName = Literal["reno", "cubic", "dctcp", "prague", "bbr"]

CongestionControlKind = Reno | Cubic | Dctcp | Prague | Bbr


@dataclass(frozen=True, kw_only=True)
class Bulk(Record):
    """Bulk data.

    Endless data.
    """

    _kind: ClassVar[str | None] = "bulk"


@dataclass(frozen=True, kw_only=True)
class Transfers(Record):
    """Transfers.

    Finite transfers, in a closed or an open loop: one after another on the same connection with its window,
    or with `once` each on a connection of its own. Either `size`, or `file`, or a published distribution
    gives their lengths.

    Attributes:
        size: Bytes of data of a transfer, or a list of sizes with equal probability; required without a
            `file`, unless `sizes` names a published distribution (a size such as "250B", or a number of
            bytes).
        sizes: Distribution of sizes: every transfer has the `size`, or `size` is the mean of an exponential
            distribution; or that of web search (Alizadeh et al. 2010, a mean of 1.7 MB) or of Hadoop (Roy et
            al. 2015, 120 kB) (fixed or exponential or web-search or hadoop). Default: fixed.
        file: Distribution function of sizes: each line has a number of bytes and the percentage of transfers
            of at most that size, both rising, interpolated between lines, the last at 100; required without a
            `size`.
        arrivals: Start of transfers: a `think` time after the previous one was acknowledged (closed loop), or
            by a Poisson process of a `load`, whatever the network does (open loop) (think or poisson).
            Default: think.
        load: Load with `arrivals = "poisson"`, which needs it: data of all `count` connections together,
            without headers, over the rate of the slowest link on the route; `among` hosts, over the links of
            all that send or of all that receive, whichever are less (a number from 0.0001 to 10).
        once: Whether each of the `count` connections carries a single transfer, from its own start; with
            `arrivals = "poisson"` the connections start by that process. Default: false.
        think: Think time between the end of a transfer and the start of the next: its mean, or its constant
            value, according to `thinks` (a time such as "5ms", or a number of seconds). Default: 0s.
        thinks: Whether `think` is the mean of exponential times or constant (exponential or fixed). Default:
            exponential.
    """

    _kind: ClassVar[str | None] = "transfers"

    _quantities: ClassVar = {"size": quantities.Size, "think": quantities.Time}

    size: str | int | list[str | int] | tuple[str | int, ...] | None = None
    sizes: Literal["fixed", "exponential", "web-search", "hadoop"] | None = None
    file: str | None = None
    arrivals: Literal["think", "poisson"] | None = None
    load: float | None = None
    once: bool | None = None
    think: str | float | None = None
    thinks: Literal["exponential", "fixed"] | None = None


@dataclass(frozen=True, kw_only=True)
class OnOffData(Record):
    """On-off data.

    Alternates between a constant rate and silence, starting with the connection. Data are written one
    packet's worth at a time, and the rest at the end of an on period; data that the connection cannot carry
    wait at the sender, without limit.

    Attributes:
        rate: Rate at which data are written in an on period, without headers (a rate such as "400kbit", or a
            number of bit/s).
        on: Length of an on period, above 0 (a time such as "5ms", or a number of seconds).
        off: Length of an off period, above 0 (a time such as "5ms", or a number of seconds).
        periods: Whether `on` and `off` are means of exponential times or constant (exponential or fixed).
            Default: exponential.
    """

    _kind: ClassVar[str | None] = "on-off-data"

    _quantities: ClassVar = {"rate": quantities.Rate, "on": quantities.Time, "off": quantities.Time}

    rate: str | float
    on: str | float
    off: str | float
    periods: Literal["exponential", "fixed"] | None = None


@dataclass(frozen=True, kw_only=True)
class TraceData(Record):
    """Trace data.

    Writes data at the times and with the sizes of a file, as the source `trace` sends packets: lines of a
    time in seconds and a size in bytes. Times count from the first line, at the connection's start. Data that
    the connection cannot carry wait at the sender, without limit.

    Attributes:
        file: File to play.
        speed: Speed of playback: at 2, gaps are half as long (a number from 0.001 to 1000). Default: 1.
    """

    _kind: ClassVar[str | None] = "trace-data"

    file: str
    speed: float | None = None


ApplicationName = Literal["bulk", "transfers"]

ApplicationKind = Bulk | Transfers | OnOffData | TraceData


@dataclass(frozen=True, kw_only=True)
class Vc(Record):
    """VC.

    A VC of the ABR service: the cells of the data wait in a queue of the VC at the sender's first port, and
    are sent at the rate that the network allows. One cell in every `nrm` is an RM cell, which requests that
    rate. The ports on the route need a switch algorithm, or the rate never changes.

    Attributes:
        pcr: Peak cell rate; without it, the rate of the first link (a rate such as "400kbit", or a number of
            bit/s).
        mcr: Minimum cell rate, at most `pcr`; without it, 0 (a rate such as "400kbit", or a number of bit/s).
        icr: Initial cell rate, from `mcr` to `pcr`; without it, `pcr` (a rate such as "400kbit", or a number
            of bit/s).
        rif: Rate increase factor: share of `pcr` by which an RM cell may raise the rate (a number from 0 to
            1). Default: 0.0625.
        rdf: Rate decrease factor: share of the rate by which an RM cell with CI lowers it (a number from 0 to
            1). Default: 0.0625.
        cdf: Cutoff decrease factor: share of the rate by which each RM cell lowers it while `crm` RM cells
            are unanswered (a number from 0 to 1). Default: 0.0625.
        nrm: In-rate cells per RM cell, including the RM cell (a whole number from 2 to 256). Default: 32.
        crm: Number of unanswered RM cells at which the rate is cut: TBE / Nrm (a whole number from 1 to
            16777215). Default: 524288.
        adtf: Time without an RM cell after which a rate above `icr` falls to `icr` (use it or lose it) (a
            time such as "5ms", or a number of seconds). Default: 500ms.
        tcr: Out-of-rate RM cells per second while the cell rate is below this (a whole number from 1 to
            1000000). Default: 10.
        headroom: Rate above its actual rate that a source may keep, down to `icr`: it loses the rest at its
            next RM cell (use it or lose it, rule 13); without it, it keeps all (a rate such as "400kbit", or
            a number of bit/s).

    Source: ATM TM 4.0, sections 5.10.2 to 5.10.5.
    """

    _quantities: ClassVar = {
        "pcr": quantities.Rate,
        "mcr": quantities.Rate,
        "icr": quantities.Rate,
        "adtf": quantities.Time,
        "headroom": quantities.Rate,
    }

    pcr: str | float | None = None
    mcr: str | float | None = None
    icr: str | float | None = None
    rif: float | None = None
    rdf: float | None = None
    cdf: float | None = None
    nrm: int | None = None
    crm: int | None = None
    adtf: str | float | None = None
    tcr: int | None = None
    headroom: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Answers(Record):
    """Answers.

    Declaration of the flow of a connection's acknowledgements to the ports on its route, as for a flow.

    Attributes:
        reserve: Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow
            (a rate such as "400kbit", or a number of bit/s).
        interval: Average interval (AI), over which the flow sends what it reserved; without it the flow is
            not monitored (a time such as "5ms", or a number of seconds).
        head_start: Head start (P) over flows without one: its packets are stamped as if they had arrived
            earlier by this time (a time such as "5ms", or a number of seconds). Default: 0s.
        priority: Priority level, 0 the most urgent (a whole number from 0 to 7). Default: 0.
        workahead: Maximum workahead (W), at least a packet: the longest backlog that the flow causes at a
            server of rate `reserve` alone; without it, `reserve` times `interval` (a size such as "250B", or
            a number of bytes).
        peak: Peak rate (r̂), at least `reserve`, by the shortest gaps between packets; without it, or once
            `reserve` is raised above it, the reserved rate (a rate such as "400kbit", or a number of bit/s).
        deadline: Local delay bound (d): the time after a packet's arrival at a port by which it should be
            sent (a time such as "5ms", or a number of seconds).
        excess_burst: Excess burst size (EBS) beyond `workahead`, the committed burst size (CBS); without it,
            none (a size such as "250B", or a number of bytes).
        peak_burst: Peak burst size (PBS): the most that may arrive at once without exceeding `peak`; without
            it, `workahead` (a size such as "250B", or a number of bytes).
        host: Number of its host, for schedulers that are fair among hosts; flows without it are one host's (a
            whole number from 0 to 4294967295).
        peer: Number of the host at its other end, for schedulers that are fair among the hosts of both ends;
            flows without it are one host's (a whole number from 0 to 4294967295).
        profile: Profile against which its packets are metered, together with those of other flows; without
            it, the flow's own contract.
        weight: Weight of each of these flows among all that name the `profile`, which must then all have one:
            each flow has its own share of the profile's rates and bursts, and an unused share goes to no
            other; without it, they use the profile together (a whole number from 1 to 1000000).
        colour: Colour that the source itself gives its packets, in profile or out; only colour-aware meters
            use it (green or yellow or red). Default: green.
        class_: Class that it belongs to; without it, the flow is directly under the port's scheduler.
        ceiling: Rate that the flow never exceeds at a switch port; without it, no ceiling (a rate such as
            "400kbit", or a number of bit/s).
    """

    _quantities: ClassVar = {
        "reserve": quantities.Rate,
        "interval": quantities.Time,
        "head_start": quantities.Time,
        "workahead": quantities.Size,
        "peak": quantities.Rate,
        "deadline": quantities.Time,
        "excess_burst": quantities.Size,
        "peak_burst": quantities.Size,
        "ceiling": quantities.Rate,
    }

    reserve: str | float | None = None
    interval: str | float | None = None
    head_start: str | float | None = None
    priority: int | None = None
    workahead: str | int | None = None
    peak: str | float | None = None
    deadline: str | float | None = None
    excess_burst: str | int | None = None
    peak_burst: str | int | None = None
    host: int | None = None
    peer: int | None = None
    profile: str | None = None
    weight: int | None = None
    colour: Literal["green", "yellow", "red"] | None = None
    class_: str | None = None
    ceiling: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Among(Record):
    """Among.

    Hosts that the connections of a group join. Pairs are drawn from the scenario's `seed`: all replications
    have the same.

    Attributes:
        pairs: Pairs of hosts: any two for each connection (all-to-all); each host with one other to which it
            sends and one from which it receives, in turn (permutation); all others with one that receives, in
            turn (incast); or two for each connection by the demands of a `matrix`, in proportion (matrix)
            (all-to-all or permutation or incast or matrix).
        hosts: The hosts, at least two; without it, all hosts of the network.
        to: Node that receives with `pairs = "incast"`; without it, the first of the hosts.
        matrix: Traffic matrix of `pairs = "matrix"`, which names its nodes itself.
    """

    pairs: Literal["all-to-all", "permutation", "incast", "matrix"]
    hosts: str | list[str] | tuple[str, ...] | None = None
    to: str | None = None
    matrix: Matrix | None = None


@dataclass(frozen=True, kw_only=True)
class Connection(Record):
    """Connection.

    A connection, or `count` equal connections: two flows, NAME for the data and NAME/ack for the
    acknowledgements, which go in the other direction, queue there and may be lost. Each is its own group in
    tables and plots, so the delays of acknowledgements do not mix with those of data; connections that state
    the same `group` share both.

    Attributes:
        name: Name, unique among flows and connections.
        count: Number of connections like this one; above 1, their flows are called NAME/1 and NAME/ack/1,
            NAME/2 and NAME/ack/2, and so on (a whole number from 1 to 2000000). Default: 1.
        group: Group that counts the flows of several connections together in tables and plots, as GROUP and
            GROUP/ack; a name that no flow or connection has. Without it, the connection is a group of its
            own, NAME.
        from_: Node that sends data; required without `among`.
        to: Node that receives data and sends acknowledgements; required without `among`.
        among: Hosts that the `count` connections join, in place of `from` and `to`.
        route: Nodes of the data's route, from `from` to `to`; without it, the shortest path by hops.
            Acknowledgements take the reverse route, or the shortest one where a link has no reverse
            direction.
        transport: Protocol of the sender and the receiver.
        size: Size of a packet of data, at most 1 MiB (a size such as "250B", or a number of bytes).
        data: Application that writes the data. Default: bulk.
        reserve: Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow
            (a rate such as "400kbit", or a number of bit/s).
        interval: Average interval (AI), over which the flow sends what it reserved; without it the flow is
            not monitored (a time such as "5ms", or a number of seconds).
        head_start: Head start (P) over flows without one: its packets are stamped as if they had arrived
            earlier by this time (a time such as "5ms", or a number of seconds). Default: 0s.
        priority: Priority level, 0 the most urgent (a whole number from 0 to 7). Default: 0.
        workahead: Maximum workahead (W), at least a packet: the longest backlog that the flow causes at a
            server of rate `reserve` alone; without it, `reserve` times `interval` (a size such as "250B", or
            a number of bytes).
        peak: Peak rate (r̂), at least `reserve`, by the shortest gaps between packets; without it, or once
            `reserve` is raised above it, the reserved rate (a rate such as "400kbit", or a number of bit/s).
        deadline: Local delay bound (d): the time after a packet's arrival at a port by which it should be
            sent (a time such as "5ms", or a number of seconds).
        excess_burst: Excess burst size (EBS) beyond `workahead`, the committed burst size (CBS); without it,
            none (a size such as "250B", or a number of bytes).
        peak_burst: Peak burst size (PBS): the most that may arrive at once without exceeding `peak`; without
            it, `workahead` (a size such as "250B", or a number of bytes).
        host: Number of its host, for schedulers that are fair among hosts; flows without it are one host's (a
            whole number from 0 to 4294967295).
        peer: Number of the host at its other end, for schedulers that are fair among the hosts of both ends;
            flows without it are one host's (a whole number from 0 to 4294967295).
        profile: Profile against which its packets are metered, together with those of other flows; without
            it, the flow's own contract.
        weight: Weight of each of these flows among all that name the `profile`, which must then all have one:
            each flow has its own share of the profile's rates and bursts, and an unused share goes to no
            other; without it, they use the profile together (a whole number from 1 to 1000000).
        colour: Colour that the source itself gives its packets, in profile or out; only colour-aware meters
            use it (green or yellow or red). Default: green.
        class_: Class that it belongs to; without it, the flow is directly under the port's scheduler.
        ceiling: Rate that the flow never exceeds at a switch port; without it, no ceiling (a rate such as
            "400kbit", or a number of bit/s).
        answers: Declaration of the acknowledgements' flow to the ports on its route, as the keys beside it
            are that of the data's flow. Default: Answers().
        headers: Headers of the data for a gate on its route; acknowledgements have the same with both ends
            exchanged.
        adaptation: ATM adaptation layer of both ends: with `aal5` (ITU-T I.363.5) a packet of n bytes goes as
            ⌈(n + 8) / 48⌉ cells of 53 bytes, which are packets to all links and tables, and is put together
            at its destination; a cell that is lost or dropped loses its packet. `size` and rates are those of
            the packets before (none or aal5). Default: none.
        preparation: Time that the sending host takes for each packet before it hands the cells to its first
            port, once the last cell of the packet before has left there; above zero it needs `adaptation` (a
            time such as "5ms", or a number of seconds). Default: 0s.
        vc: ABR VC that carries the cells of the data, `{}` with all defaults; needs `adaptation`. Without it,
            the cells of a packet reach the first port together.
        backward: Connection in the other direction whose VC is one with this one's: each direction's RM cells
            are turned round into the other's order of cells, at its ACR. Both need `vc`, and one of them
            names the other; without it, RM cells go back at once.
        start: When it starts to send, or to be set up (a time such as "5ms", or a number of seconds).
            Default: 0s.
        stop: When it stops sending, later than `start`; without it, at the end (a time such as "5ms", or a
            number of seconds).
        every: Mean time between the starts of the `count` members, exponential; without it, all start at
            `start` (a time such as "5ms", or a number of seconds).
        lasts: Mean time from its start to its stop, exponential, instead of `stop` (a time such as "5ms", or
            a number of seconds).
    """

    _quantities: ClassVar = {
        "size": quantities.Size,
        "reserve": quantities.Rate,
        "interval": quantities.Time,
        "head_start": quantities.Time,
        "workahead": quantities.Size,
        "peak": quantities.Rate,
        "deadline": quantities.Time,
        "excess_burst": quantities.Size,
        "peak_burst": quantities.Size,
        "ceiling": quantities.Rate,
        "preparation": quantities.Time,
        "start": quantities.Time,
        "stop": quantities.Time,
        "every": quantities.Time,
        "lasts": quantities.Time,
    }

    name: str
    count: int | None = None
    group: str | None = None
    from_: str | None = None
    to: str | None = None
    among: Among | None = None
    route: list[str] | tuple[str, ...] | None = None
    transport: TransportName | TransportKind
    size: str | int
    data: ApplicationName | ApplicationKind | None = None
    reserve: str | float | None = None
    interval: str | float | None = None
    head_start: str | float | None = None
    priority: int | None = None
    workahead: str | int | None = None
    peak: str | float | None = None
    deadline: str | float | None = None
    excess_burst: str | int | None = None
    peak_burst: str | int | None = None
    host: int | None = None
    peer: int | None = None
    profile: str | None = None
    weight: int | None = None
    colour: Literal["green", "yellow", "red"] | None = None
    class_: str | None = None
    ceiling: str | float | None = None
    answers: Answers | None = None
    headers: Headers | None = None
    adaptation: Literal["none", "aal5"] | None = None
    preparation: str | float | None = None
    vc: Vc | None = None
    backward: str | None = None
    start: str | float | None = None
    stop: str | float | None = None
    every: str | float | None = None
    lasts: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Headers(Record):
    """Headers.

    Headers that a gate reads from the flow's packets. Their `size` is then that of the Ethernet frame, with
    its header and without its frame check sequence.

    Attributes:
        flow: The first one's addresses, ports and protocol, from the sender to the receiver, as
            `10.0.0.1:5004>192.0.2.1:5060/udp`, `10.0.0.1>192.0.2.1/icmp`, or `other` for packets other than
            IP (text).
        dscp: Differentiated services code point (a name such as "ef" or "af41", or a whole number from 0 to
            63). Default: 0.
        vlan: Identifier of a VLAN tag; without it, no tag (a whole number from 0 to 4095).
        each: Field in which the `count` flows differ, counted up from the first: the inside address, the
            inside IPv4 address or IPv6 /64, or only the inside port (host or subscriber or 5-tuple). Default:
            host.
    """

    flow: str
    dscp: int | str | None = None
    vlan: int | None = None
    each: Literal["host", "subscriber", "5-tuple"] | None = None


@dataclass(frozen=True, kw_only=True)
class Change(Record):
    """Change.

    A change of (AR, AI) while the flow runs, granted by every link of its route, or refused. An envelope
    follows: its rate becomes AR and its burst AR * AI. Queued packets keep their places.

    Attributes:
        at: When the source requests it, later than the flow's `start` and the previous change (a time such as
            "5ms", or a number of seconds).
        reserve: Average rate (AR) that it requests (a rate such as "400kbit", or a number of bit/s).
        interval: Average interval (AI) that it requests; without it, the current one (a time such as "5ms",
            or a number of seconds).
        rate: Mean rate of the source once the change is granted; without it, unchanged (a rate such as
            "400kbit", or a number of bit/s).

    Source: Zhang 1991, sections 2.1 and 2.2.
    """

    _quantities: ClassVar = {
        "at": quantities.Time,
        "reserve": quantities.Rate,
        "interval": quantities.Time,
        "rate": quantities.Rate,
    }

    at: str | float
    reserve: str | float
    interval: str | float | None = None
    rate: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Matrix(Record):
    """Traffic matrix.

    Demands between pairs of nodes, in a text file, plain or gzip. Either each line of a CSV file is one of
    them, with the header `from,to,demand`; or the file has whole matrices, a row of which has the demands of
    the node that sends, with as many numbers as nodes on each line or with a whole matrix on each. Numbers
    are apart by blanks or commas. Demands of a node to itself do not count.

    Attributes:
        file: The file.
        nodes: Nodes of the rows, and of the columns, in order; required unless the file names them.
        line: Number of the matrix, from 1, in a file with one on each line (a whole number from 1 to
            1000000000). Default: 1.
    """

    file: str
    nodes: list[str] | tuple[str, ...] | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Flow(Record):
    """Flow.

    A flow, or `count` equal flows. The keys of a contract are the flow's declaration to the ports on its
    route; each policy reads the keys that it lists and ignores the others.

    Attributes:
        name: Name, unique among flows and connections.
        count: Number of flows like this one; above 1, they are called NAME/1, NAME/2 and so on (a whole
            number from 1 to 4000000). Default: 1.
        from_: Node that sends; required without `matrix`.
        to: Node that receives, or a list of nodes (multicast); required without `matrix`. The shortest routes
            to several then form a tree: a packet and a reservation count once on each of its links; received,
            dropped and lost packets count every copy.
        matrix: Traffic matrix, in place of `from`, `to` and `count`: a flow for each demand, which has its
            share of the rate of the `source`.
        route: Nodes of the route, from `from` to `to`; without it, the shortest path by hops.
        reserve: Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow
            (a rate such as "400kbit", or a number of bit/s).
        interval: Average interval (AI), over which the flow sends what it reserved; without it the flow is
            not monitored (a time such as "5ms", or a number of seconds).
        head_start: Head start (P) over flows without one: its packets are stamped as if they had arrived
            earlier by this time (a time such as "5ms", or a number of seconds). Default: 0s.
        priority: Priority level, 0 the most urgent (a whole number from 0 to 7). Default: 0.
        workahead: Maximum workahead (W), at least a packet: the longest backlog that the flow causes at a
            server of rate `reserve` alone; without it, `reserve` times `interval` (a size such as "250B", or
            a number of bytes).
        peak: Peak rate (r̂), at least `reserve`, by the shortest gaps between packets; without it, or once
            `reserve` is raised above it, the reserved rate (a rate such as "400kbit", or a number of bit/s).
        deadline: Local delay bound (d): the time after a packet's arrival at a port by which it should be
            sent (a time such as "5ms", or a number of seconds).
        excess_burst: Excess burst size (EBS) beyond `workahead`, the committed burst size (CBS); without it,
            none (a size such as "250B", or a number of bytes).
        peak_burst: Peak burst size (PBS): the most that may arrive at once without exceeding `peak`; without
            it, `workahead` (a size such as "250B", or a number of bytes).
        host: Number of its host, for schedulers that are fair among hosts; flows without it are one host's (a
            whole number from 0 to 4294967295).
        peer: Number of the host at its other end, for schedulers that are fair among the hosts of both ends;
            flows without it are one host's (a whole number from 0 to 4294967295).
        profile: Profile against which its packets are metered, together with those of other flows; without
            it, the flow's own contract.
        weight: Weight of each of these flows among all that name the `profile`, which must then all have one:
            each flow has its own share of the profile's rates and bursts, and an unused share goes to no
            other; without it, they use the profile together (a whole number from 1 to 1000000).
        colour: Colour that the source itself gives its packets, in profile or out; only colour-aware meters
            use it (green or yellow or red). Default: green.
        class_: Class that it belongs to; without it, the flow is directly under the port's scheduler.
        ceiling: Rate that the flow never exceeds at a switch port; without it, no ceiling (a rate such as
            "400kbit", or a number of bit/s).
        size: Packet size of at most 1 MiB, or a list of sizes with equal probability; required unless the
            source has sizes (a size such as "250B", or a number of bytes).
        adaptation: ATM adaptation layer of both ends: with `aal5` (ITU-T I.363.5) a packet of n bytes goes as
            ⌈(n + 8) / 48⌉ cells of 53 bytes, which are packets to all links and tables, and is put together
            at its destination; a cell that is lost or dropped loses its packet. `size` and rates are those of
            the packets before (none or aal5). Default: none.
        start: When it starts to send, or to be set up (a time such as "5ms", or a number of seconds).
            Default: 0s.
        stop: When it stops sending, later than `start`; without it, at the end (a time such as "5ms", or a
            number of seconds).
        every: Mean time between the starts of the `count` members, exponential; without it, all start at
            `start` (a time such as "5ms", or a number of seconds).
        lasts: Mean time from its start to its stop, exponential, instead of `stop` (a time such as "5ms", or
            a number of seconds).
        hangup: When the destination tears the flow down, later than `start`; needs `admission` (a time such
            as "5ms", or a number of seconds).
        warned: Response of the source to a warning: none; silence for as long as it is ahead, then its
            reserved rate; or smaller packets until it is no longer ahead, then packets as large as its
            reservation allows (ignore or slow or shrink). Default: ignore.
        ecn: Whether its packets claim that their sender responds to congestion marks (ECT(0), RFC 3168):
            droppers then mark them where they would drop others. The source itself ignores marks (on or off).
            Default: off.
        change: Changes of its reservation while it runs; needs `admission`.
        headers: Headers of its packets for a gate on its route; a `capture` has its own.
        source: What is sent when.
        envelope: Shaper between the source and the network; without it, packets are sent as they are
            generated. Packets that wait in it do not count as sent; in a switch they use its `buffer`, in a
            host none.
    """

    _quantities: ClassVar = {
        "reserve": quantities.Rate,
        "interval": quantities.Time,
        "head_start": quantities.Time,
        "workahead": quantities.Size,
        "peak": quantities.Rate,
        "deadline": quantities.Time,
        "excess_burst": quantities.Size,
        "peak_burst": quantities.Size,
        "ceiling": quantities.Rate,
        "size": quantities.Size,
        "start": quantities.Time,
        "stop": quantities.Time,
        "every": quantities.Time,
        "lasts": quantities.Time,
        "hangup": quantities.Time,
    }

    name: str
    count: int | None = None
    from_: str | None = None
    to: str | list[str] | tuple[str, ...] | None = None
    matrix: Matrix | None = None
    route: list[str] | tuple[str, ...] | None = None
    reserve: str | float | None = None
    interval: str | float | None = None
    head_start: str | float | None = None
    priority: int | None = None
    workahead: str | int | None = None
    peak: str | float | None = None
    deadline: str | float | None = None
    excess_burst: str | int | None = None
    peak_burst: str | int | None = None
    host: int | None = None
    peer: int | None = None
    profile: str | None = None
    weight: int | None = None
    colour: Literal["green", "yellow", "red"] | None = None
    class_: str | None = None
    ceiling: str | float | None = None
    size: str | int | list[str | int] | tuple[str | int, ...] | None = None
    adaptation: Literal["none", "aal5"] | None = None
    start: str | float | None = None
    stop: str | float | None = None
    every: str | float | None = None
    lasts: str | float | None = None
    hangup: str | float | None = None
    warned: Literal["ignore", "slow", "shrink"] | None = None
    ecn: Literal["on", "off"] | None = None
    change: list[Change] | tuple[Change, ...] | None = None
    headers: Headers | None = None
    source: SourceName | SourceKind
    envelope: EnvelopeName | EnvelopeKind | None = None


@dataclass(frozen=True, kw_only=True)
class Profile(Record):
    """Profile.

    A contract that several flows share: at meters, the packets of all flows that name the profile count
    against it together. Each flow's declaration to schedulers stays its own.

    Attributes:
        name: Unique name of the profile.
        reserve: Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow
            (a rate such as "400kbit", or a number of bit/s).
        interval: Average interval (AI), over which the flow sends what it reserved; without it the flow is
            not monitored (a time such as "5ms", or a number of seconds).
        workahead: Maximum workahead (W), at least a packet: the longest backlog that the flow causes at a
            server of rate `reserve` alone; without it, `reserve` times `interval` (a size such as "250B", or
            a number of bytes).
        peak: Peak rate (r̂), at least `reserve`, by the shortest gaps between packets; without it, or once
            `reserve` is raised above it, the reserved rate (a rate such as "400kbit", or a number of bit/s).
        excess_burst: Excess burst size (EBS) beyond `workahead`, the committed burst size (CBS); without it,
            none (a size such as "250B", or a number of bytes).
        peak_burst: Peak burst size (PBS): the most that may arrive at once without exceeding `peak`; without
            it, `workahead` (a size such as "250B", or a number of bytes).

    Source: RFC 2475, section 2.3.3.1 (traffic profiles of aggregates).
    """

    _quantities: ClassVar = {
        "reserve": quantities.Rate,
        "interval": quantities.Time,
        "workahead": quantities.Size,
        "peak": quantities.Rate,
        "excess_burst": quantities.Size,
        "peak_burst": quantities.Size,
    }

    name: str
    reserve: str | float | None = None
    interval: str | float | None = None
    workahead: str | int | None = None
    peak: str | float | None = None
    excess_burst: str | int | None = None
    peak_burst: str | int | None = None


@dataclass(frozen=True, kw_only=True)
class Class(Record):
    """Class.

    A class of flows. Classes form a tree of schedulers on every switch port, at most nine in each other under
    the port's own scheduler. The keys of a contract are the class's declaration to the scheduler above it.

    Attributes:
        name: Unique name of the class.
        parent: Class that contains it; without it, the class is directly under the port's scheduler.
        policy: Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`;
            without it, `scheduler` is required.
        scheduler: Scheduler of its flows, or of the classes in it; without it, that of `policy`.
        reserve: Reserved average rate (AR), counted in whole packets; without it the flow is a datagram flow
            (a rate such as "400kbit", or a number of bit/s).
        interval: Average interval (AI), over which the flow sends what it reserved; without it the flow is
            not monitored (a time such as "5ms", or a number of seconds).
        head_start: Head start (P) over flows without one: its packets are stamped as if they had arrived
            earlier by this time (a time such as "5ms", or a number of seconds). Default: 0s.
        priority: Priority level, 0 the most urgent (a whole number from 0 to 7). Default: 0.
        workahead: Maximum workahead (W), at least a packet: the longest backlog that the flow causes at a
            server of rate `reserve` alone; without it, `reserve` times `interval` (a size such as "250B", or
            a number of bytes).
        peak: Peak rate (r̂), at least `reserve`, by the shortest gaps between packets; without it, or once
            `reserve` is raised above it, the reserved rate (a rate such as "400kbit", or a number of bit/s).
        deadline: Local delay bound (d): the time after a packet's arrival at a port by which it should be
            sent (a time such as "5ms", or a number of seconds).
        host: Number of its host, for schedulers that are fair among hosts; flows without it are one host's (a
            whole number from 0 to 4294967295).
        peer: Number of the host at its other end, for schedulers that are fair among the hosts of both ends;
            flows without it are one host's (a whole number from 0 to 4294967295).
        ceiling: Rate that the class never exceeds at a port; without it, no ceiling (a rate such as
            "400kbit", or a number of bit/s).
        ceiling_burst: Depth of a token bucket for the ceiling, as HTB's `cburst`: a packet may start while
            the bucket is not overdrawn; without it, a packet that found the link busy gives the next one its
            delay, up to one packet's time (a size such as "250B", or a number of bytes).
        meter: Meter: whether its flows conform to their contracts; without it, that of the port.
        dropper: Dropper: which of its packets are dropped or marked; without it, that of the port.
        detector: Detector of flows that do not respond to the drops of `dropper`; without it, none.
    """

    _quantities: ClassVar = {
        "reserve": quantities.Rate,
        "interval": quantities.Time,
        "head_start": quantities.Time,
        "workahead": quantities.Size,
        "peak": quantities.Rate,
        "deadline": quantities.Time,
        "ceiling": quantities.Rate,
        "ceiling_burst": quantities.Size,
    }

    name: str
    parent: str | None = None
    policy: str | SchedulerKind | DropperKind | None = None
    scheduler: SchedulerName | SchedulerKind | None = None
    reserve: str | float | None = None
    interval: str | float | None = None
    head_start: str | float | None = None
    priority: int | None = None
    workahead: str | int | None = None
    peak: str | float | None = None
    deadline: str | float | None = None
    host: int | None = None
    peer: int | None = None
    ceiling: str | float | None = None
    ceiling_burst: str | int | None = None
    meter: MeterName | MeterKind | None = None
    dropper: DropperName | DropperKind | None = None
    detector: DetectorName | DetectorKind | None = None


@dataclass(frozen=True, kw_only=True)
class LinkChange(Record):
    """Link change.

    A change of a link while packets are sent. What it does not state stays as it is.

    Attributes:
        at: When it comes, from the start of the run, of a gate or of a period; later than the change before
            it (a time such as "5ms", or a number of seconds).
        rate: Rate from then on, also for the rest of a packet that is being sent (a rate such as "400kbit",
            or a number of bit/s).
        delay: Propagation delay from then on, of packets whose last bit is sent (a time such as "5ms", or a
            number of seconds).
        state: State of the link from then on: up or down. While it is down, nothing is sent: packets wait,
            and the rest of the one that is being sent follows when it is up again (up or down).
    """

    _quantities: ClassVar = {"at": quantities.Time, "rate": quantities.Rate, "delay": quantities.Time}

    at: str | float
    rate: str | float | None = None
    delay: str | float | None = None
    state: Literal["up", "down"] | None = None


@dataclass(frozen=True, kw_only=True)
class Link(Record):
    """Link.

    One link added to the topology.

    Attributes:
        from_: Node at which it starts.
        to: Node at which it ends.
        rate: Rate of each direction; a link has this or a `trace` (a rate such as "400kbit", or a number of
            bit/s).
        trace: File of delivery opportunities in place of a rate: one line with the millisecond of each, plain
            or gzip, in the format of mahimahi. Each delivers up to 1500 bytes; after the last one the file
            starts again.
        delay: Propagation delay of each direction (a time such as "5ms", or a number of seconds). Default:
            0s.
        jitter: Delay of each packet about `delay`, independently of others; without it, all take the same.
        loss: Probability that a packet is lost after it was sent, independently of others; or a model of loss
            in bursts (a number from 0 to 1). Default: 0.
        reorder: Probability that a packet takes `reorder_delay` longer, so that packets behind it overtake it
            (a number from 0 to 1). Default: 0.
        reorder_delay: Extra delay of a packet that is overtaken; required with `reorder` (a time such as
            "5ms", or a number of seconds).
        change: Changes of its rate and delay, and outages, in order of time.
        repeat: Period of the changes: at the end of each, the link is as at the start, and the changes come
            again. Without it, they come once (a time such as "5ms", or a number of seconds).
        overhead: Bytes that the link adds to each packet, or a gate's line to each Ethernet frame; below zero
            for a link that carries less of it (a whole number from -1024 to 1024). Default: 0.
        mpu: Bytes that a packet or frame takes at least, its overhead included (a whole number from 0 to
            1024). Default: 0.
        atm: Whether the link carries ATM cells: 53 bytes for every 48, after the overhead. Default: false.
        duplex: Whether there is an equal link in the other direction. Default: true.
        replace: Whether it takes the place of the topology's link between these nodes, and of the one in the
            other direction with `duplex`; otherwise it is added. Default: false.
        policy: Policy of its ports, in place of `scheduler` and `dropper`: a scheduler, a dropper (FIFO with
            it) or both; without it, as these say.
        scheduler: Scheduler of its ports; without it, that of `port`.
        meter: Meter of its ports; without it, that of `port`.
        profile: Profile of every packet that is metered at its ports, whatever the profile of its flow: the
            aggregate profile of a boundary; without it, each flow's.
        dropper: Dropper of its ports; without it, that of `port`.
        detector: Detector of its ports; without it, that of `port`.
        rate_control: Switch algorithm of its ports; without it, that of `port`.
        vsvd: Coupling of control loops at its ports; without it, that of `port`.
        ceiling: Rate that its ports never exceed; without it, the link's rate (a rate such as "400kbit", or a
            number of bit/s).
        credit: Credit-based flow control from the port to the node at the link's end, `{}` with all defaults;
            without it, none.
    """

    _quantities: ClassVar = {
        "rate": quantities.Rate,
        "delay": quantities.Time,
        "reorder_delay": quantities.Time,
        "repeat": quantities.Time,
        "ceiling": quantities.Rate,
    }

    from_: str
    to: str
    rate: str | float | None = None
    trace: str | None = None
    delay: str | float | None = None
    jitter: JitterKind | None = None
    loss: float | LossKind | None = None
    reorder: float | None = None
    reorder_delay: str | float | None = None
    change: list[LinkChange] | tuple[LinkChange, ...] | None = None
    repeat: str | float | None = None
    overhead: int | None = None
    mpu: int | None = None
    atm: bool | None = None
    duplex: bool | None = None
    replace: bool | None = None
    policy: str | SchedulerKind | DropperKind | None = None
    scheduler: SchedulerName | SchedulerKind | None = None
    meter: MeterName | MeterKind | None = None
    profile: str | None = None
    dropper: DropperName | DropperKind | None = None
    detector: DetectorName | DetectorKind | None = None
    rate_control: RateControlName | RateControlKind | None = None
    vsvd: VsvdName | VsvdKind | None = None
    ceiling: str | float | None = None
    credit: Credit | None = None


@dataclass(frozen=True, kw_only=True)
class Node(Record):
    """Node.

    One node added to the topology.

    Attributes:
        name: Unique name of the node.
        kind: Whether it forwards (switch) or only sends and receives (host) (switch or host). Default:
            switch.
        buffer: Shared pool of this switch; without it, that of `switch` (a limit such as "100p" or "64kB").
    """

    name: str
    kind: Literal["switch", "host"] | None = None
    buffer: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scope(Record):
    """Scope.

    A geographic scope of profiles: a set of destinations.

    Attributes:
        name: Unique name of the set.
        to: Nodes that receive, at least one.
    """

    name: str
    to: str | list[str] | tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Assurance(Record):
    """Assurance.

    Probability of assurance: the measured time is divided into windows, and a window counts when the
    destinations received at least the reserved rate in it. The target of a profile is its `reserve`, that of
    a flow without a profile is the flow's own.

    Attributes:
        window: Averaging window, above zero (a time such as "5ms", or a number of seconds).
        scope: Sets of destinations to measure; each destination alone, and all together, are always measured.

    Source: Clark and Fang 1998, section II.C.
    """

    _quantities: ClassVar = {"window": quantities.Time}

    window: str | float
    scope: list[Scope] | tuple[Scope, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Admission(Record):
    """Admission.

    The Flow Network: at its `start` a flow with a reservation sends a request along its route. Every link
    checks and books it, the confirmation returns on the same route, and only then does the source send. A
    refusal names the link that lacks capacity. Requests, answers and warnings take the links' propagation
    delays and no capacity.

    Attributes:
        datagrams: Share of every link that is kept for datagrams and cannot be reserved (a number from 0 to
            1). Default: 0.
        datagram_window: Length of the windows over which every link measures its datagrams: as much as they
            brought in the latest one cannot be reserved, if that is more than `datagrams` keeps; without it,
            that share alone (a time such as "5ms", or a number of seconds).
        interval: Longest average interval (AI) that a flow may request; without it, any (a time such as
            "5ms", or a number of seconds).

    Source: Zhang 1991, section 2.2.
    """

    _quantities: ClassVar = {"datagram_window": quantities.Time, "interval": quantities.Time}

    datagrams: float | None = None
    datagram_window: str | float | None = None
    interval: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Switch(Record):
    """Switch.

    Every switch; a node may override it.

    Attributes:
        buffer: Pool of each switch, shared by its ports with push-out; without it, unlimited (a limit such as
            "100p" or "64kB").
        push_out: Packet that is dropped when the pool is exhausted: of the port that exceeds its share by
            most, and there first of packets that wait for a shaper, a ceiling or credit when they are more
            than a third of the others; or of the longest queue by packets, whether they may be sent or not
            (Zhang 1991, section 3.1) (shares or longest-queue). Default: shares.
    """

    buffer: str | None = None
    push_out: Literal["shares", "longest-queue"] | None = None


@dataclass(frozen=True, kw_only=True)
class Host(Record):
    """Host.

    Every output port of a host; a link may override it.

    Attributes:
        policy: Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`;
            without it, as these say.
        scheduler: Scheduler: which flow is served next. Default: fifo.
        meter: Meter: whether flows conform to their contracts; without it, none.
        dropper: Dropper: which packets are dropped or marked; without it, none.
        detector: Detector of flows that do not respond to the drops of `dropper`; without it, none.
        credit: Credit-based flow control from the port to the node at the link's end, `{}` with all defaults;
            without it, none.
    """

    policy: str | SchedulerKind | DropperKind | None = None
    scheduler: SchedulerName | SchedulerKind | None = None
    meter: MeterName | MeterKind | None = None
    dropper: DropperName | DropperKind | None = None
    detector: DetectorName | DetectorKind | None = None
    credit: Credit | None = None


@dataclass(frozen=True, kw_only=True)
class Credit(Record):
    """Credit.

    Credit-based flow control of a link: a packet is sent only when the node at the link's end has a place for
    it. Packets without credit wait, hop by hop back to the hosts. Every packet takes one place. The reverse
    link carries the credit cells, ahead of its queue.

    Attributes:
        to: Node with the receiver's memory, further along the route of every flow on the link: a virtual link
            over switches without credit; without it, the node at the link's end.
        per: Unit that has its own credit: each `flow` is a VC, or all flows of the `link` are one VC, where a
            blocked flow blocks the others (flow or link). Default: flow.
        allocation: Allocation of the receiver's memory: `static`, or adaptive by the `sender` or the
            `receiver` (static or sender or receiver). Default: static.
        protocol: Content of credit records: the running count of the Credit Update Protocol (`cup`), or the
            cells since the previous record (`incremental`) (cup or incremental). Default: cup.
        cell: Packet size in which buffers are counted; without it, the smallest on the link. Any packet takes
            one place (a size such as "250B", or a number of bytes).
        credit_cell: Size of credit cells and of credit_check cells; without it, `cell` (a size such as
            "250B", or a number of bytes).
        buffer: Buf_Alloc of each VC in packets, with static allocation; without it, RTT + N2 (a whole number
            from 1 to 2147483647).
        n2: Packets of a VC that are forwarded for each credit record (N2); without it: with static allocation
            the smallest value that keeps credit cells to 1 % of the data, at most a quarter of a given
            `buffer`; 1 with allocation by the sender; Buf_Alloc/4 with allocation by the receiver (a whole
            number from 1 to 2147483647).
        pool: Memory at the receiver in packets (M), which adaptive allocation divides; without it, 4 RTT and
            2 for each VC, and 6 RTT where VCs of several links share it (a whole number from 1 to
            2147483647).
        pool_per: Unit that has a pool of its own, with allocation by the receiver: each incoming `link`, or
            each `output` port of the receiving node, for the VCs that leave by it, over whichever links they
            come; RTT is then the largest of these links (link or output). Default: link.
        divided: Share of the pool that the receiver divides at an allocation; without it, 0.5, which loses no
            packet (a number from 0 to 1).
        interval: Time from one allocation to the next; without it, the longest time that a credit record
            takes to have an effect (a time such as "5ms", or a number of seconds).
        repeats: Number of times that a credit record is repeated, with the count of that moment: in unused
            places of credit cells, and in credit cells of their own while the reverse link has nothing else
            to send. For links that lose credit cells; it takes no capacity from the data (a whole number from
            0 to 16). Default: 0.
        check: Interval of a VC's credit_check cells, which recover lost data and credits, 0s for none;
            without it, 10 RTT on a link with `loss` and on a virtual link, and with allocation by the
            receiver on a link with a `trace` (a time such as "5ms", or a number of seconds).
        queueing: Longest time that packets and credit cells wait in the switches of a virtual link, there and
            back together: part of its RTT (a time such as "5ms", or a number of seconds). Default: 0s.
        duplicate: Probability that a credit cell arrives twice, the second time late: behind the next credit
            cell (a number from 0 to 1). Default: 0.
        sender: Conduct of the sender: one that `ignores` credit sends without it, as a faulty one does, and
            the receiver drops its packets that have no place (obeys or ignores). Default: obeys.

    Source: Kung 1997, section "Credit-based flow control".
    """

    _quantities: ClassVar = {
        "cell": quantities.Size,
        "credit_cell": quantities.Size,
        "interval": quantities.Time,
        "check": quantities.Time,
        "queueing": quantities.Time,
    }

    to: str | None = None
    per: Literal["flow", "link"] | None = None
    allocation: Literal["static", "sender", "receiver"] | None = None
    protocol: Literal["cup", "incremental"] | None = None
    cell: str | int | None = None
    credit_cell: str | int | None = None
    buffer: int | None = None
    n2: int | None = None
    pool: int | None = None
    pool_per: Literal["link", "output"] | None = None
    divided: float | None = None
    interval: str | float | None = None
    repeats: int | None = None
    check: str | float | None = None
    queueing: str | float | None = None
    duplicate: float | None = None
    sender: Literal["obeys", "ignores"] | None = None


@dataclass(frozen=True, kw_only=True)
class Port(Record):
    """Port.

    Every output port of a switch; a link may override it. `host` describes the ports of hosts.

    Attributes:
        policy: Policy: a scheduler, a dropper (FIFO with it) or both, in place of `scheduler` and `dropper`;
            without it, as these say.
        scheduler: Scheduler: which flow is served next. Default: fifo.
        meter: Meter: whether flows conform to their contracts; the default ignores flows without `interval`.
            Default: flow-monitor.
        dropper: Dropper: which packets are dropped or marked; without it, none.
        detector: Detector of flows that do not respond to the drops of `dropper`; without it, none.
        rate_control: Switch algorithm that assigns rates to ABR connections; without it, none.
        vsvd: Virtual source and destination: the port ends the control loops of ABR connections and starts
            new ones, which needs `rate_control`; without it, loops pass through.
        credit: Credit-based flow control from the port to the node at the link's end, `{}` with all defaults;
            without it, none.
    """

    policy: str | SchedulerKind | DropperKind | None = None
    scheduler: SchedulerName | SchedulerKind | None = None
    meter: MeterName | MeterKind | None = None
    dropper: DropperName | DropperKind | None = None
    detector: DetectorName | DetectorKind | None = None
    rate_control: RateControlName | RateControlKind | None = None
    vsvd: VsvdName | VsvdKind | None = None
    credit: Credit | None = None


@dataclass(frozen=True, kw_only=True)
class Access(Record):
    """Access.

    The duplex links between hosts and switches.

    Attributes:
        rate: Rate of each direction (a rate such as "400kbit", or a number of bit/s). Default: 1gbit.
        delay: Propagation delay of each direction (a time such as "5ms", or a number of seconds). Default:
            0s.
    """

    _quantities: ClassVar = {"rate": quantities.Rate, "delay": quantities.Time}

    rate: str | float | None = None
    delay: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class Scenario(Record):
    """Scenario.

    A network, the policies of its switches, and the flows that cross it.

    Attributes:
        version: Version of the scenario format (1). Default: 1.
        name: Name of the scenario; without it, the file's name without its ending (text).
        seed: Seed of every random stream; the same seed gives the same outcome (a whole number from 0 to
            9223372036854775807). Default: 1.
        duration: Simulated time, above zero (a time such as "5ms", or a number of seconds).
        warmup: Time before measuring starts, shorter than `duration`: packets sent before it are carried but
            not measured (a time such as "5ms", or a number of seconds). Default: 0s.
        sample: Spacing of the series of queues, utilisation and throughput, above zero; without it, a 600th
            of `duration` (a time such as "5ms", or a number of seconds).
        topology: Nodes and links to start from; `[[node]]` and `[[link]]` are added to them. Default: nodes.
        routing: Choice of a flow's path among the shortest by hops. Default: shortest-path.
        port: Output ports of switches; a link may override it. Default: Port().
        host: Output ports of hosts; a link may override it. Default: Host().
        switch: Switches; a node may override it. Default: Switch().
        admission: Set-up of flows with reservations, link by link, before they send; without it, all flows
            are set up from the start.
        assurance: Probability of assurance: the share of the time in which profiles get their target rates,
            as the table `assurance`; without it, not measured.
        node: Nodes added to the topology.
        link: Links added to the topology.
        class_: Classes of flows, on every switch port.
        profile: Contracts that several flows share.
        flow: Flows: traffic from one node to others.
        connection: Connections: traffic from one node to another, with acknowledgements.
    """

    _quantities: ClassVar = {
        "duration": quantities.Time,
        "warmup": quantities.Time,
        "sample": quantities.Time,
    }

    version: int = 1
    name: str | None = None
    seed: int | None = None
    duration: str | float
    warmup: str | float | None = None
    sample: str | float | None = None
    topology: TopologyName | TopologyKind | None = None
    routing: RoutingName | RoutingKind | None = None
    port: str | Port | None = None
    host: str | Host | None = None
    switch: Switch | None = None
    admission: Admission | None = None
    assurance: Assurance | None = None
    node: list[Node] | tuple[Node, ...] | None = None
    link: list[Link] | tuple[Link, ...] | None = None
    class_: list[Class] | tuple[Class, ...] | None = None
    profile: list[Profile] | tuple[Profile, ...] | None = None
    flow: list[Flow] | tuple[Flow, ...] | None = None
    connection: list[Connection] | tuple[Connection, ...] | None = None


DEFAULT_SCHEDULER = "fifo"
"""Scheduler of a port that names none."""

ANSWERS = "/ack"
"""What follows a connection's name in that of its answers' flow."""

ORDERED_STAMPS = (
    "fifo",
    "strict-priority",
    "virtual-clock",
    "peak-vc",
    "pulse",
    "deferred",
    "axel-unbounded",
    "axel",
    "axel-measured",
    "fifo-plus",
    "time-shifted-fifo",
    "edf",
)
"""Schedulers that serve packets in the order of their stamps, each a time or an order of arrival."""

RESPONSIVE = ("greedy", "abr", "tcp", "window")
"""Kinds of source and of transport that send more or less according to what the network does."""
