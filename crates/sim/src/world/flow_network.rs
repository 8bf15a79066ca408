//! The Flow Network (Zhang 1991, section 2): flows are set up link by link before they send, changed
//! while they run, warned, and torn down from either end.
//!
//! Messages take the propagation delay of the links that they cross, back as well as forth, and no
//! capacity. A source that has stopped tears its flow down when its last packet is through or
//! lost; packets under way when the destination does so are lost.

use super::agenda::Deed;
use super::{Event, World};
use crate::event_queue::EventQueue;
use tidegate_core::admission::signalling::{Act, Message, Next, What, pass};
use tidegate_core::admission::{FlowId, FlowSpec, Refusal};
use tidegate_core::packet::{BodyId, FlowIx};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

/// The index of a flow that is not open at a port.
pub(super) const NOWHERE: FlowIx = FlowIx(u32::MAX);

/// How far a flow's set-up is, as its source knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Open from the start: nobody asks for anything.
    Given,
    /// Not asked for yet.
    New,
    Asked,
    Granted,
    /// With a change under way, by its number.
    Changing(usize),
    /// Refused or torn down.
    Gone,
}

/// What a message about a flow has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was set up.
    Granted,
    /// It was not: at this link of the network, for this reason.
    Refused(usize, Refusal),
    /// Its (AR, AI) changed.
    Changed,
    /// It did not: at this link, for this reason.
    ChangeRefused(usize, Refusal),
    /// A change was due while it could not be asked for: it was not set up, or one was under way.
    ChangeMissed,
    /// It was torn down by its source.
    TornDown,
    /// It was torn down by its destination.
    HungUp,
}

impl Answer {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Granted => "granted",
            Answer::Refused(..) => "refused",
            Answer::Changed => "changed",
            Answer::ChangeRefused(..) => "change refused",
            Answer::ChangeMissed => "change missed",
            Answer::TornDown => "torn down",
            Answer::HungUp => "hung up",
        }
    }
}

/// An answer, when it was known at the flow's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When.
    pub at: Time,
    /// Index of the flow.
    pub flow: u32,
    /// What.
    pub answer: Answer,
}

impl<Q: EventQueue> World<Q> {
    /// Does what is due first.
    pub(super) fn do_deed(&mut self) {
        let Some((at, ix, deed)) = self.agenda.pop() else { return };
        self.now = at;
        match deed {
            Deed::SetUp => self.ask_for_set_up(ix),
            Deed::Change(nth) => self.ask_for_change(ix, nth),
            Deed::Pass(message) => self.pass_link(ix, message),
            Deed::Told(what) => self.source_told(ix, what),
            Deed::Asked(what) => self.destination_asked(ix, what),
            Deed::Warned(lead) => self.hear_warning(ix, lead),
            Deed::Finish => self.finish_flow(ix),
            Deed::HangUp => self.hang_up(ix),
        }
    }

    fn setup(&self, ix: u32) -> &crate::network::FlowSetup {
        &self.setups[ix as usize]
    }

    /// How many links the flow crosses.
    fn links_of(&self, ix: u32) -> u32 {
        let hops = &self.hops[self.flows[ix as usize].first_hop as usize..];
        hops.iter().position(|hop| hop.last).map_or(0, |last| last as u32 + 1)
    }

    /// The delay of the link with this place on the flow's route.
    fn delay_at(&self, ix: u32, place: u32) -> Span {
        let hop = &self.hops[(self.flows[ix as usize].first_hop + place) as usize];
        self.links[hop.link as usize].delay
    }

    fn spec(&self, ix: u32, plan: &FlowPlan) -> FlowSpec {
        let contract = &plan.contract;
        let rate = contract.reserve.map_or(0, |rate| rate.bits_per_second().round() as u64);
        FlowSpec { rate, interval: contract.interval, largest: self.setup(ix).largest }
    }

    fn send(&mut self, after: Span, ix: u32, place: u32, what: What) {
        let message = Message { flow: FlowId(u64::from(ix)), place, what };
        self.agenda.note(self.now + after, ix, Deed::Pass(message));
    }

