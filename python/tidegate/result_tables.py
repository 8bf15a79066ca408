"""The result tables and their columns, written from the records: do not edit."""

from __future__ import annotations

from typing import Any, Literal

from tidegate.tables import Table

__all__ = [
    "Aal5Column",
    "AssuranceColumn",
    "ClassesColumn",
    "CreditColumn",
    "CreditOutputsColumn",
    "CreditVcsColumn",
    "DropsColumn",
    "FlowsColumn",
    "GateColumn",
    "GroupsColumn",
    "HistogramColumn",
    "LinksColumn",
    "NonResponsiveColumn",
    "ResultTables",
    "SeriesColumn",
    "SignalsColumn",
    "StallsColumn",
    "TransfersColumn",
    "UsageColumn",
    "WorkaheadColumn",
]

FlowsColumn = Literal[
    "replication",
    "seed",
    "flow",
    "group",
    "from",
    "to",
    "hops",
    "start",
    "stop",
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "marked_packets",
    "dropped_packets",
    "lost_packets",
    "due_copies",
    "missed_copies",
    "absorbed_packets",
    "discarded_packets",
    "envelope_mean",
    "checks",
    "warnings",
    "refused",
    "retransmissions",
    "timeouts",
    "throughput",
    "goodput",
    "delay_mean",
    "delay_sd",
    "delay_max",
    "delay_p50",
    "delay_p99",
    "delay_p999",
    "jitter",
    "delay_variation_p99",
    "delay_variation_p999",
    "rtt_mean",
    "queueing_mean",
    "queueing_sd",
    "queueing_p99",
    "queueing_max",
]

GroupsColumn = Literal[
    "replication",
    "seed",
    "group",
    "flows",
    "jain",
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "marked_packets",
    "dropped_packets",
    "lost_packets",
    "due_copies",
    "missed_copies",
    "absorbed_packets",
    "discarded_packets",
    "checks",
    "warnings",
    "refused",
    "retransmissions",
    "timeouts",
    "throughput",
    "goodput",
    "delay_mean",
    "delay_max",
    "delay_p50",
    "delay_p99",
    "delay_p999",
    "queueing_mean",
    "queueing_p99",
    "transfers",
    "transfer_mean",
    "transfer_p95",
    "transfer_p99",
]

LinksColumn = Literal[
    "replication",
    "seed",
    "link",
    "from",
    "to",
    "rate",
    "packets",
    "bytes",
    "dropped_packets",
    "marked_packets",
    "lost_packets",
    "utilisation",
    "in_traffic",
    "in_traffic_max",
    "queue_mean",
    "queue_max",
    "queue_seen_mean",
    "queue_seen_sd",
    "queue_seen_p99",
    "wait_mean",
]

ClassesColumn = Literal[
    "replication",
    "seed",
    "link",
    "class",
    "packets",
    "bytes",
    "dropped_packets",
    "dropped_bytes",
    "marked_packets",
    "throughput",
    "utilisation",
    "borrowed",
]

DropsColumn = Literal["replication", "seed", "link", "reason", "dropped_packets", "marked_packets"]

TransfersColumn = Literal[
    "replication",
    "seed",
    "connection",
    "group",
    "number",
    "size",
    "start",
    "first_byte",
    "end",
    "completion",
    "slowdown",
    "sent_again",
]

UsageColumn = Literal[
    "replication",
    "seed",
    "link",
    "class",
    "nth",
    "profile",
    "flow",
    "inside_bytes",
    "yellow_bytes",
    "outside_bytes",
    "congested_inside_bytes",
    "congested_outside_bytes",
]

AssuranceColumn = Literal[
    "replication",
    "seed",
    "profile",
    "flow",
    "scope",
    "to",
    "target",
    "averaging_window",
    "windows",
    "attained",
    "probability",
]

NonResponsiveColumn = Literal["replication", "seed", "link", "flow", "group", "named", "released"]

Aal5Column = Literal[
    "replication",
    "seed",
    "flow",
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "discarded_cells",
    "throughput",
]

CreditColumn = Literal[
    "replication",
    "seed",
    "link",
    "vcs",
    "memory",
    "queue_max",
    "rtt",
    "credit_cells",
    "check_cells",
    "overhead",
    "lost_cells",
    "duplicated_cells",
    "found_lost_packets",
    "dropped_packets",
]

CreditVcsColumn = Literal[
    "replication", "seed", "link", "vc", "flow", "buf_alloc", "n2", "queue_max", "without_credit"
]

CreditOutputsColumn = Literal[
    "replication", "seed", "node", "port", "links", "vcs", "memory", "queue_max", "rtt"
]

