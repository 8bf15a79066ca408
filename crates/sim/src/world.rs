//! The discrete-event world: switches of [`tidegate_core`], links between them, sources and sinks.
//!
//! Events are in a total order: time, then what is done (a departure before an arrival, a timer,
//! a source), then the index of the link or source, then insertion. A link without delay hands
//! over at once, after its next packet has started; one with a delay keeps what is in flight and
//! schedules only the first.

use crate::event_queue::EventQueue;
use crate::fingerprint::{Fingerprint, Outcome};
use crate::network::Network;
use crate::probe::{Probes, Series};
use crate::record::{DelayCounts, Delays, FlowRecord};
use crate::traffic::{Emission, Traffic};
use crate::watch::{Ahead, Watch};
use std::collections::VecDeque;
use tidegate_core::context::{Body, Ctx, Effect, Reason};
use tidegate_core::contract::Refused;
use tidegate_core::packet::{BodyId, Leg, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::stats::tally;
use tidegate_core::switch::plan::{FlowPlan, SwitchPlan};
use tidegate_core::switch::{QueueStats, Switch};
use tidegate_core::units::{Rate, Span, Time};

/// What is to happen; indexes are of links or flows.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The last bit of the packet in service leaves the link.
    Departed(u32),
    /// The last bit of the first packet in flight reaches the link's end.
    Arrived(u32),
    /// A port asked to be woken.
    Timer(u32),
    /// A source's next packet.
    Source(u32),
}

impl Event {
    /// Departures come first, so that an arrival at the same instant meets a free place.
    #[inline]
    fn key(self) -> u32 {
        const KIND: u32 = 30;
        match self {
            Event::Departed(link) => link,
            Event::Arrived(link) => 1 << KIND | link,
            Event::Timer(link) => 2 << KIND | link,
            Event::Source(flow) => 3 << KIND | flow,
        }
    }
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
    /// The first hop of a flow with an envelope.
    after_envelope: bool,
    last: bool,
}

/// A switch with what stands around it.
struct Node {
    switch: Switch,
    rng: Rng,
    /// The link behind each port.
    links: Vec<u32>,
}

struct Link {
    /// Its own index.
    ix: u32,
    node: u32,
    port: PortIx,
    rate: Rate,
    delay: Span,
    in_flight: VecDeque<(Time, Packet)>,
    /// Packets and bytes sent since the warm-up.
    sent: (u64, u64),
    dropped: u64,
    /// Waits since the warm-up: from last bit in to first bit out.
    waited: (u64, u128),
}

impl Link {
    /// The link is free: its next packet starts, if there is one.
    #[inline(always)]
    fn start<Q: EventQueue<Event>>(
        &mut self,
        node: &mut Node,
        now: Time,
        bodies: &mut [PacketBody],
        events: &mut Q,
        watch: &mut Option<Watch>,
        out: &mut Vec<Effect>,
    ) {
        let mut cx = Ctx { now, rng: &mut node.rng, out };
        let Some(packet) = node.switch.start(&mut cx, self.port) else { return };
        let body = &mut bodies[packet.body.0 as usize];
        let waited = now.since(packet.arrived);
        body.queueing += waited;
        tally(&mut self.waited.0, 1);
        self.waited.1 = self.waited.1.wrapping_add(u128::from(waited.ticks()));
        if let Some(watch) = watch {
            let ahead = Ahead { flow: body.flow, len: packet.len, stamp: packet.tag, started: now };
            watch.started(self.ix, body.sequence, ahead);
        }
        let event = Event::Departed(self.ix);
        events.push(now + self.rate.time_for(packet.len), event.key(), event);
    }
}

/// A packet whose last bit is in at the node where `hop` begins.
struct Entering {
    hop: u32,
    packet: Packet,
}

