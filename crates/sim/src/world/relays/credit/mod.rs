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
//! relay makes on the way use no credit where they were not received.

mod cells;
mod figures;
mod link;
mod memory;
mod reports;

use cells::Cell;
pub use figures::{CreditReport, StallReport, VcReport};
use link::CreditLink;
use memory::{UncreditedMemory, UncreditedVc};

use crate::network::Network;
use crate::probe::Subject;
use crate::relay::{Crossing, Passage, Relay, RelayCx};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidegate_core::contract::Refused;
use tidegate_core::credit::Arrival;
use tidegate_core::credit::messages::VcIx;
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;
use tidegate_formats::LinkCredit;

/// A VC of a link with credit: the link's place among them, and the VC.
#[derive(Clone, Copy, Debug)]
struct Place {
    link: u32,
    vc: VcIx,
}

/// The VCs of a hop.
#[derive(Clone, Copy, Debug, Default)]
struct HopVcs {
    /// The VC over which packets leave by it.
    out: Option<Place>,
    /// The VC whose receiver is at its end: `out`, unless that is a virtual link.
    ends: Option<Place>,
    /// The VC over which they have come to it.
    into: Option<Place>,
    /// The VC of a virtual link whose packets it passes on.
    within: Option<Place>,
    /// Their VC in the memory shared with credit, if they have come without credit.
    uncontrolled: Option<UncreditedVc>,
    /// True if copies of a packet leave by other hops, too.
    forks: bool,
}

/// Credit of all links that use it.
pub(in crate::world) struct Credit {
    links: Vec<CreditLink>,
    /// By link of the network: its index among those with credit, and those whose credit cells
    /// leave their receiver by it.
    forward: Vec<Option<u32>>,
    back: Vec<Vec<u32>>,
    /// By link of the network: credit cells of virtual links that wait for it.
    passing: BTreeMap<u32, VecDeque<u32>>,
    /// VCs, by hop.
    hops: Vec<HopVcs>,
    /// The VCs of virtual links, by hop behind the sender's that their packets pass; true if the
    /// receiver is at the end of that hop.
    ahead: BTreeMap<u32, (Place, bool)>,
    /// Node memory left over by credit.
    uncredited: UncreditedMemory,
    /// Bodies of multicast packets that have come over a link with credit, and of packets that were
    /// made on the way.
    forked: BTreeSet<BodyId>,
    made_here: BTreeSet<BodyId>,
    /// Wake-up times of links.
    agenda: BTreeSet<(Time, u32)>,
    /// Cells under way on links, and the free places in this list.
    cells: Vec<Cell>,
    free: Vec<u32>,
}

impl Credit {
    /// Creates the credit of `network`; `None` where no link has it.
    ///
    /// # Errors
    /// When a link with credit has none in the other direction.
    pub(in crate::world) fn new(network: &Network, seed: u64) -> Result<Option<Credit>, Refused> {
        if network.links.iter().all(|link| link.credit.is_none()) {
            return Ok(None);
        }
        let reverse = network.reverse_links();
        let mut credit = Credit {
            links: Vec::new(),
            forward: vec![None; network.links.len()],
            back: vec![Vec::new(); network.links.len()],
            passing: BTreeMap::new(),
            hops: Vec::new(),
            ahead: BTreeMap::new(),
            uncredited: UncreditedMemory::new(network),
            forked: BTreeSet::new(),
            made_here: BTreeSet::new(),
            agenda: BTreeSet::new(),
            cells: Vec::new(),
            free: Vec::new(),
        };
        for (ix, link) in network.links.iter().enumerate() {
            let Some(LinkCredit { plan, further, .. }) = &link.credit else { continue };
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
            credit.agenda.extend(made.wakes_at().map(|at| (at, place)));
            credit.links.push(made);
        }
        Ok(Some(credit))
    }

