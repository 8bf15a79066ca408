//! The Flow Network (Zhang 1991, section 2): flows are set up link by link before they send,
//! changed while they run, and torn down from either end.
//!
//! Messages take the propagation delay of the links that they cross, in both directions, and no
//! capacity. A source that has stopped tears its flow down when its last packet is through or lost.
//! When the destination hangs up, each link closes the flow as the message passes it on its way to
//! the source: packets waiting there leave as usual, and packets that come later are lost.

mod datagrams;
mod signals;
mod steps;

use datagrams::Datagrams;
pub use signals::{Answer, Signal};
use steps::{Standing, Step};

use super::setup::{Placed, StageSetup};
use crate::fabric::NOWHERE;
use crate::network::FlowSetup;
use crate::stage::{Interest, LinkEvent, Site, Stage, StageCx};
use crate::world::{World, lives};
use std::collections::BTreeMap;
use tidegate_core::admission::signalling::{Act, Message, MessageKind, Next, pass};
use tidegate_core::admission::{FlowId, FlowSpec, Ledger, Stamps};
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::Notice;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Rate, Span, Time};

/// Set-up states of all flows, ledgers of all links, and messages under way.
pub(in crate::world) struct FlowNetwork {
    /// Plan of each flow.
    setups: Vec<FlowSetup>,
    standings: Vec<Standing>,
    /// Start time of each flow.
    starts: Vec<Time>,
    /// Stop time of each flow, if planned.
    stops: Vec<Time>,
    /// One for each link.
    ledgers: Vec<Ledger>,
    datagrams: Option<Datagrams>,
    signals: Vec<Signal>,
    /// Steps by their time, those of one instant in the order in which they were noted.
    agenda: BTreeMap<(Time, u64), (u32, Step)>,
    noted: u64,
}