struct Flow {
    emission: Emission,
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
    events: Q,
    now: Time,
    until: Time,
    warm_at: Time,
    warm: bool,
    /// When the warm-up or a sample is due.
    due_at: Time,
    nodes: Vec<Node>,
    links: Vec<Link>,
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
}

impl<Q: EventQueue<Event>> World<Q> {
    /// Builds the network; every component's random stream comes from `seed` and its name.
    ///
    /// # Errors
    /// When a scheduler refuses a plan.
    pub fn new(network: &Network, seed: u64, probes: &Probes) -> Result<World<Q>, Refused> {
        let ports = network.ports();
        let mut plans = vec![SwitchPlan::default(); network.nodes.len()];
        let mut links_of = vec![Vec::new(); network.nodes.len()];
        for (ix, link) in network.links.iter().enumerate() {
            plans[link.from].ports.push(link.port.clone());
            links_of[link.from].push(ix as u32);
        }
        let mut nodes = Vec::with_capacity(plans.len());
        for ((mut plan, links), node) in plans.into_iter().zip(links_of).zip(&network.nodes) {
            plan.buffer = node.buffer;
            let switch = Switch::new(Time::ORIGIN, &plan)?;
            let rng = Rng::named(seed, &format!("node/{}", node.name));
            nodes.push(Node { switch, rng, links });
        }
        let link = |(ix, (link, port)): (usize, (&crate::network::LinkPlan, &PortIx))| Link {
            ix: ix as u32,
            node: link.from as u32,
            port: *port,
            rate: link.rate,
            delay: link.delay,
            in_flight: VecDeque::new(),
            sent: (0, 0),
            dropped: 0,
            waited: (0, 0),
        };
        let groups = network.groups.len();
        let mut world = World {
            events: Q::with_capacity(network.links.len() + network.flows.len()),
            now: Time::ORIGIN,
            until: Time::ORIGIN + network.duration,
            warm_at: Time::ORIGIN + network.warmup,
            warm: network.warmup == Span::ZERO,
            due_at: Time::NEVER,
            links: network.links.iter().zip(&ports).enumerate().map(link).collect(),
            flows: Vec::with_capacity(network.flows.len()),
            records: vec![FlowRecord::default(); network.flows.len()],
            hops: Vec::new(),
            bodies: Vec::new(),
            free_bodies: Vec::new(),
            out: Vec::new(),
            fingerprint: Fingerprint::default(),
            packet_hops: 0,
            group_counts: vec![DelayCounts::default(); if probes.delays { groups } else { 0 }],
            flow_counts: vec![
                DelayCounts::default();
                if probes.flow_delays { network.flows.len() } else { 0 }
            ],
            group_delays: Vec::new(),
            flow_delays: Vec::new(),
            series: probes.sample.map(|spacing| Series::new(spacing, network.links.len(), groups)),
            watch: probes.watch.clone(),
            nodes,
        };
        world.set_due();
        for setup in &network.flows {
            world.add_flow(setup, seed)?;
        }
        Ok(world)
    }

    fn add_flow(&mut self, setup: &crate::network::FlowSetup, seed: u64) -> Result<(), Refused> {
        let first = self.hops.len() as u32;
        for (ix, (link, plan)) in setup.route.iter().zip(&setup.plans).enumerate() {
            // The envelope is a shaper in front of the first port.
            let shaper = if ix == 0 { setup.envelope } else { None };
            let plan = FlowPlan { shaper, ..*plan };
            let Link { node, port, .. } = self.links[*link];
            let leg = self.nodes[node as usize].switch.open(Time::ORIGIN, port, &plan)?;
            self.hops.push(HopEntry {
                link: *link as u32,
                node,
                leg,
                tops_up: ix == 0 && matches!(setup.traffic, Traffic::Greedy { .. }),
                after_envelope: ix == 0 && setup.envelope.is_some(),
                last: ix + 1 == setup.route.len(),
            });
        }
        let rng = Rng::named(seed, &format!("flow/{}", setup.name));
        let mut emission = Emission::new(setup.traffic.clone(), rng);
        let start = Time::ORIGIN + setup.start;
        let stop = setup.stop.map_or(Time::NEVER, |stop| Time::ORIGIN + stop);
        let first_packet = if emission.window() > 0 { Some((Span::ZERO, 0)) } else { emission.next_packet() };
        let flow = self.flows.len() as u32;
        if let Some((gap, _)) = first_packet
            && start + gap < stop
        {
            let event = Event::Source(flow);
            self.events.push(start + gap, event.key(), event);
        }
        self.flows.push(Flow {
            emission,
            first_hop: first,
            pending: first_packet.map_or(0, |(_, len)| len),
            in_first_queue: 0,
            stop,
            next_sequence: 0,
            group: setup.group as u32,
        });
        Ok(())
    }