    fn note(&mut self, ix: u32, answer: Answer) {
        self.signals.push(Signal { at: self.now, flow: ix, answer });
    }

    fn ask_for_set_up(&mut self, ix: u32) {
        self.standings[ix as usize] = Standing::Asked;
        let spec = self.spec(ix, &self.setup(ix).plans[0]);
        self.send(Span::ZERO, ix, 0, What::SetUp(spec));
    }

    fn ask_for_change(&mut self, ix: u32, nth: usize) {
        if self.standings[ix as usize] != Standing::Granted {
            return self.note(ix, Answer::ChangeMissed);
        }
        self.standings[ix as usize] = Standing::Changing(nth);
        let plan = FlowPlan { contract: self.setup(ix).life.changes[nth].contract, ..FlowPlan::default() };
        let spec = self.spec(ix, &plan);
        self.send(Span::ZERO, ix, 0, What::Change(spec));
    }

    fn pass_link(&mut self, ix: u32, message: Message) {
        let links = self.links_of(ix);
        let link = self.setup(ix).route[message.place as usize];
        let (act, next) = pass(&mut self.ledgers[link], message, links);
        match act {
            Act::Nothing => {}
            Act::Promise(_) => self.promise(ix, message.place),
            Act::Close => self.close_at(ix, message.place),
        }
        match next {
            Next::Link(next) => {
                // The link between the two places: the one in front of the farther.
                let after = self.delay_at(ix, message.place.min(next.place));
                self.agenda.note(self.now + after, ix, Deed::Pass(next));
            }
            Next::Destination(what) => {
                let after = self.delay_at(ix, message.place);
                self.agenda.note(self.now + after, ix, Deed::Asked(what));
            }
            Next::Source(what) => self.agenda.note(self.now, ix, Deed::Told(what)),
        }
    }

    /// The switch in front of a link opens the flow or changes its contract.
    fn promise(&mut self, ix: u32, place: u32) {
        let setup = &self.setups[ix as usize];
        let mut plan = setup.plans[place as usize];
        let mut envelope = setup.envelope;
        let hop = &mut self.hops[(self.flows[ix as usize].first_hop + place) as usize];
        let switch = &mut self.nodes[hop.node as usize].switch;
        match self.standings[ix as usize] {
            Standing::Asked => {
                plan.shaper = envelope.filter(|_| place == 0);
                if let Ok(leg) = switch.open(self.now, hop.leg.port, &plan) {
                    hop.leg = leg;
                }
            }
            Standing::Changing(nth) => {
                (plan.contract, envelope) =
                    (setup.life.changes[nth].contract, setup.life.changes[nth].envelope);
                plan.shaper = envelope.filter(|_| place == 0);
                // Ledgers promise no more than schedulers take: building the network checks it.
                let _ = switch.change(self.now, hop.leg, &plan);
            }
            // Its source has given it up meanwhile: its tear-down is on the way.
            Standing::Given | Standing::New | Standing::Granted | Standing::Gone => {}
        }
    }

    fn close_at(&mut self, ix: u32, place: u32) {
        let at = self.flows[ix as usize].first_hop + place;
        let hop = self.hops[at as usize];
        let switch = &mut self.nodes[hop.node as usize].switch;
        if let Some(metered) = switch.metered(hop.leg) {
            self.meters[ix as usize].closed.add(&metered);
        }
        // Its packets leave as they would have: nothing becomes ready.
        _ = switch.close(self.now, hop.leg);
        self.hops[at as usize].leg.flow = NOWHERE;
    }

    fn destination_asked(&mut self, ix: u32, what: What) {
        if matches!(what, What::SetUp(_) | What::Change(_)) {
            let last = self.links_of(ix) - 1;
            let after = self.delay_at(ix, last);
            self.send(after, ix, last, What::Confirm);
        }
    }