impl FlowNetwork {
    /// Creates the stage, if flows of the network are set up by signalling.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let network = setup.network;
        if network.policies.is_empty() {
            return Ok(Vec::new());
        }
        let flows = network.flows.len();
        let mut made = FlowNetwork {
            setups: network.flows.clone(),
            standings: Vec::with_capacity(flows),
            starts: Vec::with_capacity(flows),
            stops: Vec::with_capacity(flows),
            ledgers: network.policies.iter().map(|policy| Ledger::new(*policy)).collect(),
            datagrams: network.datagram_window.map(|window| Datagrams::new(network, window)),
            signals: Vec::new(),
            agenda: BTreeMap::new(),
            noted: 0,
        };
        lives(network, setup.seed).for_each(|(start, stop)| made.add_flow(start, stop));
        made.note_window(Time::ORIGIN);
        Ok(vec![Placed::anywhere(made)])
    }

    /// Adds the next flow of the network, with the steps known from the start.
    fn add_flow(&mut self, start: Time, stop: Time) {
        let flow = self.standings.len() as u32;
        let life = self.setups[flow as usize].life.clone();
        self.standings.push(if life.set_up { Standing::New } else { Standing::Given });
        self.starts.push(start);
        self.stops.push(stop);
        if !life.set_up || start >= stop {
            // Open from the start, or its turn in the group came too late.
            return;
        }
        self.note(start, flow, Step::SetUp);
        if stop < Time::NEVER {
            self.note(stop, flow, Step::Finish);
        }
        if let Some(at) = life.hangup {
            self.note(Time::ORIGIN + at, flow, Step::HangUp);
        }
        for (nth, change) in life.changes.iter().enumerate() {
            self.note(Time::ORIGIN + change.at, flow, Step::Change(nth));
        }
    }

    /// Returns the time of the first step; [`Time::NEVER`] when there is none.
    fn next(&self) -> Time {
        self.agenda.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    fn note(&mut self, at: Time, flow: u32, step: Step) {
        self.noted += 1;
        self.agenda.insert((at, self.noted), (flow, step));
    }

    /// Notes the end of the window that begins now.
    fn note_window(&mut self, now: Time) {
        if let Some(ends) = self.datagrams.as_ref().and_then(|datagrams| datagrams.ends(now)) {
            self.note(ends, 0, Step::Measure);
        }
    }

    /// Keeps the volume of the datagrams of the window that ends now.
    fn keep_for_datagrams(&mut self, cx: &StageCx) {
        if let Some(datagrams) = &mut self.datagrams {
            let left = datagrams.left(cx);
            self.ledgers.iter_mut().zip(left).for_each(|(ledger, left)| ledger.limit(left));
        }
        self.note_window(cx.now);
    }

    fn setup(&self, ix: u32) -> &FlowSetup {
        &self.setups[ix as usize]
    }

    /// Returns the number of links that the flow crosses.
    fn links_of(&self, ix: u32) -> u32 {
        self.setup(ix).route.len() as u32
    }

    /// Returns the delay of the link with this place on the flow's route.
    fn delay_at(&self, cx: &StageCx, ix: u32, place: u32) -> Span {
        cx.fabric.links[self.setup(ix).route[place as usize]].line.delay()
    }

    fn spec(&self, ix: u32, plan: &FlowPlan) -> FlowSpec {
        let contract = &plan.contract;
        let rate = contract.reserve.map_or(0, |rate| rate.bits_per_second().round() as u64);
        FlowSpec { rate, interval: contract.interval, largest: self.setup(ix).largest() }
    }

    fn send(&mut self, at: Time, ix: u32, place: u32, kind: MessageKind) {
        let message = Message { flow: FlowId(u64::from(ix)), place, kind };
        self.note(at, ix, Step::Pass(message));
    }

    fn answer(&mut self, now: Time, ix: u32, answer: Answer) {
        self.signals.push(Signal { at: now, flow: ix, answer });
    }

    fn ask_for_set_up(&mut self, now: Time, ix: u32) {
        self.standings[ix as usize] = Standing::Asked;
        let spec = self.spec(ix, &self.setup(ix).plans[0]);
        self.send(now, ix, 0, MessageKind::SetUp(spec));
    }

    fn ask_for_change(&mut self, now: Time, ix: u32, nth: usize) {
        if self.standings[ix as usize] != Standing::Granted {
            return self.answer(now, ix, Answer::ChangeMissed);
        }
        self.standings[ix as usize] = Standing::Changing(nth);
        let plan = FlowPlan { contract: self.setup(ix).life.changes[nth].contract, ..FlowPlan::default() };
        let spec = self.spec(ix, &plan);
        self.send(now, ix, 0, MessageKind::Change(spec));
    }

    /// Returns the stamps at a link on the flow's route. Waiting packets of the flow count as
    /// stamped at its reserved rate, whatever the scheduler.
    fn stamps(&self, cx: &StageCx, ix: u32, place: u32) -> Stamps {
        let hop = &cx.fabric.hops[(cx.hops_of(ix).start + place) as usize];
        let switch = &cx.fabric.nodes[hop.node as usize].switch;
        let passed = if switch.backlog(hop.leg.port).packets == 0 { Time::NEVER } else { cx.now };
        let counters = switch.counters(hop.leg);
        let waits = counters.arrived.bytes - counters.sent.bytes - counters.dropped.bytes;
        let granted = self.ledgers[self.setup(ix).route[place as usize]].granted(FlowId(u64::from(ix)));
        let rate = granted.and_then(|spec| Rate::from_bits_per_second(spec.rate));
        let sent = rate.map_or(Span::ZERO, |rate| rate.time_for(u32::try_from(waits).unwrap_or(u32::MAX)));
        Stamps { passed, latest: cx.now + switch.lead(cx.now, hop.leg).max(sent) }
    }

    fn pass_link(&mut self, cx: &mut StageCx, ix: u32, message: Message) {
        let links = self.links_of(ix);
        let link = self.setup(ix).route[message.place as usize];
        let stamps = self.stamps(cx, ix, message.place);
        let (act, next) = pass(&mut self.ledgers[link], message, links, stamps);
        match act {
            Act::Nothing => {}
            Act::Promise(_) => self.promise(cx, ix, message.place),
            Act::Close => self.close_at(cx, ix, message.place),
        }
        match next {
            Next::Link(next) => {
                // The link between the two places: the one in front of the farther.
                let after = self.delay_at(cx, ix, message.place.min(next.place));
                self.note(cx.now + after, ix, Step::Pass(next));
            }
            Next::Destination(kind) => {
                let after = self.delay_at(cx, ix, message.place);
                self.note(cx.now + after, ix, Step::AtDestination(kind));
            }
            Next::Source(kind) => self.note(cx.now, ix, Step::AtSource(kind)),
        }
    }

    /// Opens the flow at the switch in front of a link, or changes its contract there.
    fn promise(&self, cx: &mut StageCx, ix: u32, place: u32) {
        let setup = self.setup(ix);
        let mut plan = setup.plans[place as usize];
        let hop = cx.hops_of(ix).start + place;
        let link = cx.link_of(hop);
        let hop = &mut cx.fabric.hops[hop as usize];
        let switch = &mut cx.fabric.nodes[hop.node as usize].switch;
        match self.standings[ix as usize] {
            Standing::Asked => {
                plan.shaper = setup.envelope.filter(|_| place == 0);
                if let Ok(leg) = switch.open(cx.now, hop.leg.port, &plan) {
                    hop.leg = leg;
                    cx.report(link, LinkEvent::Opened(ix));
                }
            }
            Standing::Changing(nth) => {
                let change = &setup.life.changes[nth];
                plan.contract = change.contract;
                plan.shaper = change.envelope.filter(|_| place == 0);
                // Ledgers promise no more than schedulers take: building the network checks that.
                let _ = switch.change(cx.now, hop.leg, &plan);
                cx.report(link, LinkEvent::Amended(ix, nth));
                cx.outbox.ask(link);
            }
            // Its source has given it up meanwhile: its tear-down is on the way.
            Standing::Given | Standing::New | Standing::Granted | Standing::Gone => {}
        }
    }

    fn close_at(&self, cx: &mut StageCx, ix: u32, place: u32) {
        let at = (cx.hops_of(ix).start + place) as usize;
        let hop = cx.fabric.hops[at];
        let switch = &mut cx.fabric.nodes[hop.node as usize].switch;
        cx.measures.closed_at_port(hop.link, ix, switch.metered(hop.leg), switch.usage(hop.leg));
        cx.measures.closed_in_class(hop.link, switch.class_of(hop.leg), switch.counters(hop.leg));
        // Its packets leave as usual: nothing becomes ready.
        let before = switch.participation(hop.leg);
        _ = switch.close(cx.now, hop.leg);
        if let Some(how) = before.filter(|_| switch.packet_of(hop.leg).is_some()) {
            if how != Participation::Active {
                // They wait for credit as before.
                _ = switch.take_part(cx.now, hop.leg, how);
            }
            cx.fabric.closing.insert(at as u32, (hop.leg, ix));
        }
        cx.fabric.hops[at].leg.flow = NOWHERE;
        if hop.leg.flow != NOWHERE {
            cx.report(hop.link, LinkEvent::Closed(ix));
        }
    }

    fn destination_asked(&mut self, cx: &StageCx, ix: u32, kind: MessageKind) {
        if matches!(kind, MessageKind::SetUp(_) | MessageKind::Change(_)) {
            let last = self.links_of(ix) - 1;
            let after = self.delay_at(cx, ix, last);
            self.send(cx.now + after, ix, last, MessageKind::Confirm);
        }
    }

    fn source_told(&mut self, cx: &mut StageCx, ix: u32, kind: MessageKind) {
        let standing = self.standings[ix as usize];
        match (kind, standing) {
            (MessageKind::Confirm, Standing::Asked) => {
                self.standings[ix as usize] = Standing::Granted;
                self.answer(cx.now, ix, Answer::Granted);
                cx.notify(ix, Notice::Granted);
            }
            (MessageKind::Confirm, Standing::Changing(nth)) => {
                self.standings[ix as usize] = Standing::Granted;
                self.answer(cx.now, ix, Answer::Changed);
                let change = &self.setup(ix).life.changes[nth];
                cx.notify(ix, Notice::Changed { reserve: change.contract.reserve, pace: change.pace });
            }
            (MessageKind::Refuse(place, refusal), Standing::Asked) => {
                self.standings[ix as usize] = Standing::Gone;
                let link = self.setup(ix).route[place as usize];
                self.answer(cx.now, ix, Answer::Refused(link, refusal));
            }
            (MessageKind::Refuse(place, refusal), Standing::Changing(_)) => {
                self.standings[ix as usize] = Standing::Granted;
                let link = self.setup(ix).route[place as usize];
                self.answer(cx.now, ix, Answer::ChangeRefused(link, refusal));
            }
            (MessageKind::TearDown { .. }, Standing::Asked | Standing::Granted | Standing::Changing(_)) => {
                self.standings[ix as usize] = Standing::Gone;
                self.answer(cx.now, ix, Answer::HungUp);
                cx.notify(ix, Notice::HungUp);
            }
            _ => {}
        }
    }

    fn finish_flow(&mut self, cx: &mut StageCx, ix: u32) {
        match self.standings[ix as usize] {
            Standing::Given | Standing::New | Standing::Gone => return,
            Standing::Asked | Standing::Granted | Standing::Changing(_) => {}
        }
        if self.is_under_way(cx, ix) {
            let setup = self.setup(ix);
            let again = setup.plans[0].contract.reserve.map(|rate| rate.time_for(setup.largest()));
            let after = again.unwrap_or(Span::ZERO).max(Span::from_ticks(1));
            return self.note(cx.now + after, ix, Step::Finish);
        }
        self.standings[ix as usize] = Standing::Gone;
        self.answer(cx.now, ix, Answer::TornDown);
        self.send(cx.now, ix, 0, MessageKind::TearDown { forward: true });
    }

    /// Returns true if a packet of the flow is still in front of a link.
    fn is_under_way(&self, cx: &StageCx, ix: u32) -> bool {
        let hops = cx.hops_of(ix);
        let counters = |hop: u32| {
            let hop = &cx.fabric.hops[hop as usize];
            cx.fabric.nodes[hop.node as usize].switch.counters(hop.leg)
        };
        let dropped: u64 = hops.clone().map(|hop| counters(hop).dropped.packets).sum();
        counters(hops.end - 1).sent.packets + dropped < cx.flows[ix as usize].next_sequence
    }

    fn hang_up(&mut self, cx: &StageCx, ix: u32) {
        let links = self.links_of(ix);
        match self.standings[ix as usize] {
            Standing::Given | Standing::Gone => {}
            // It cannot hang up on a flow that has not been answered: it tries again a path's time
            // later; if the flow has not started, at the first such time from its start on.
            Standing::New | Standing::Asked => {
                let delays = (0..links).map(|place| self.delay_at(cx, ix, place));
                let path = delays.fold(Span::TICK, |sum, delay| sum + delay);
                let until_start = self.starts[ix as usize].since(cx.now);
                let tries = until_start.ticks().div_ceil(path.ticks()).max(1);
                self.note(cx.now + Span::from_ticks(tries.saturating_mul(path.ticks())), ix, Step::HangUp);
            }
            Standing::Granted | Standing::Changing(_) => {
                let after = self.delay_at(cx, ix, links - 1);
                self.send(cx.now + after, ix, links - 1, MessageKind::TearDown { forward: false });
            }
        }
    }
}