    /// Carries out at most `most` events. True when the run is over.
    pub fn advance(&mut self, most: u64) -> bool {
        for _ in 0..most {
            let Some((at, event)) = self.events.pop_until(self.until) else {
                self.finish();
                return true;
            };
            if at >= self.due_at {
                self.catch_up(at);
            }
            self.now = at;
            let entering = match event {
                Event::Departed(link) => self.departed(link),
                Event::Arrived(link) => self.arrived(link),
                Event::Timer(link) => self.timer(link),
                Event::Source(flow) => self.source(flow),
            };
            if let Some(entering) = entering {
                self.enter(entering);
            }
            #[cfg(debug_assertions)]
            self.audit(event);
        }
        false
    }

    /// Before an event at `at`: ends the warm-up and takes samples that are due.
    #[cold]
    fn catch_up(&mut self, at: Time) {
        if !self.warm && at >= self.warm_at {
            self.warm_up();
        }
        self.sample(at);
        self.set_due();
    }

    /// Says when [`catch_up`](Self::catch_up) has something to do.
    fn set_due(&mut self) {
        let warm_at = if self.warm { Time::NEVER } else { self.warm_at };
        // A sample is taken after the events of its instant.
        let sample_at = self.series.as_ref().map_or(Time::NEVER, |series| series.next());
        self.due_at = warm_at.min(sample_at + Span::from_ticks(1));
    }

    /// The run is over: brings the clock and the series to its end.
    fn finish(&mut self) {
        if !self.warm {
            self.warm_up();
        }
        self.sample(self.until + Span::from_ticks(1));
        self.now = self.until;
        self.group_delays.extend(self.group_counts.drain(..).map(DelayCounts::into_delays));
        self.flow_delays.extend(self.flow_counts.drain(..).map(DelayCounts::into_delays));
    }

    /// What was counted so far does not count.
    fn warm_up(&mut self) {
        self.warm = true;
        for link in &mut self.links {
            (link.sent, link.dropped, link.waited) = ((0, 0), 0, (0, 0));
            self.nodes[link.node as usize].switch.reset_stats(self.warm_at, link.port);
        }
    }

    /// Takes all samples that are due before `at`.
    #[cold]
    fn sample(&mut self, at: Time) {
        let Some(series) = &mut self.series else { return };
        while series.next() < at && series.next() <= self.until {
            let queue = |link: &Link| self.nodes[link.node as usize].switch.backlog(link.port).packets;
            series.take(self.links.iter().map(queue));
        }
    }

    #[inline(always)]
    fn source(&mut self, ix: u32) -> Option<Entering> {
        let flow = &mut self.flows[ix as usize];
        if flow.emission.window() > 0 {
            self.top_up(ix);
            return None;
        }
        let len = flow.pending;
        if let Some((gap, len)) = flow.emission.next_packet() {
            let at = self.now + gap;
            if at < flow.stop {
                flow.pending = len;
                let event = Event::Source(ix);
                self.events.push(at, event.key(), event);
            }
        }
        Some(self.emit(ix, len))
    }

