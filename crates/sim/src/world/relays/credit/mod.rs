//! Credit-based flow control over links (Kung 1997): the sender at a link's port, the receiver at the node at its end.
//!
//! - **VC.** Each flow over a link with credit is a VC of it, numbered in the order of the flows, or all of them are one.
//! - **Sender.** A packet counts as sent when its last bit leaves the port. A VC without credit does not take part in the
//!   port's scheduling (`Absent`): what comes waits there, and back to the flow's host when that is how far credit goes.
//! - **Receiver.** A packet counts as arrived when its last bit is in, and as forwarded when its last bit leaves the next
//!   port, at once at its destination. One that is dropped in between counts as forwarded. Of a multicast packet one copy
//!   is stored, and counts as forwarded when its last copy has left.
//! - **Credit cells** go over the link in the other direction, credit_check cells over the link itself, ahead of what
//!   ports have queued. They are made when they start, with the counts of that moment.
//!
//! Choices where the paper is silent: a packet is a cell, whatever its length; what another relay makes on the way takes
//! no credit where it was not received.

mod figures;
mod link;

pub use figures::{CreditReport, StallReport, VcReport};
use link::CreditLink;

use crate::control::ControlCell;
use crate::network::Network;
use crate::probe::Subject;
use crate::relay::{Crossing, Passage, Relay, RelayCx};
use std::collections::BTreeSet;
use tidegate_core::contract::Refused;
use tidegate_core::credit::Arrival;
use tidegate_core::credit::messages::{CreditCell, CreditCheck, VcIx};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::units::Time;

/// A VC of a link with credit: the link's place among them, and the VC.
#[derive(Clone, Copy, Debug)]
struct Place {
    link: u32,
    vc: VcIx,
}

/// What a hop has to do with credit.
#[derive(Clone, Copy, Debug, Default)]
struct HopVcs {
    /// The VC over which packets leave by it.
    out: Option<Place>,
    /// The VC over which they have come to it.
    into: Option<Place>,
    /// Whether copies of a packet leave by other hops, too.
    forks: bool,
}

/// What a cell of a link's own says.
#[derive(Clone, Copy, Debug)]
enum Message {
    Credit(CreditCell),
    Check(CreditCheck),
}

impl Message {
    /// Whether the sender gets other allocations by it.
    fn allocates(&self) -> bool {
        match self {
            Message::Credit(cell) => cell.records().iter().any(|record| record.allocation.is_some()),
            Message::Check(_) => false,
        }
    }
}

/// The credit of all links that have it.
pub(in crate::world) struct Credit {
    links: Vec<CreditLink>,
    /// By link of the network: the one with credit that it is, and the one whose credit cells it carries.
    forward: Vec<Option<u32>>,
    back: Vec<Option<u32>>,
    /// By hop.
    hops: Vec<HopVcs>,
    /// Bodies of multicast packets that have come over a link with credit, and of packets that were made on the way.
    forked: BTreeSet<BodyId>,
    made_here: BTreeSet<BodyId>,
    /// Links with something to do at a time.
    agenda: BTreeSet<(Time, u32)>,
    /// What is under way on links, with the place of the link that it is about, and free places in it.
    messages: Vec<(u32, Message)>,
    free: Vec<u32>,
}

impl Credit {
    /// The credit of `network`; `None` where no link has it.
    ///
    /// # Errors
    /// When a link with credit has none in the other direction.
    pub(in crate::world) fn new(network: &Network) -> Result<Option<Credit>, Refused> {
        if network.links.iter().all(|link| link.credit.is_none()) {
            return Ok(None);
        }
        let reverse = network.reverse_links();
        let mut credit = Credit {
            links: Vec::new(),
            forward: vec![None; network.links.len()],
            back: vec![None; network.links.len()],
            hops: Vec::new(),
            forked: BTreeSet::new(),
            made_here: BTreeSet::new(),
            agenda: BTreeSet::new(),
            messages: Vec::new(),
            free: Vec::new(),
        };
        for (ix, link) in network.links.iter().enumerate() {
            let Some(plan) = link.credit else { continue };
            let back = reverse[ix].ok_or_else(|| {
                Refused(format!("link {} has credit, and no link back for credit cells", link.name))
            })?;
            let place = credit.links.len() as u32;
            (credit.forward[ix], credit.back[back as usize]) = (Some(place), Some(place));
            let made = CreditLink::new(plan, ix as u32, back).map_err(|why| Refused(why.to_string()))?;
            credit.agenda.extend(made.wakes_at().map(|at| (at, place)));
            credit.links.push(made);
        }
        Ok(Some(credit))
    }