StallsColumn = Literal["replication", "seed", "link", "vc", "flow", "round_trips", "since", "until", "what"]

SeriesColumn = Literal["replication", "seed", "subject", "time", "metric", "value"]

SignalsColumn = Literal["replication", "seed", "time", "flow", "group", "answer", "link", "reason"]

GateColumn = Literal[
    "replication",
    "seed",
    "direction",
    "flow",
    "flows",
    "arrived_packets",
    "arrived_bytes",
    "sent_packets",
    "sent_bytes",
    "dropped_packets",
]

WorkaheadColumn = Literal[
    "replication",
    "seed",
    "flow",
    "group",
    "link",
    "hop",
    "factor",
    "rate",
    "workahead",
    "increase",
    "increase_from_source",
]

HistogramColumn = Literal["replication", "seed", "group", "metric", "lower", "upper", "count"]


class ResultTables:
    """The tables of runs by name, each as an attribute."""

    tables: dict[str, Table[Any]]

    @property
    def flows(self) -> Table[FlowsColumn]:
        """Table `flows`.

        One row for each flow and replication. Delays are end to end: from when the packet leaves its source
            (for a retransmission: from when its data were first sent) until its last bit reaches the
            destination. Queueing delays are from last bit in to first bit out, summed over hops.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            flow: Name of the flow.
            group: Group of flows that it belongs to.
            from: Node that sends.
            to: Node that receives.
            hops: Links on its route.
            start (s): When it starts, from the start of the run, as stated or as drawn from the seed; after
                its end for a flow that does not.
            stop (s): When it stops, as stated or as drawn; null for the end of the run.
            sent_packets (packets): Packets that left the source; of a multicast flow each once.
            sent_bytes (B): Bytes that left the source.
            received_packets (packets): Packets that arrived at the destination; of a multicast flow the
                copies at all of them.
            received_bytes (B): Bytes that arrived at the destination; of a multicast flow at all of them.
            marked_packets (packets): Packets that arrived at the destination with a congestion mark (CE,
                EFCI).
            dropped_packets (packets): Packets dropped on the route; of a multicast flow one before its route
                forks counts once, and behind a fork each copy.
            lost_packets (packets): Packets lost on links with a `loss`; of a multicast flow counted as those
                that are dropped.
            due_copies (packets): Copies that destinations are to get of the packets that left the source: one
                for each destination.
            missed_copies (packets): Copies that drops and losses kept from destinations: a packet that is
                gone counts once for each destination behind that place; the share that is lost is this over
                `due_copies`.
            absorbed_packets (packets): Packets absorbed by a stage on the route.
            discarded_packets (packets): Packets that the envelope discarded at the source; not counted as
                sent.
            envelope_mean (s): Mean time that packets waited in the envelope before they were sent.
            checks: Checks by the monitors on the route.
            warnings: Checks that ended with a warning.
            refused: 1 for a flow whose set-up was refused, else 0.
            retransmissions (packets): Data packets that the sender sent again; null without a transport that
                retransmits.
            timeouts: Number of times that the sender's retransmission timer expired with data outstanding.
            throughput (bit/s): Bits received over the measured time.
            goodput (bit/s): Bits of data first sent after the warm-up that the receiver delivered to the
                application, over the measured time: in order, each once, without headers.
            delay_mean (s): Mean end-to-end delay.
            delay_sd (s): Standard deviation of the end-to-end delay.
            delay_max (s): Largest end-to-end delay.
            delay_p50 (s): Median end-to-end delay.
            delay_p99 (s): 99 % quantile of the end-to-end delay.
            delay_p999 (s): 99.9 % quantile of the end-to-end delay.
            jitter (s): Interarrival jitter at the end (RFC 3550, section 6.4.1): the running mean of the
                difference of two successive delays, each new one a sixteenth of it.
            delay_variation_p99 (s): 99 % quantile of the packet delay variation (RFC 5481): of the delay
                beyond the flow's least.
            delay_variation_p999 (s): 99.9 % quantile of the packet delay variation.
            rtt_mean (s): Mean of the round trips that the sender has measured; null for a flow without a
                transport that does.
            queueing_mean (s): Mean queueing delay.
            queueing_sd (s): Standard deviation of the queueing delay.
            queueing_p99 (s): 99 % quantile of the queueing delay.
            queueing_max (s): Largest queueing delay.
        """
        return self.tables["flows"]

    @property
    def links(self) -> Table[LinksColumn]:
        """Table `links`.

        One row for each direction of a link and replication.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            from: Node that sends.
            to: Node that receives.
            rate (bit/s): Rate of the link; with a trace, its mean.
            packets (packets): Packets sent, each copy of a multicast packet that passes, and the link's own
                cells.
            bytes (B): Bytes sent.
            dropped_packets (packets): Packets dropped at the port, or at the link's end for want of a place.
            marked_packets (packets): Congestion marks set by the port.
            lost_packets (packets): Packets that were sent, and lost on the link.
            utilisation: Share of the measured time in which the link was sending, 0 to 1; with a trace, the
                share of its capacity that was used.
            in_traffic: Green bytes that reached the port's queue as a share of its capacity, above 1 when
                they exceed it; null where packets pass no meter that colours.
            in_traffic_max: Its maximum over whole seconds; null when less than a second was measured.
            queue_mean (packets): Queue length as a time average, the packet in service included.
            queue_max (packets): Longest queue, the packet in service included.
            queue_seen_mean (packets): Mean queue length seen by an arriving packet: with the packet in
                service, without itself.
            queue_seen_sd (packets): Standard deviation of the queue length that arriving packets see.
            queue_seen_p99 (packets): 99 % quantile of the queue length that arriving packets see.
            wait_mean (s): Mean time from last bit in to first bit out.
        """
        return self.tables["links"]

    @property
    def classes(self) -> Table[ClassesColumn]:
        """Table `classes`.

        Classes of ports, one row for each direction of a link and each class, classes in it included. Empty
            without classes; the flows of a gate have the table `gate`.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            class: Name of the class.
            packets (packets): Packets of its flows that were sent.
            bytes (B): Bytes of them.
            dropped_packets (packets): Packets of its flows that were dropped at the port.
            dropped_bytes (B): Bytes of them.
            marked_packets (packets): Packets of its flows that were marked at the port.
            throughput (bit/s): Bits sent per second of the measured time.
            utilisation: Its throughput as a share of the link's rate.
            borrowed (bit/s): Its throughput beyond its reservation, which others have left; null without a
                reservation.
        """
        return self.tables["classes"]

    @property
    def drops(self) -> Table[DropsColumn]:
        """Table `drops`.

        Drops and marks of ports, one row for each direction of a link and each reason that occurred.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            reason: `queue-limit` (the queue was full), `early-drop` (the dropper chose the packet before the
                queue was full), `forced-drop` (the average queue was too long), `sojourn-time` (the packet
                was queued for too long), `meter` (out of its profile), `pushed-out` (the shared buffer was
                full), `shaper` (its flow's shaper queue was full), `no-flow` (its flow was not open at the
                port), `non-responsive` (its flow was named, and it was outside the flow's profile).
            dropped_packets (packets): Packets dropped for this reason.
            marked_packets (packets): Congestion marks set for this reason instead.
        """
        return self.tables["drops"]

    @property
    def transfers(self) -> Table[TransfersColumn]:
        """Table `transfers`.

        Finite transfers of connections with `data = { kind = "transfers" }` that began in the measured time,
            one row for each. Those that had not ended at the end of the run have no end.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            connection: Name of the connection.
            group: Group of flows that it belongs to.
            number: Number of the transfer on its connection, from 0, those before the measured time included.
            size (B): Bytes of data.
            start (s): When the application handed it over, from the start of the run.
            first_byte (s): When its first byte was sent for the first time, from the start of the run; null
                before.
            end (s): When its last byte was acknowledged, from the start of the run; null before.
            completion (s): Completion time: from start to end.
            slowdown: Completion time over that on the empty network: of the same packets sent at once on the
                links of the route, and the acknowledgement of the last; null before its end, on a route with
                a `trace` or a gate, and for transports without acknowledgements.
            sent_again (B): Bytes of it that were sent again, each time that they were.
        """
        return self.tables["transfers"]

    @property
    def usage(self) -> Table[UsageColumn]:
        """Table `usage`.

        Usage of each profile at each meter that records it, whichever flows used it: a record for each
            customer at each boundary. A profile is a flow's own or shared. Empty without such meters.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link at whose port the meter is, as s1->s2.
            class: Class whose meter it is; empty for the port's own.
            nth: Number of the meter in that class or port, from 1.
            profile: Name of the shared profile; empty for a flow's own.
            flow: Name of the flow whose own profile it is; empty for a shared one.
            inside_bytes (B): Bytes inside the profile (green).
            yellow_bytes (B): Bytes beyond its committed rate or burst, within the excess (yellow).
            outside_bytes (B): Bytes outside the profile (red).
            congested_inside_bytes (B): Bytes inside that came with a congestion mark; 0 where the meter does
                not record it.
            congested_outside_bytes (B): Yellow and outside bytes that came with a congestion mark.
        """
        return self.tables["usage"]

    @property
    def assurance(self) -> Table[AssuranceColumn]:
        """Table `assurance`.

        Probability of assurance: the share of the averaging windows in which the packets of a profile that
            arrived in a scope had at least the target rate, one row for each profile and scope. A profile is
            a flow's own or shared. Windows begin with the measured time; those that lie within the lives of
            the flows count. Empty unless the scenario has `assurance`.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            profile: Name of the shared profile; empty for a flow's own.
            flow: Name of the flow whose own profile it is; empty for a shared one.
            scope: Scope: destination, set or anywhere.
            to: Node that receives, or name of the set; empty for anywhere.
            target (bit/s): Target rate: the reservation, or the shares in it of the flows in the scope.
            averaging_window (s): Averaging window.
            windows: Whole windows.
            attained: Windows in which the target was attained.
            probability: Share of the windows in which the target was attained; null without whole windows.
        """
        return self.tables["assurance"]

    @property
    def non_responsive(self) -> Table[NonResponsiveColumn]:
        """Table `non_responsive`.

        Flows that detectors found not to respond to congestion, one row each time that a flow was named, from
            the start of the run; empty without a `detector`.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            flow: Name of the flow.
            group: Group of flows that it belongs to.
            named (s): When it was named, from the start of the run.
            released (s): When it was released; empty while it is named, or when it ended before.
        """
        return self.tables["non_responsive"]

    @property
    def aal5(self) -> Table[Aal5Column]:
        """Table `aal5`.

        Flows with `adaptation = "aal5"`, of which all other tables have the cells: their packets, one row for
            each flow and replication.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            flow: Name of the flow.
            sent_packets (packets): Packets that the source has cut into cells.
            sent_bytes (B): Their bytes, without what AAL5 adds.
            received_packets (packets): Packets that were put together at the destination.
            received_bytes (B): Their bytes, without what AAL5 adds.
            discarded_cells (packets): Cells that reached the destination and were discarded there, since
                another cell of their packet did not.
            throughput (bit/s): Bits of the packets that were put together over the measured time.
        """
        return self.tables["aal5"]

    @property
    def credit(self) -> Table[CreditColumn]:
        """Table `credit`.

        Links with credit-based flow control, one row for each direction that has it. The link's own cells are
            among the packets of the table `links`.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            vcs: VCs over it.
            memory (packets): Packets for which the receiver has memory: Buf_Alloc of all VCs, or the pool
                (M); with pools of output ports, the sum of those that VCs of the link share.
            queue_max (packets): Most packets from this link at the receiver at once.
            rtt (s): Time from a packet's last bit leaving the sender until its credit is used there, when the
                receiver forwards it at once.
            credit_cells (packets): Credit cells that were sent, on the link in the other direction.
            check_cells (packets): credit_check cells that were sent.
            overhead: Bytes of both kinds of cells over those of the data; null where no data were sent.
            lost_cells (packets): Credit cells and credit_check cells that were lost.
            duplicated_cells (packets): Credit cells that arrived twice.
            found_lost_packets (packets): Packets that checks found lost.
            dropped_packets (packets): Packets without a place at the receiver.
        """
        return self.tables["credit"]

    @property
    def credit_vcs(self) -> Table[CreditVcsColumn]:
        """Table `credit_vcs`.

        VCs of links with credit-based flow control, one row for each direction of a link and VC.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            vc: Number of the VC on the link, from 0.
            flow: Name of the flow; empty for the VC of all flows of a link.
            buf_alloc (packets): Buf_Alloc at the end.
            n2 (packets): N2 at the end.
            queue_max (packets): Most packets of the VC from this link at the receiver at once.
            without_credit: Share of the measured time in which it had no credit, 0 to 1.
        """
        return self.tables["credit_vcs"]

    @property
    def credit_outputs(self) -> Table[CreditOutputsColumn]:
        """Table `credit_outputs`.

        Pools of output ports that VCs of several links with credit share (`pool_per`), one row for each port,
            and one for the VCs that end at the node after a link.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            node: Node of the port.
            port: Link by which the VCs leave; empty for those that end at the node.
            links: Links over which the VCs come.
            vcs: VCs that share the pool.
            memory (packets): The pool (M).
            queue_max (packets): Most packets in the pool at once.
            rtt (s): Largest RTT of the links.
        """
        return self.tables["credit_outputs"]

    @property
    def stalls(self) -> Table[StallsColumn]:
        """Table `stalls`.

        VCs with packets to send that had no credit and no packet at the receiver for at least 100 RTT, from
            the start of the run: the effect of losses without credit_check cells.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            link: Name of the link's direction, as s1->s2.
            vc: Number of the VC on the link, from 0.
            flow: Name of the flow; empty for the VC of all flows of a link.
            round_trips: Number of RTT without credit.
            since (s): Start of the stall, from the start of the run.
            until (s): When it had credit again; empty if it never had.
            what: Description of the stall in words.
        """
        return self.tables["stalls"]

    @property
    def series(self) -> Table[SeriesColumn]:
        """Table `series`.

        Time series, one row for each sample; `sample` of the scenario is the spacing.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            subject: Name of the link's direction or of the group of flows.
            time (s): End of the interval, from the start of the run.
            metric: Measured quantity: `queue` (packets, at that instant), `utilisation` (share of the
                interval in which a link was sending; with a trace, the share of its capacity that was used),
                where meters colour `in_traffic` (green packets that reached the port as a share of its
                capacity in the interval), `throughput` (bit/s, over the interval), and where there are
                monitors `lead` (s, the most that a flow's VirtualClock was ahead of real time at that
                instant) and `warnings` (over the interval); of a port's dropper the gauges of its chapter,
                such as `average_queue` (packets or bytes), `drop_probability` and `queue_delay` (s) at that
                instant; of links with credit `pool` (packets at the receiver) and of their VCs `vc_queue` (of
                these, the VC's), `buf_alloc` and `credit_balance` (packets), of which the subject is the flow
                on the link, as `a on s1->s2`; of links behind a port with a pool of its own `output_pool`
                (packets in it).
            value: Its value, in the unit of the metric.
        """
        return self.tables["series"]

    @property
    def signals(self) -> Table[SignalsColumn]:
        """Table `signals`.

        Outcomes of requests, one row for each answer that a source received; empty without `admission`.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            time (s): When the source received it, from the start of the run.
            flow: Name of the flow.
            group: Group of flows that it belongs to.
            answer: `granted`, `refused`, `changed`, `change refused`, `change missed` (the flow was not set
                up then, or another change was under way), `torn down` (by the source), `hung up` (by the
                destination).
            link: Link that refused, as s1->s2; empty otherwise.
            reason: Reason of the refusal, with the capacity left; empty otherwise.
        """
        return self.tables["signals"]

    @property
    def gate(self) -> Table[GateColumn]:
        """Table `gate`.

        Flows of the gate, one row for each `[[flow]]` of its file and direction; empty without a gate. Bytes
            are charged bytes.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            direction: `up` or `down`.
            flow: Name of the flow in the gate's file; `(no match)` for packets that match none.
            flows: Number of flows at the end: with `each`, those that were opened and not forgotten.
            arrived_packets (packets): Packets that arrived at it.
            arrived_bytes (B): Bytes that arrived at it.
            sent_packets (packets): Packets whose last bit has left.
            sent_bytes (B): Bytes that have left.
            dropped_packets (packets): Packets dropped.
        """
        return self.tables["gate"]

    @property
    def workahead(self) -> Table[WorkaheadColumn]:
        """Table `workahead`.

        Exact maximum workahead W of each flow with a reservation: the longest backlog at an ideal server of
            its rate, at its source and behind each link of its route, one row for each factor on the rate;
            empty unless asked for.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            flow: Name of the flow.
            group: Group of flows that it belongs to.
            link: Last link that its packets have passed, as s1->s2; empty at the source.
            hop: Links between the source and here; 0 is the source, behind the flow's envelope.
            factor: Factor on the flow's reserved rate.
            rate (bit/s): Rate of the ideal server: the reserved rate times the factor.
            workahead (B): W, rounded up; a packet counts whole when its last bit is in.
            increase: Burstiness increase (W_out - W_in) / W_in over the server in front of the link.
            increase_from_source: Burstiness increase from the source to this place.
        """
        return self.tables["workahead"]

    @property
    def histogram(self) -> Table[HistogramColumn]:
        """Table `histogram`.

        Histogram of delays, one row for each bin that is not empty.

        Columns:
            replication: Replication, from 0: one seed of one scenario.
            seed: Seed of the replication.
            group: Group of flows that it belongs to.
            metric: Measured quantity: `delay` or `queueing`.
            lower (s): Lower edge of the bin, included.
            upper (s): Upper edge of the bin, not included.
            count (packets): Packets in the bin.
        """
        return self.tables["histogram"]
