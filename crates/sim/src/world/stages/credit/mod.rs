//! Credit-based flow control over links (Kung 1997): the sender at a link's port, the receiver at
//! the node at its end.
//!
//! - **VC.** Each flow over a link with credit is a VC of it, numbered in the order of the flows,
//!   or all of them are one.
//! - **Sender.** A packet counts as sent when its last bit leaves the port. A VC without credit
//!   does not take part in the port's scheduling (`Absent`): its packets wait there, and further
//!   back up to the flow's host where all links have credit.
//! - **Receiver.** A packet counts as arrived when its last bit is in, and as forwarded when its
//!   last bit leaves the next port, at once at its destination. One that is dropped in between
//!   counts as forwarded. Of a multicast packet one copy is stored, and counts as forwarded when
//!   its last copy has left.
//! - **Output pools.** Where VCs of several links share a pool at the output port by which they
//!   leave, it is divided among them as one ([`outputs`]).
//! - **Credit cells** go over the link in the other direction, credit_check cells over the link
//!   itself, ahead of the ports' queues. They are made when they start, with the counts of that
//!   moment.
//! - **Virtual links.** Where switches without credit are between the ends, credit cells go ahead
//!   of their queues, too. A credit_check cell is a packet of its flow there, which keeps its place
//!   among the packets that it counts.
//! - **VCs without credit** have at most their share of a node's memory that credit leaves
//!   ([`memory`]).
//!
//! Choices where the paper is silent: a packet is a cell, whatever its length; packets that another
//! stage makes on the way use no credit where they were not received.

mod cells;
mod figures;
mod hops;
mod link;
mod memory;
mod output;
mod outputs;
mod reports;
mod routes;
mod sent_cell;

pub use figures::{CreditReport, OutputReport, StallReport, VcReport};
use hops::{HopVcs, LinkVc};
use link::CreditLink;
use memory::UncreditedMemory;
use outputs::Outputs;
use sent_cell::SentCell;

use super::setup::{Placed, StageSetup};
use crate::network::Network;
use crate::stage::{Cell, Crossing, Gauges, Interest, Passage, Site, Stage, StageCx};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::contract::Refused;
use tidegate_core::credit::Arrival;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;
use tidegate_formats::{CreditLinks, LinkCredit};

/// A component with a wake-up time, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Waker {
    Link(u32),
    Output(u32),
}

/// Credit of all links that use it.
pub(in crate::world) struct Credit {
    links: Vec<CreditLink>,
    /// By link of the network: its index among those with credit, and those whose credit cells
    /// leave their receiver by it.
    forward: Vec<Option<u32>>,
    back: Vec<Vec<u32>>,
    /// VCs, by hop.
    hops: Vec<HopVcs>,
    /// The VCs of virtual links, by hop behind the sender's that their packets pass; true if the
    /// receiver is at the end of that hop.
    ahead: BTreeMap<u32, (LinkVc, bool)>,
    /// Pools at output ports.
    outputs: Outputs,
    /// Node memory left over by credit.
    uncredited: UncreditedMemory,
    /// Bodies of multicast packets that have come over a link with credit, and of packets that were
    /// made on the way.
    forked: BTreeSet<BodyId>,
    made_here: BTreeSet<BodyId>,
    /// Wake-up times of links and of output pools.
    agenda: BTreeSet<(Time, Waker)>,
    /// Cells under way on links by their numbers, and the free numbers.
    cells: Vec<SentCell>,
    free: Vec<u32>,
}

/// Returns the plans of links with credit; `None` where no link has it.
fn planned(network: &Network) -> Option<&CreditLinks> {
    network.stage_terms.get().filter(|credit: &&CreditLinks| credit.links.iter().any(Option::is_some))
}

