//! The discrete-event world: switches of [`tidegate_core`], links between them, sources and sinks.
//!
//! Events are in a total order: time, then what is done (a departure before an arrival, a timer,
//! a source), then the index of the link or source, which has one event of a kind at a time. A link
//! without delay hands over at once, after its next packet has started; one with a delay keeps what
//! is in flight and schedules only the first.

mod agenda;
mod conduct;
mod flow_network;
mod forwarding;
mod gate;
mod meters;
mod pending;
mod report;
mod setup;
mod wires;

pub use flow_network::{Answer, Signal};
pub use gate::GateFlow;
pub use report::LinkReport;

use agenda::Agenda;
use conduct::Conduct;
use flow_network::Standing;
use gate::Gate;
use meters::FlowMeters;

use crate::event_queue::EventQueue;
use crate::fingerprint::Fingerprint;
use crate::network::FlowSetup;
use crate::probe::Series;
use crate::record::{DelayCounts, Delays, FlowRecord};
use crate::traffic::Emission;
use crate::watch::Watch;
use pending::Pending;
use std::collections::VecDeque;
use tidegate_core::admission::Ledger;
use tidegate_core::context::Effect;
use tidegate_core::packet::{Leg, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::stats::Moments;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Rate, Span, Time};
use wires::{Wire, Wires};

/// What is to happen; indexes are of links or flows.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The last bit of the packet in service leaves the link; or, with none in service, a link with a
    /// trace has an opportunity for what waits.
    Departed(u32),
    /// The last bit of the first packet in flight reaches the link's end.
    Arrived(u32),
    /// A port asked to be woken.
    Timer(u32),
    /// A source's next packet.
    Source(u32),
}

/// A packet's own data, while it is in the network.
#[derive(Clone, Copy, Debug)]
struct PacketBody {
    /// When it left its source.
    born: Time,
    queueing: Span,
    sequence: u64,
    flow: u32,
    /// Index into the world's hops: where it is now.
    hop: u32,
    group: u32,
}

/// One link of a flow's route.
#[derive(Clone, Copy, Debug)]
struct HopEntry {
    link: u32,
    /// The node in front of the link.
    node: u32,
    leg: Leg,
    /// The first hop of a greedy flow: what leaves it makes room for more.
    tops_up: bool,
    around: Around,
    /// Whether the link has a delay or loses packets: what leaves it is not at its end at once.
    flies: bool,
    last: bool,
}

/// What a packet passes at a hop besides the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Nothing,
    /// The envelope of its flow, whose first hop this is.
    Envelope,
    Gate,
}

/// A switch with what stands around it.
struct Node {
    switch: Switch,
    rng: Rng,
    /// The link behind each port.
    links: Vec<u32>,
}

struct Link {
    node: u32,
    port: PortIx,
    rate: Rate,
    delay: Span,
    in_flight: VecDeque<(Time, Packet)>,
    /// Whether it is the first of a greedy flow, or has a trace.
    unusual: bool,
    /// How long the packet in service had to wait.
    waiting: Span,
    dropped: u64,
    /// Ticks from last bit in to first bit out, since the warm-up.
    waited: u128,
    /// What was sent and how many packets had started when the warm-up ended.
    before: (Count, u64),
}

impl Link {
    /// A packet starts; returns when it departs.
    #[inline(always)]
    fn begin(&mut self, now: Time, packet: &Packet) -> Time {
        self.waiting = now.since(packet.arrived);
        self.waited = self.waited.wrapping_add(u128::from(self.waiting.ticks()));
        now + self.rate.time_for(packet.len)
    }

    /// What it has sent, and how many packets have started.
    fn done(&self, switch: &Switch) -> (Count, u64) {
        let sent = switch.sent(self.port);
        (sent, sent.packets + u64::from(!switch.is_idle(self.port)))
    }
}

struct Flow {
    emission: Emission,
    /// Whether it sends by its own pattern and nothing else.
    plain: bool,
    first_hop: u32,
    /// The size of the packet whose event is pending.
    pending: u32,
    /// Greedy sources: packets in the first queue.
    in_first_queue: u32,
    stop: Time,
    next_sequence: u64,
    group: u32,
}

/// A network at work.
pub struct World<Q> {
    events: Pending<Q>,
    now: Time,
    until: Time,
    warm_at: Time,
    warm: bool,
    /// When the warm-up or a sample is due.
    due_at: Time,
    nodes: Vec<Node>,
    links: Vec<Link>,
    wires: Box<Wires>,
    flows: Vec<Flow>,
    records: Vec<FlowRecord>,
    hops: Vec<HopEntry>,
    bodies: Vec<PacketBody>,
    free_bodies: Vec<u32>,
    out: Vec<Effect>,
    fingerprint: Fingerprint,
    packet_hops: u64,
    group_counts: Vec<DelayCounts>,
    flow_counts: Vec<DelayCounts>,
    /// Made of the counts in the end.
    group_delays: Vec<Delays>,
    flow_delays: Vec<Delays>,
    series: Option<Series>,
    watch: Option<Watch>,
    /// How long packets waited in each flow's envelope; empty when no flow has one.
    envelopes: Vec<Moments>,
    agenda: Agenda,
    conducts: Vec<Conduct>,
    meters: Vec<FlowMeters>,
    standings: Vec<Standing>,
    /// From being set up to the first packet.
    first_gaps: Vec<Span>,
    /// One a link; empty when no flow is set up by signalling, as are `setups`.
    ledgers: Vec<Ledger>,
    setups: Vec<FlowSetup>,
    signals: Vec<Signal>,
    /// Whether any port has a meter.
    has_meters: bool,
    /// Whether there is a series or a watch.
    probed: bool,
    gate: Option<Box<Gate>>,
    /// Whether something is to be done before a packet enters a port: it is watched or steered.
    attended: bool,
}