    fn source_told(&mut self, ix: u32, what: What) {
        let standing = self.standings[ix as usize];
        match (what, standing) {
            (What::Confirm, Standing::Asked) => {
                self.standings[ix as usize] = Standing::Granted;
                self.note(ix, Answer::Granted);
                let flow = &self.flows[ix as usize];
                let first = self.now + self.first_gaps[ix as usize];
                if first < flow.stop {
                    self.events.set(Event::Source(ix), first);
                }
            }
            (What::Confirm, Standing::Changing(nth)) => {
                self.standings[ix as usize] = Standing::Granted;
                self.note(ix, Answer::Changed);
                let change = &self.setups[ix as usize].life.changes[nth];
                self.conducts[ix as usize].reserve = change.contract.reserve;
                if let Some(times) = change.pace {
                    self.set_pace(ix, times);
                }
            }
            (What::Refuse(place, refusal), Standing::Asked) => {
                self.standings[ix as usize] = Standing::Gone;
                let link = self.setup(ix).route[place as usize];
                self.note(ix, Answer::Refused(link, refusal));
            }
            (What::Refuse(place, refusal), Standing::Changing(_)) => {
                self.standings[ix as usize] = Standing::Granted;
                let link = self.setup(ix).route[place as usize];
                self.note(ix, Answer::ChangeRefused(link, refusal));
            }
            (What::TearDown { .. }, Standing::Asked | Standing::Granted | Standing::Changing(_)) => {
                self.standings[ix as usize] = Standing::Gone;
                self.note(ix, Answer::HungUp);
                self.flows[ix as usize].stop = self.now;
                self.events.set(Event::Source(ix), Time::NEVER);
            }
            _ => {}
        }
    }

    /// The source's pattern is at its end, or its next packet would come after its stop.
    pub(super) fn source_ended(&mut self, ix: u32) {
        let stop = self.flows[ix as usize].stop;
        if stop == Time::NEVER && self.standings[ix as usize] != Standing::Given {
            self.agenda.note(self.now, ix, Deed::Finish);
        }
    }

    fn finish_flow(&mut self, ix: u32) {
        match self.standings[ix as usize] {
            Standing::Given | Standing::New | Standing::Gone => return,
            Standing::Asked | Standing::Granted | Standing::Changing(_) => {}
        }
        if self.is_under_way(ix) {
            let setup = self.setup(ix);
            let again = setup.plans[0].contract.reserve.map(|rate| rate.time_for(setup.largest));
            let after = again.unwrap_or(Span::ZERO).max(Span::from_ticks(1));
            return self.agenda.note(self.now + after, ix, Deed::Finish);
        }
        self.standings[ix as usize] = Standing::Gone;
        self.note(ix, Answer::TornDown);
        self.send(Span::ZERO, ix, 0, What::TearDown { forward: true });
    }

    /// Whether a packet of the flow is still in front of a link.
    fn is_under_way(&self, ix: u32) -> bool {
        let flow = &self.flows[ix as usize];
        let links = self.links_of(ix);
        let counters = |place: u32| {
            let hop = &self.hops[(flow.first_hop + place) as usize];
            self.nodes[hop.node as usize].switch.counters(hop.leg)
        };
        let dropped: u64 = (0..links).map(|place| counters(place).dropped.packets).sum();
        counters(links - 1).sent.packets + dropped < flow.next_sequence
    }

    fn hang_up(&mut self, ix: u32) {
        let links = self.links_of(ix);
        match self.standings[ix as usize] {
            Standing::Given | Standing::Gone => {}
            // It cannot hang up on a flow that has not been answered: it tries again a path's time later.
            Standing::New | Standing::Asked => {
                let path = (0..links).fold(Span::from_ticks(1), |sum, place| sum + self.delay_at(ix, place));
                self.agenda.note(self.now + path, ix, Deed::HangUp);
            }
            Standing::Granted | Standing::Changing(_) => {
                let after = self.delay_at(ix, links - 1);
                self.send(after, ix, links - 1, What::TearDown { forward: false });
            }
        }
    }

    /// A monitor that has just seen this packet sends a warning back to its source.
    pub(super) fn warned(&mut self, body: BodyId, lead: Span) {
        let body = &self.bodies[body.0 as usize];
        let (ix, place) = (body.flow, body.hop - self.flows[body.flow as usize].first_hop);
        let back = (0..place).fold(Span::ZERO, |sum, place| sum + self.delay_at(ix, place));
        self.agenda.note(self.now + back, ix, Deed::Warned(lead));
        self.set_due();
    }
}