impl Credit {
    /// Creates the stage, if any link has credit.
    ///
    /// # Errors
    /// When a link with credit has none in the other direction, or more VCs than can be told apart.
    pub(in crate::world) fn stages(setup: &mut StageSetup<'_>) -> Result<Vec<Placed>, Refused> {
        let StageSetup { network, seed, .. } = *setup;
        let Some(plans) = planned(network) else { return Ok(Vec::new()) };
        let reverse = network.reverse_links();
        let mut credit = Credit {
            links: Vec::new(),
            forward: vec![None; network.links.len()],
            back: vec![Vec::new(); network.links.len()],
            hops: Vec::new(),
            ahead: BTreeMap::new(),
            outputs: Outputs::new(plans),
            uncredited: UncreditedMemory::new(network, plans),
            forked: BTreeSet::new(),
            made_here: BTreeSet::new(),
            agenda: BTreeSet::new(),
            cells: Vec::new(),
            free: Vec::new(),
        };
        for (ix, link) in network.links.iter().enumerate() {
            let Some(LinkCredit { plan, further, .. }) = plans.of(ix) else { continue };
            let way = further.iter().rev().chain([&ix]);
            let back: Option<Box<[u32]>> = way.map(|link| reverse[*link]).collect();
            let back = back.ok_or_else(|| {
                Refused(format!("link {} has credit, and no link back for credit cells", link.name))
            })?;
            let place = credit.links.len() as u32;
            credit.forward[ix] = Some(place);
            credit.back[back[0] as usize].push(place);
            let rng = Rng::named(seed, &format!("credit/{}", link.name));
            let made =
                CreditLink::new(*plan, ix as u32, back, rng).map_err(|why| Refused(why.to_string()))?;
            credit.agenda.extend(made.wakes_at().map(|at| (at, Waker::Link(place))));
            credit.links.push(made);
        }
        for (flow, plan) in (0..).zip(&network.flows) {
            credit.add_flow(network, flow, plan)?;
        }
        credit.outputs.join(&mut credit.links);
        credit.agenda.extend(credit.outputs.wake_ups().map(|(at, place)| (at, Waker::Output(place))));
        Ok(vec![Placed::anywhere(credit)])
    }

    /// Returns the next wake-up time.
    fn next(&self) -> Time {
        self.agenda.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Counts the packet that a link has started, before an allocation, which does not apply to it.
    fn count_in_service(&mut self, cx: &mut StageCx, place: u32) {
        let link = &mut self.links[place as usize];
        if let Some(hop) = cx.in_service(link.link)
            && let Some(LinkVc { vc, .. }) = self.hops[hop as usize].out
        {
            link.count_in_service(cx, vc);
        }
    }

    /// Schedules the wake-up of a link for its next task.
    #[inline(always)]
    fn plan_wake(&mut self, cx: &mut StageCx, place: u32) {
        if self.links[place as usize].is_woken() {
            self.renew_wake(cx, place);
        }
    }

    #[inline(never)]
    fn renew_wake(&mut self, cx: &mut StageCx, place: u32) {
        let link = &mut self.links[place as usize];
        if let Some((before, at)) = link.new_wake() {
            self.agenda.remove(&(before, Waker::Link(place)));
            if at < Time::NEVER {
                self.agenda.insert((at, Waker::Link(place)));
            }
            cx.wake_at(self.next());
        }
    }

    /// Frees the place of a packet, if it has one, that leaves the node of `hop` or was dropped
    /// there.
    #[inline(always)]
    fn forwarded(&mut self, cx: &mut StageCx, hop: HopVcs, packet: &Packet) {
        let HopVcs { into, within, uncontrolled, forks, .. } = hop;
        if let Some(LinkVc { link, vc }) = within
            && !matches!(cx.payload(packet), Payload::Check(_))
        {
            self.links[link as usize].passed_on(cx.now(), vc);
        }
        if into.is_none() && uncontrolled.is_none() {
            return;
        }
        if !self.made_here.is_empty() && self.made_here.remove(&packet.body) {
            return;
        }
        // Copies that leave before the last one have bodies of their own.
        if forks && !self.forked.remove(&packet.body) {
            return;
        }
        if let Some(LinkVc { link, vc }) = into {
            let link = &mut self.links[link as usize];
            let output = self.outputs.of(link, vc);
            link.left(cx, vc, output);
        } else if let Some(vc) = uncontrolled {
            self.uncredited.left(vc);
        }
    }

    /// Like [`enter`](Stage::enter), for a packet that has not come over a link with credit.
    fn enter_without_credit(&mut self, at: &Crossing, packet: &Packet, payload: &Payload) -> Passage {
        let Some(hop) = at.to else { return Passage::Forward };
        let HopVcs { into, within, uncontrolled, forks, .. } = self.hops[hop as usize];
        if into.is_some() {
            self.made_here.insert(packet.body);
        }
        if let Some(vc) = uncontrolled {
            if self.uncredited.arrived(vc) == Arrival::Dropped {
                return Passage::Drop;
            }
            if forks {
                self.forked.insert(packet.body);
            }
        }
        if let Some(LinkVc { link, vc }) = within
            && !matches!(payload, Payload::Check(_))
        {
            self.links[link as usize].vcs[vc.0 as usize].between += 1;
        }
        Passage::Forward
    }
}

impl Stage for Credit {
    fn interest(&self, site: &Site) -> Interest {
        let ends = |hop: u32| self.hops[hop as usize].ends.is_some();
        let Some(hop) = site.to else {
            let receives = site.from.is_some_and(ends);
            return if receives { Interest::FIRST | Interest::ENTER } else { Interest::NONE };
        };
        let HopVcs { out, into, .. } = self.hops[hop as usize];
        if out.is_some() || into.is_some() || ends(hop) || self.uncredited.is_of(site.node) {
            Interest::FIRST | Interest::ENTER | Interest::LEAVE | Interest::DROPPED
        } else {
            Interest::NONE
        }
    }