    /// When it is to be woken first.
    pub(in crate::world) fn next(&self) -> Time {
        self.agenda.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// The next hop of the network: of a flow over a link, to which packets come by the hop `from`.
    ///
    /// # Errors
    /// When a link has more VCs than can be told apart.
    pub(in crate::world) fn lay_hop(
        &mut self,
        flow: u32,
        link: usize,
        from: Option<u32>,
        forks: bool,
    ) -> Result<(), Refused> {
        let hop = self.hops.len() as u32;
        let into = from.and_then(|from| self.hops[from as usize].out);
        let out = match self.forward[link] {
            Some(place) => {
                let opened = self.links[place as usize].open(flow, hop);
                Some(Place { link: place, vc: opened.map_err(|why| Refused(why.to_string()))? })
            }
            None => None,
        };
        self.hops.push(HopVcs { out, into, forks });
        Ok(())
    }

    /// What a link of the network has to send of its own, made now.
    pub(in crate::world) fn next_cell(&mut self, cx: &mut RelayCx<'_>, link: u32) -> Option<ControlCell> {
        if let Some(place) = self.back[link as usize]
            && let Some(cell) = self.links[place as usize].receiver.take_credit_cell()
        {
            return Some(self.send(place, Message::Credit(cell)));
        }
        if let Some(place) = self.forward[link as usize] {
            let check = self.links[place as usize].take_check(cx.now());
            self.plan_wake(cx, place);
            if let Some(check) = check {
                return Some(self.send(place, Message::Check(check)));
            }
        }
        let place = self.back[link as usize].filter(|_| cx.queue_of(link).packets == 0)?;
        let repeated = self.links[place as usize].receiver.take_repeat_cell()?;
        Some(self.send(place, Message::Credit(repeated)))
    }

    /// Whether a link of the network has cells of its own that wait, be it until there is nothing else to send.
    pub(in crate::world) fn has_cells(&self, link: u32) -> bool {
        let has_credits = |place: u32| {
            let receiver = &self.links[place as usize].receiver;
            receiver.records_due() > 0 || receiver.repeats_wait()
        };
        let has_check = |place: u32| self.links[place as usize].check_due;
        self.back[link as usize].is_some_and(has_credits) || self.forward[link as usize].is_some_and(has_check)
    }

    fn send(&mut self, place: u32, message: Message) -> ControlCell {
        let id = self.free.pop().unwrap_or(self.messages.len() as u32);
        match self.messages.get_mut(id as usize) {
            Some(free) => *free = (place, message),
            None => self.messages.push((place, message)),
        }
        let link = &mut self.links[place as usize];
        let len = link.plan.credit_cell;
        match message {
            Message::Credit(_) => link.figures.credit_cells.add(len),
            Message::Check(_) => link.figures.check_cells.add(len),
        }
        ControlCell { id: u64::from(id), len }
    }

    /// A cell that a link sent of its own is lost.
    pub(in crate::world) fn cell_lost(&mut self, id: u64) {
        let place = self.messages[id as usize].0;
        self.free.push(id as u32);
        self.links[place as usize].figures.lost_cells += 1;
    }

    /// A cell that a link sent of its own has reached its end.
    pub(in crate::world) fn cell_arrived(&mut self, cx: &mut RelayCx<'_>, id: u64) {
        self.free.push(id as u32);
        let place = self.messages[id as usize].0;
        if self.messages[id as usize].1.allocates() {
            self.count_in_service(cx, place);
        }
        let link = &mut self.links[place as usize];
        match &self.messages[id as usize].1 {
            Message::Credit(cell) => {
                link.credited(cx, cell);
                self.plan_wake(cx, place);
            }
            Message::Check(check) => link.checked(cx, check),
        }
    }

    /// Before an allocation, which does not hold for the packet that a link has started.
    fn count_in_service(&mut self, cx: &mut RelayCx<'_>, place: u32) {
        let link = &mut self.links[place as usize];
        if let Some(hop) = cx.in_service(link.link)
            && let Some(Place { vc, .. }) = self.hops[hop as usize].out
        {
            link.count_in_service(cx, vc);
        }
    }

    /// Sees to it that a link is woken when it has something to do.
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

    /// A packet of a flow leaves the node of `hop`: the VC over which it had come, if it counts as forwarded.
    fn forwarded(&mut self, hop: u32, packet: &Packet) -> Option<Place> {
        let HopVcs { into, forks, .. } = self.hops[hop as usize];
        let into = into?;
        if !self.made_here.is_empty() && self.made_here.remove(&packet.body) {
            return None;
        }
        // The copies that leave before the last one have bodies of their own.
        if forks && !self.forked.remove(&packet.body) {
            return None;
        }
        Some(into)
    }

    /// What is to be recorded over time.
    pub(in crate::world) fn gauges(&self, show: &mut dyn FnMut(Subject, &'static str, f64)) {
        self.links.iter().for_each(|link| link.gauges(show));
    }
}

impl Credit {
    /// A packet is in at a node, before it enters the next port or reaches its receiver.
    pub(in crate::world) fn enter(&mut self, cx: &mut RelayCx<'_>, at: Crossing, packet: &Packet) -> Passage {
        let Some(from) = at.from else {
            if at.to.is_some_and(|hop| self.hops[hop as usize].into.is_some()) {
                self.made_here.insert(packet.body);
            }
            return Passage::Forward;
        };
        let Some(Place { link, vc }) = self.hops[from as usize].out else { return Passage::Forward };
        let link = &mut self.links[link as usize];
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

    /// The last bit of a packet has left the port of `hop`, whose next packet has not started.
    pub(in crate::world) fn leave(&mut self, cx: &mut RelayCx<'_>, hop: u32, packet: &Packet) {
        if let Some(Place { link, vc }) = self.forwarded(hop, packet) {
            self.links[link as usize].left(cx, vc);
        }
        if let Some(Place { link, vc }) = self.hops[hop as usize].out {
            self.links[link as usize].sent(cx, vc);
            self.plan_wake(cx, link);
        }
    }

    /// A packet for which there was a place was dropped at the port of `hop`, or taken by a relay before it. Of a
    /// multicast packet: the last copy.
    pub(in crate::world) fn dropped(&mut self, cx: &mut RelayCx<'_>, hop: u32, packet: &Packet) {
        if let Some(Place { link, vc }) = self.forwarded(hop, packet) {
            self.links[link as usize].left(cx, vc);
        }
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