    /// Returns the first wake-up time.
    pub(in crate::world) fn next(&self) -> Time {
        self.agenda.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Returns true if VCs without credit share the memory of a node with credit.
    pub(in crate::world) fn shares_memory(&self, node: u32) -> bool {
        self.uncredited.is_of(node)
    }

    /// Adds the next hop of the network: of a flow from a node over a link, to which packets come
    /// by the hop `from`.
    ///
    /// # Errors
    /// When a link has more VCs than can be told apart.
    pub(in crate::world) fn lay_hop(
        &mut self,
        flow: u32,
        node: u32,
        link: usize,
        from: Option<u32>,
        forks: bool,
    ) -> Result<(), Refused> {
        let hop = self.hops.len() as u32;
        let into = from.and_then(|from| self.hops[from as usize].ends);
        let out = match self.forward[link] {
            Some(place) => {
                let opened = self.links[place as usize].open(flow, hop);
                Some(Place { link: place, vc: opened.map_err(|why| Refused(why.to_string()))? })
            }
            None => None,
        };
        let ahead = self.ahead.remove(&hop);
        let ends = match out {
            Some(place) if self.links[place.link as usize].is_virtual() => {
                let further = self.links[place.link as usize].back.len() as u32 - 1;
                self.ahead.extend((1..=further).map(|nth| (hop + nth, (place, nth == further))));
                None
            }
            Some(place) => Some(place),
            None => ahead.and_then(|(place, is_last)| is_last.then_some(place)),
        };
        let uncontrolled = match into {
            Some(_) => None,
            None => self.uncredited.vc_of(flow, node).map_err(|why| Refused(why.to_string()))?,
        };
        let within = ahead.map(|(place, _)| place);
        self.hops.push(HopVcs { out, ends, into, within, uncontrolled, forks });
        Ok(())
    }

    /// Counts the packet that a link has started, before an allocation, which does not apply to it.
    fn count_in_service(&mut self, cx: &mut RelayCx<'_>, place: u32) {
        let link = &mut self.links[place as usize];
        if let Some(hop) = cx.in_service(link.link)
            && let Some(Place { vc, .. }) = self.hops[hop as usize].out
        {
            link.count_in_service(cx, vc);
        }
    }

    /// Schedules the wake-up of a link for its next task.
    #[inline(always)]
    fn plan_wake(&mut self, cx: &mut RelayCx<'_>, place: u32) {
        if self.links[place as usize].is_woken() {
            self.renew_wake(cx, place);
        }
    }

    #[inline(never)]
    fn renew_wake(&mut self, cx: &mut RelayCx<'_>, place: u32) {
        let link = &mut self.links[place as usize];
        if let Some((before, at)) = link.new_wake() {
            self.agenda.remove(&(before, place));
            if at < Time::NEVER {
                self.agenda.insert((at, place));
            }
            cx.wake_at(self.next());
        }
    }

    /// Frees the place of a packet, if it has one, that leaves the node of `hop` or was dropped
    /// there.
    fn forwarded(&mut self, cx: &mut RelayCx<'_>, hop: u32, packet: &Packet) {
        let HopVcs { into, within, uncontrolled, forks, .. } = self.hops[hop as usize];
        if let Some(Place { link, vc }) = within
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
        if let Some(Place { link, vc }) = into {
            self.links[link as usize].left(cx, vc);
        } else if let Some(vc) = uncontrolled {
            self.uncredited.left(vc);
        }
    }

    /// Shows the gauges of all links.
    pub(in crate::world) fn gauges(&self, show: &mut dyn FnMut(Subject, &'static str, f64)) {
        self.links.iter().for_each(|link| link.gauges(show));
    }
}

impl Credit {
    /// Handles a packet at a node, before it enters the next port or reaches its receiver.
    pub(in crate::world) fn enter(&mut self, cx: &mut RelayCx<'_>, at: Crossing, packet: &Packet) -> Passage {
        let Some(Place { link, vc }) = at.from.and_then(|from| self.hops[from as usize].ends) else {
            return self.enter_without_credit(cx, at, packet);
        };
        let link = &mut self.links[link as usize];
        if link.is_virtual()
            && let Payload::Check(check) = cx.payload(packet)
        {
            link.checked(cx, &check);
            return Passage::Absorb;
        }
        if link.arrived(cx, vc) == Arrival::Dropped {
            return Passage::Drop;
        }
        match at.to {
            None => link.left(cx, vc),
            Some(hop) if self.hops[hop as usize].forks => {
                self.forked.insert(packet.body);
            }
            Some(_) => {}
        }
        Passage::Forward
    }

    /// Like [`enter`](Self::enter), for a packet that has not come over a link with credit.
    fn enter_without_credit(&mut self, cx: &RelayCx<'_>, at: Crossing, packet: &Packet) -> Passage {
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
        if let Some(Place { link, vc }) = within
            && !matches!(cx.payload(packet), Payload::Check(_))
        {
            self.links[link as usize].vcs[vc.0 as usize].between += 1;
        }
        Passage::Forward
    }

    /// Handles a packet whose last bit has left the port of `hop`, whose next packet has not
    /// started.
    pub(in crate::world) fn leave(&mut self, cx: &mut RelayCx<'_>, hop: u32, packet: &Packet) {
        self.forwarded(cx, hop, packet);
        if let Some(Place { link, vc }) = self.hops[hop as usize].out {
            self.links[link as usize].sent(cx, vc);
            self.plan_wake(cx, link);
        }
    }

    /// Handles a packet that had a place and was dropped at the port of `hop`, or taken by a relay
    /// before it. For a multicast packet: the last copy.
    pub(in crate::world) fn dropped(&mut self, cx: &mut RelayCx<'_>, hop: u32, packet: &Packet) {
        self.forwarded(cx, hop, packet);
    }
}

impl Relay for Credit {
    fn wake(&mut self, cx: &mut RelayCx<'_>) {
        while let Some((at, place)) = self.agenda.first().copied()
            && at <= cx.now()
        {
            if self.links[place as usize].sender_allocates(at) {
                self.count_in_service(cx, place);
            }
            self.links[place as usize].wake(cx);
            self.plan_wake(cx, place);
        }
        cx.wake_at(self.next());
    }

    fn count_anew(&mut self, cx: &mut RelayCx<'_>) {
        let now = cx.now();
        self.links.iter_mut().for_each(|link| link.count_anew(now));
    }
}