    /// A greedy source fills its window. What is dropped at once is not tried again before
    /// the link has sent something, or, with nothing in the queue, a packet's time later.
    #[inline(never)]
    fn top_up(&mut self, ix: u32) {
        loop {
            let now = self.now;
            let flow = &mut self.flows[ix as usize];
            if flow.in_first_queue >= flow.emission.window() || now >= flow.stop {
                return;
            }
            let before = flow.in_first_queue;
            let len = flow.emission.size();
            flow.in_first_queue += 1;
            let first = flow.first_hop;
            let entering = self.emit(ix, len);
            self.enter(entering);
            let in_queue = self.flows[ix as usize].in_first_queue;
            if in_queue <= before {
                if in_queue == 0 {
                    let link = &self.links[self.hops[first as usize].link as usize];
                    let event = Event::Source(ix);
                    self.events.push(now + link.rate.time_for(len), event.key(), event);
                }
                return;
            }
        }
    }

    #[inline(always)]
    fn emit(&mut self, ix: u32, len: u32) -> Entering {
        let flow = &mut self.flows[ix as usize];
        let body = PacketBody {
            born: self.now,
            queueing: Span::ZERO,
            sequence: flow.next_sequence,
            flow: ix,
            hop: flow.first_hop,
        };
        tally(&mut flow.next_sequence, 1);
        if self.warm {
            let record = &mut self.records[ix as usize];
            tally(&mut record.sent.0, 1);
            tally(&mut record.sent.1, u64::from(len));
        }
        let hop = body.hop;
        let id = match self.free_bodies.pop() {
            Some(id) => {
                self.bodies[id as usize] = body;
                id
            }
            None => {
                self.bodies.push(body);
                (self.bodies.len() - 1) as u32
            }
        };
        Entering { hop, packet: Packet::new(BodyId(id), len) }
    }