impl<Q: EventQueue> World<Q> {
    /// Carries out at most `most` events. True when the run is over.
    pub fn advance(&mut self, most: u64) -> bool {
        for _ in 0..most {
            // Of one instant, what links do comes first.
            let (link_at, component) = self.events.links.first();
            let (source_at, flow) = self.events.sources.first();
            let at = link_at.min(source_at);
            if self.due_at <= at && self.due_at <= self.until {
                // What is done may make another event the first.
                self.catch_up();
                continue;
            }
            if at > self.until {
                self.finish();
                return true;
            }
            self.now = at;
            if source_at < link_at {
                self.source(flow);
            } else if component < self.events.count {
                self.departed(component);
            } else {
                self.rarer(component);
            }
            #[cfg(debug_assertions)]
            self.audit(if source_at < link_at {
                Event::Source(flow)
            } else {
                self.events.of_link(component)
            });
        }
        false
    }

    #[inline(never)]
    fn rarer(&mut self, component: u32) {
        match self.events.of_link(component) {
            Event::Arrived(link) => self.arrived(link),
            Event::Timer(link) => self.timer(link),
            // Carried out where these are looked for first.
            Event::Departed(_) | Event::Source(_) => {}
        }
    }

    /// Does what is due: ends the warm-up, acts on a message, or takes a sample.
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self) {
        if !self.warm && self.due_at == self.warm_at {
            self.warm_up();
        } else if self.due_at == self.agenda.next() {
            self.do_deed();
        } else {
            self.sample(self.due_at);
        }
        self.set_due();
    }

    /// Says when [`catch_up`](Self::catch_up) has something to do.
    fn set_due(&mut self) {
        let warm_at = if self.warm { Time::NEVER } else { self.warm_at };
        // A sample is taken after the events of its instant.
        let sample_at = self.series.as_ref().map_or(Time::NEVER, |series| series.next());
        self.due_at = warm_at.min(sample_at + Span::from_ticks(1)).min(self.agenda.next());
    }

    /// The run is over: brings the clock and the series to its end.
    fn finish(&mut self) {
        if !self.warm {
            self.warm_up();
        }
        self.sample(self.until + Span::from_ticks(1));
        self.now = self.until;
        for (flow, waiting) in self.in_envelopes() {
            let sent = &mut self.records[flow].sent;
            *sent = (sent.0 - waiting.packets, sent.1 - waiting.bytes);
        }
        self.group_delays.extend(self.group_counts.drain(..).map(DelayCounts::into_delays));
        self.flow_delays.extend(self.flow_counts.drain(..).map(DelayCounts::into_delays));
    }

    /// What was counted so far does not count.
    #[cold]
    #[inline(never)]
    fn warm_up(&mut self) {
        self.warm = true;
        self.records.iter_mut().for_each(|record| record.sent = (0, 0));
        for (flow, waiting) in self.in_envelopes() {
            self.records[flow].sent = (waiting.packets, waiting.bytes);
        }
        self.meter_anew();
        self.lost_anew();
        if let Some(gate) = &mut self.gate {
            gate.count_anew(&self.nodes);
        }
        for (ix, link) in self.links.iter_mut().enumerate() {
            let switch = &mut self.nodes[link.node as usize].switch;
            (link.before, link.dropped, link.waited) = (link.done(switch), 0, 0);
            let by_samples = self.wires.of[ix].as_ref().and_then(Wire::sampled).is_some();
            if let Some(series) = self.series.as_mut().filter(|_| !by_samples) {
                series.busy_anew(ix, switch.busy(self.warm_at, link.port));
            }
            switch.reset_stats(self.warm_at, link.port);
        }
    }

    /// What waits in the envelope of each flow that has one: it was counted as sent when its
    /// source made it, and has not left it yet.
    fn in_envelopes(&self) -> Vec<(usize, Count)> {
        let waiting = |(ix, flow): (usize, &Flow)| {
            let hop = &self.hops[flow.first_hop as usize];
            let shaped = || self.nodes[hop.node as usize].switch.shaped(hop.leg);
            (hop.around == Around::Envelope).then(|| (ix, shaped()))
        };
        self.flows.iter().enumerate().filter_map(waiting).collect()
    }

    /// Takes all samples that are due before `at`.
    #[cold]
    #[inline(never)]
    fn sample(&mut self, at: Time) {
        while let Some(series) = &mut self.series
            && series.next() < at
            && series.next() <= self.until
        {
            let (at, spacing) = (series.next(), series.spacing());
            self.sample_wires(at, spacing);
            let state = |(link, wire): (&Link, &Option<Wire>)| {
                let switch = &self.nodes[link.node as usize].switch;
                let busy =
                    wire.as_ref().and_then(Wire::sampled).unwrap_or_else(|| switch.busy(at, link.port));
                (switch.backlog(link.port).packets, busy)
            };
            if let Some(series) = &mut self.series {
                series.take(self.links.iter().zip(&self.wires.of).map(state));
            }
            self.sample_meters(at);
        }
    }
}