impl Stage for FlowNetwork {
    fn interest(&self, _: &Site) -> Interest {
        Interest::NONE
    }

    fn begin(&self) -> Time {
        self.next()
    }

    /// Does the first step that is due.
    fn wake(&mut self, cx: &mut StageCx) {
        if self.next() <= cx.now
            && let Some((_, (ix, step))) = self.agenda.pop_first()
        {
            match step {
                Step::SetUp => self.ask_for_set_up(cx.now, ix),
                Step::Change(nth) => self.ask_for_change(cx.now, ix, nth),
                Step::Pass(message) => self.pass_link(cx, ix, message),
                Step::AtSource(kind) => self.source_told(cx, ix, kind),
                Step::AtDestination(kind) => self.destination_asked(cx, ix, kind),
                Step::Finish => self.finish_flow(cx, ix),
                Step::HangUp => self.hang_up(cx, ix),
                Step::Measure => self.keep_for_datagrams(cx),
            }
        }
        cx.wake_at(self.next());
    }

    fn source_ended(&mut self, cx: &mut StageCx, flow: u32) {
        if self.stops[flow as usize] == Time::NEVER && self.standings[flow as usize] != Standing::Given {
            self.note(cx.now, flow, Step::Finish);
            cx.wake_at(self.next());
        }
    }
}

impl<Q> World<Q> {
    /// Returns the ledgers of bookings on the links; empty without admission.
    pub fn ledgers(&self) -> &[Ledger] {
        self.stage::<FlowNetwork>().map_or(&[], |network| &network.ledgers)
    }

    /// Returns the outcomes of requests, in chronological order.
    pub fn signals(&self) -> &[Signal] {
        self.stage::<FlowNetwork>().map_or(&[], |network| &network.signals)
    }
}