    fn begin(&self) -> Time {
        self.next()
    }

    fn enter(
        &mut self,
        cx: &mut StageCx,
        at: &Crossing,
        packet: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        let Some(LinkVc { link, vc }) = at.from.and_then(|from| self.hops[from as usize].ends) else {
            return self.enter_without_credit(at, packet, payload);
        };
        let link = &mut self.links[link as usize];
        if link.is_virtual()
            && let Payload::Check(check) = payload
        {
            link.checked(cx, check);
            return Passage::Absorb;
        }
        let output = self.outputs.of(link, vc);
        if link.arrived(cx, vc, output) == Arrival::Dropped {
            return Passage::Drop;
        }
        match at.to {
            None => {
                let output = self.outputs.of(link, vc);
                link.left(cx, vc, output);
            }
            Some(hop) if self.hops[hop as usize].forks => {
                self.forked.insert(packet.body);
            }
            Some(_) => {}
        }
        Passage::Forward
    }

    fn leave(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &mut Packet, _: &mut Payload) {
        let hop = self.hops[hop as usize];
        self.forwarded(cx, hop, packet);
        if let Some(LinkVc { link, vc }) = hop.out {
            self.links[link as usize].sent(cx, vc);
            self.plan_wake(cx, link);
        }
    }

    fn dropped(&mut self, cx: &mut StageCx, _: u32, hop: u32, packet: &mut Packet) {
        self.forwarded(cx, self.hops[hop as usize], packet);
    }

    /// Checks go over the link itself, credit cells back.
    fn cell_links(&self) -> Vec<u32> {
        self.links.iter().flat_map(|link| link.back.iter().copied().chain([link.link])).collect()
    }

    fn next_cell(&mut self, cx: &mut StageCx, link: u32) -> Option<Cell> {
        self.make_cell(cx, link)
    }

    fn has_cells(&self, link: u32) -> bool {
        self.cells_wait(link)
    }

    fn cell_arrived(&mut self, cx: &mut StageCx, _: u32, payload: &Payload) -> Option<u32> {
        if let Payload::Credit(id) = payload { self.take_cell(cx, *id) } else { None }
    }

    fn cell_lost(&mut self, _: &mut StageCx, _: u32, payload: &Payload) {
        if let Payload::Credit(id) = payload {
            self.lose_cell(*id);
        }
    }

    fn wake(&mut self, cx: &mut StageCx) {
        while let Some((at, waker)) = self.agenda.first().copied()
            && at <= cx.now()
        {
            match waker {
                Waker::Link(place) => {
                    if self.links[place as usize].sender_allocates(at) {
                        self.count_in_service(cx, place);
                    }
                    self.links[place as usize].wake(cx);
                    self.plan_wake(cx, place);
                }
                Waker::Output(place) => {
                    let next = self.outputs.allocate(cx, place, &mut self.links);
                    self.agenda.remove(&(at, waker));
                    self.agenda.insert((next, waker));
                }
            }
        }
        cx.wake_at(self.next());
    }

    fn restart_counts(&mut self, cx: &mut StageCx) {
        let now = cx.now();
        self.links.iter_mut().for_each(|link| link.restart_counts(now));
        self.outputs.restart_counts();
    }

    /// Shows the gauges of all links.
    fn gauges(&self, gauges: &mut Gauges<'_>) {
        self.links.iter().for_each(|link| link.gauges(gauges));
        self.outputs.gauges(gauges);
    }
}