    /// The switch in front of the packet's hop takes it in.
    #[inline(always)]
    fn enter(&mut self, Entering { hop, packet }: Entering) {
        let hop = self.hops[hop as usize];
        if self.watch.is_some() {
            self.watch_arrival(hop, packet);
        }
        let node = &mut self.nodes[hop.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let idle = node.switch.arrive(&mut cx, &[hop.leg], packet);
        if !self.out.is_empty() {
            self.effects(hop.node);
        }
        if idle {
            self.start(hop.link);
        }
    }

    #[cold]
    fn watch_arrival(&mut self, hop: HopEntry, packet: Packet) {
        let Some(watch) = &mut self.watch else { return };
        let body = &self.bodies[packet.body.0 as usize];
        let queue = self.nodes[hop.node as usize].switch.backlog(hop.leg.port).packets;
        watch.arrived(hop.link, body.flow, body.sequence, self.now, queue);
    }

    /// The link is free: its next packet starts, if there is one.
    #[inline(never)]
    fn start(&mut self, ix: u32) {
        let link = &mut self.links[ix as usize];
        let at = link.node;
        let node = &mut self.nodes[at as usize];
        link.start(node, self.now, &mut self.bodies, &mut self.events, &mut self.watch, &mut self.out);
        if !self.out.is_empty() {
            self.effects(at);
        }
    }

    #[inline(always)]
    fn departed(&mut self, ix: u32) -> Option<Entering> {
        let link = &mut self.links[ix as usize];
        let node = &mut self.nodes[link.node as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        let (packet, held) = node.switch.finish(&mut cx, link.port)?;
        debug_assert_eq!(held, Body::Released, "the simulator sends every packet to one port");
        tally(&mut self.packet_hops, 1);
        tally(&mut link.sent.0, 1);
        tally(&mut link.sent.1, u64::from(packet.len));
        let delay = link.delay;
        let body = &mut self.bodies[packet.body.0 as usize];
        self.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Sent);
        let hop = &self.hops[body.hop as usize];
        if hop.after_envelope {
            // It left its source when the envelope let it go.
            body.born = packet.arrived;
        }
        if hop.tops_up {
            let flow = body.flow;
            self.room_for(flow);
            self.start(ix);
        } else {
            let at = link.node;
            link.start(node, self.now, &mut self.bodies, &mut self.events, &mut self.watch, &mut self.out);
            if !self.out.is_empty() {
                self.effects(at);
            }
        }
        if delay == Span::ZERO {
            return self.hand_over(packet);
        }
        self.fly(ix, packet);
        None
    }

    /// A packet of a greedy flow has left its first queue.
    #[inline(never)]
    fn room_for(&mut self, flow: u32) {
        self.flows[flow as usize].in_first_queue -= 1;
        self.top_up(flow);
    }

    /// The packet's last bit is on the way to the end of a link with a delay.
    fn fly(&mut self, ix: u32, packet: Packet) {
        let link = &mut self.links[ix as usize];
        let at = self.now + link.delay;
        link.in_flight.push_back((at, packet));
        if link.in_flight.len() == 1 {
            let event = Event::Arrived(ix);
            self.events.push(at, event.key(), event);
        }
    }

    fn arrived(&mut self, ix: u32) -> Option<Entering> {
        let link = &mut self.links[ix as usize];
        let (_, packet) = link.in_flight.pop_front()?;
        if let Some((at, _)) = link.in_flight.front() {
            let event = Event::Arrived(ix);
            self.events.push(*at, event.key(), event);
        }
        self.hand_over(packet)
    }

    /// The packet's last bit reaches the far end of a link.
    #[inline(always)]
    fn hand_over(&mut self, packet: Packet) -> Option<Entering> {
        let body = &mut self.bodies[packet.body.0 as usize];
        let hop = body.hop;
        if self.hops[hop as usize].last {
            self.sink(packet);
            return None;
        }
        body.hop = hop + 1;
        Some(Entering { hop: hop + 1, packet })
    }

    #[inline(always)]
    fn sink(&mut self, packet: Packet) {
        let body = self.bodies[packet.body.0 as usize];
        self.free_bodies.push(packet.body.0);
        let group = self.flows[body.flow as usize].group as usize;
        if let Some(series) = &mut self.series {
            series.received(group, packet.len);
        }
        if body.born < self.warm_at {
            return;
        }
        let delay = self.now.since(body.born);
        if let Some(watch) = &mut self.watch {
            watch.delivered(body.flow, body.sequence, self.now, delay);
        }
        let record = &mut self.records[body.flow as usize];
        tally(&mut record.received.0, 1);
        tally(&mut record.received.1, u64::from(packet.len));
        record.delay.add(delay);
        record.queueing.add(body.queueing);
        if let Some(delays) = self.group_counts.get_mut(group) {
            delays.add(delay, body.queueing);
        }
        if let Some(delays) = self.flow_counts.get_mut(body.flow as usize) {
            delays.add(delay, body.queueing);
        }
    }

    #[inline(never)]
    fn timer(&mut self, ix: u32) -> Option<Entering> {
        let Link { node: at, port, .. } = self.links[ix as usize];
        let node = &mut self.nodes[at as usize];
        let mut cx = Ctx { now: self.now, rng: &mut node.rng, out: &mut self.out };
        node.switch.timer(&mut cx, port);
        self.effects(at);
        self.start(ix);
        None
    }

    /// Acts on what a switch has reported.
    #[cold]
    fn effects(&mut self, node: u32) {
        let mut out = core::mem::take(&mut self.out);
        for effect in out.drain(..) {
            match effect {
                Effect::Dropped { port, packet, reason, .. } => {
                    let link = self.nodes[node as usize].links[usize::from(port.0)];
                    self.dropped(link, packet, reason);
                }
                Effect::Wake { port, at } => {
                    let event = Event::Timer(self.nodes[node as usize].links[usize::from(port.0)]);
                    self.events.push(at, event.key(), event);
                }
                Effect::Marked { .. } => {}
            }
        }
        self.out = out;
    }

    fn dropped(&mut self, ix: u32, packet: Packet, reason: Reason) {
        let body = self.bodies[packet.body.0 as usize];
        self.free_bodies.push(packet.body.0);
        self.fingerprint.add(self.now, ix, body.flow, body.sequence, Outcome::Dropped);
        if let Some(watch) = &mut self.watch {
            watch.dropped(ix, body.flow, body.sequence);
        }
        let hop = &self.hops[body.hop as usize];
        if hop.tops_up {
            self.flows[body.flow as usize].in_first_queue -= 1;
        }
        let discarded = hop.after_envelope && reason == Reason::Shaper;
        if !discarded {
            self.links[ix as usize].dropped += 1;
        }
        if body.born < self.warm_at {
            return;
        }
        let record = &mut self.records[body.flow as usize];
        if discarded {
            // It never left the source.
            record.discarded += 1;
            record.sent.0 -= 1;
            record.sent.1 -= u64::from(packet.len);
        } else {
            record.dropped += 1;
        }
    }

    /// Checks conservation, work conservation and order within flows where the event was; in
    /// large networks now and then, since it looks at every flow.
    #[cfg(debug_assertions)]
    fn audit(&self, event: Event) {
        let link = match event {
            Event::Departed(link) | Event::Arrived(link) | Event::Timer(link) => link,
            Event::Source(flow) => self.hops[self.flows[flow as usize].first_hop as usize].link,
        };
        if self.flows.len() <= 32 || self.packet_hops.is_multiple_of(1024) {
            let node = self.links[link as usize].node as usize;
            if let Err(what) = self.nodes[node].switch.audit(self.now) {
                panic!("node {node} at {:?}, after {event:?}: {what}", self.now);
            }
        }
    }
}

/// What a world has measured.
impl<Q> World<Q> {
    /// How far the run is, 0 to 1.
    pub fn progress(&self) -> f64 {
        let whole = self.until.since(Time::ORIGIN).as_secs_f64();
        if whole > 0.0 { self.now.since(Time::ORIGIN).as_secs_f64() / whole } else { 1.0 }
    }

    /// The sum over outcomes so far.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.value()
    }

    /// Packets that have left an output port.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// One record a flow, in the network's order.
    pub fn records(&self) -> &[FlowRecord] {
        &self.records
    }

    /// Delays by group; empty when they were not asked for, and until the run is over.
    pub fn group_delays(&self) -> &[Delays] {
        &self.group_delays
    }

    /// Delays by flow; empty when they were not asked for, and until the run is over.
    pub fn flow_delays(&self) -> &[Delays] {
        &self.flow_delays
    }

    /// Queues and throughput over time, if they were asked for.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref()
    }

    /// What the watched packets met.
    pub fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }

    /// What a link has done since the warm-up.
    pub fn link(&self, ix: usize) -> LinkReport {
        let link = &self.links[ix];
        let switch = &self.nodes[link.node as usize].switch;
        let measured = self.now.since(self.warm_at);
        let stats = switch.queue_stats(link.port);
        LinkReport { sent: link.sent, dropped: link.dropped, waited: link.waited, measured, stats }
    }

    /// Bytes of memory held by the switches for flows and packets.
    pub fn memory(&self) -> usize {
        self.nodes.iter().map(|node| node.switch.memory()).sum()
    }
}

/// What a link has done since the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct LinkReport {
    /// Packets and bytes whose last bit has left.
    pub sent: (u64, u64),
    /// Packets dropped at its port.
    pub dropped: u64,
    /// Packets that have started, and the ticks that they waited in all.
    pub waited: (u64, u128),
    /// How long was measured.
    pub measured: Span,
    /// The queue over time.
    pub stats: Option<QueueStats>,
}
