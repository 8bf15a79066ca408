//! The books of a run, from its packet log alone: the place of every copy of every packet.

use super::credit;
use std::collections::BTreeMap;
use tidegate_core::context::Reason;
use tidegate_core::units::Time;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::{FlowSetup, Network};
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::world::World;

/// A flow's books: packets since the warm-up. Copies are weighted by the destinations that wait for
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    pub sent: u64,
    pub received: u64,
    pub discarded: u64,
    pub dropped: u64,
    pub lost: u64,
    pub absorbed: u64,
    pub missed: u64,
    /// Absorbed copies.
    pub taken: u64,
    /// Still in the network.
    pub under_way: u64,
}

/// A packet at a link of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Port,
    Line,
}

/// A packet.
#[derive(Clone, Debug, Default)]
struct Packet {
    /// Time at which it left its source; `None` while its envelope holds it.
    sent: Option<Time>,
    /// The state of its copies, by link.
    copies: BTreeMap<usize, At>,
    books: Books,
}

/// The route of a flow as a tree.
struct Tree<'n> {
    setup: &'n FlowSetup,
}

impl Tree<'_> {
    fn place(&self, link: usize) -> Option<usize> {
        self.setup.route.iter().position(|on| *on == link)
    }

    fn depth(&self, place: usize) -> usize {
        self.setup.depths.get(place).map_or(place + 1, |depth| usize::from(*depth))
    }

    /// The link before this one.
    fn before(&self, link: usize) -> Option<usize> {
        let place = self.place(link)?;
        let depth = self.depth(place);
        (0..place).rev().find(|before| self.depth(*before) < depth).map(|before| self.setup.route[before])
    }

    /// Number of route ends behind a link. Every link is compared with every other.
    fn behind(&self, link: usize) -> u64 {
        let is_end = |of: usize| self.setup.route.iter().all(|other| self.before(*other) != Some(of));
        let leads_to = |mut of: usize| loop {
            if of == link {
                return true;
            }
            match self.before(of) {
                Some(before) => of = before,
                None => return false,
            }
        };
        self.setup.route.iter().filter(|of| is_end(**of) && leads_to(**of)).count() as u64
    }

    fn ends(&self) -> u64 {
        let is_end = |of: usize| self.setup.route.iter().all(|other| self.before(*other) != Some(of));
        self.setup.route.iter().filter(|of| is_end(**of)).count() as u64
    }
}

impl Packet {
    /// A copy that was at a link is gone. Returns the number of destinations that waited for it. A
    /// copy that never entered a port is the whole packet.
    fn gone(&mut self, tree: &Tree<'_>, link: usize) -> u64 {
        match self.copies.remove(&link) {
            Some(_) => tree.behind(link),
            None => tree.ends(),
        }
    }

    fn note(&mut self, tree: &Tree<'_>, at: Time, link: usize, what: PacketEvent, enveloped: bool) {
        let first = tree.place(link) == Some(0);
        match what {
            PacketEvent::Arrived { .. } => {
                if let Some(before) = tree.before(link)
                    && self.copies.get(&before) == Some(&At::Line)
                {
                    let goes_on = tree.setup.route.iter().filter(|on| tree.before(**on) == Some(before));
                    // The last of the copies to enter a port takes the packet off the line before.
                    let others = goes_on.filter(|on| **on != link && !self.copies.contains_key(on));
                    if others.count() == 0 {
                        self.copies.remove(&before);
                    }
                }
                self.copies.insert(link, At::Port);
                if !(enveloped && first) {
                    self.sent.get_or_insert(at);
                }
            }
            PacketEvent::Released(_) if enveloped && first => _ = self.sent.get_or_insert(at),
            PacketEvent::Departed(_) => _ = self.copies.insert(link, At::Line),
            PacketEvent::Dropped(_, Reason::Shaper) if enveloped && first && self.sent.is_none() => {
                self.copies.remove(&link);
                self.sent = Some(at);
                self.books.discarded += 1;
            }
            PacketEvent::Dropped(..) => {
                self.sent.get_or_insert(at);
                self.books.dropped += 1;
                self.books.missed += self.gone(tree, link);
            }
            PacketEvent::Lost(_) => {
                self.books.lost += 1;
                self.books.missed += self.gone(tree, link);
            }
            PacketEvent::Absorbed(_) => {
                self.sent.get_or_insert(at);
                self.books.absorbed += 1;
                self.books.taken += self.gone(tree, link);
            }
            PacketEvent::Received(_) => {
                self.copies.remove(&link);
                self.books.received += 1;
            }
            PacketEvent::Released(_)
            | PacketEvent::Started { .. }
            | PacketEvent::Woken
            | PacketEvent::Opened(_)
            | PacketEvent::Amended(..)
            | PacketEvent::Closed(_) => {}
        }
    }
}

/// The packet that an entry of the log is about.
fn packet_of(what: PacketEvent) -> Option<(u32, u64)> {
    let id = match what {
        PacketEvent::Arrived { packet, .. } | PacketEvent::Started { packet, .. } => packet,
        PacketEvent::Released(packet)
        | PacketEvent::Departed(packet)
        | PacketEvent::Dropped(packet, _)
        | PacketEvent::Absorbed(packet)
        | PacketEvent::Lost(packet)
        | PacketEvent::Received(packet) => packet,
        PacketEvent::Woken | PacketEvent::Opened(_) | PacketEvent::Amended(..) | PacketEvent::Closed(_) => {
            return None;
        }
    };
    Some((id.flow, id.sequence))
}

/// The books of every flow.
pub fn books(network: &Network, world: &World<Calendar>) -> Vec<Books> {
    let warm_at = Time::ORIGIN + network.warmup;
    let mut packets: BTreeMap<(u32, u64), Packet> = BTreeMap::new();
    for entry in world.log() {
        let Some(id) = packet_of(entry.what) else { continue };
        let setup = &network.flows[id.0 as usize];
        let at_gate = network.gate.as_ref().is_some_and(|gate| gate.links.contains(&setup.route[0]));
        let enveloped = setup.envelope.is_some() && !at_gate;
        let packet = packets.entry(id).or_default();
        packet.note(&Tree { setup }, entry.at, entry.link as usize, entry.what, enveloped);
    }
    let mut books = vec![Books::default(); network.flows.len()];
    for ((flow, _), packet) in packets {
        // A packet that its envelope still holds has not left its source.
        let Some(sent) = packet.sent else { continue };
        if sent < warm_at {
            continue;
        }
        let tree = Tree { setup: &network.flows[flow as usize] };
        let sum = &mut books[flow as usize];
        let of = packet.books;
        sum.sent += 1 - of.discarded;
        sum.received += of.received;
        sum.discarded += of.discarded;
        sum.dropped += of.dropped;
        sum.lost += of.lost;
        sum.absorbed += of.absorbed;
        sum.missed += of.missed;
        sum.taken += of.taken;
        sum.under_way += packet.copies.keys().map(|link| tree.behind(*link)).sum::<u64>();
    }
    books
}

/// Compares the world's counts with the books, flow by flow and link by link.
///
/// # Errors
/// The first count that differs.
pub fn check(network: &Network, world: &World<Calendar>) -> Result<Vec<Books>, String> {
    let books = books(network, world);
    for (ix, (flow, books)) in network.flows.iter().zip(&books).enumerate() {
        let record = &world.records()[ix];
        let counted = Books {
            sent: record.sent.0,
            received: record.received.0,
            discarded: record.discarded,
            dropped: record.dropped,
            lost: world.lost(ix),
            absorbed: record.absorbed,
            missed: world.missed(ix),
            ..books.clone()
        };
        if counted != *books {
            return Err(format!("flow {}: the log has {books:?}, and {counted:?} was counted", flow.name));
        }
        let due = books.sent * u64::from(flow.destinations());
        let found = books.received + books.missed + books.taken + books.under_way;
        if due != found {
            return Err(format!(
                "flow {}: {due} copies were due, and {found} are found: {books:?}",
                flow.name
            ));
        }
    }
    check_links(network, world)?;
    Ok(books)
}

fn check_links(network: &Network, world: &World<Calendar>) -> Result<(), String> {
    let warm_at = Time::ORIGIN + network.warmup;
    let mut own_lost = 0;
    for (ix, link) in network.links.iter().enumerate() {
        let here = || world.log().iter().filter(|entry| entry.link as usize == ix && entry.at >= warm_at);
        let count = |of: &dyn Fn(PacketEvent) -> bool| here().filter(|entry| of(entry.what)).count() as u64;
        let discarded = |what: PacketEvent| {
            let (PacketEvent::Dropped(packet, Reason::Shaper), Some(_)) = (what, packet_of(what)) else {
                return false;
            };
            let setup = &network.flows[packet.flow as usize];
            setup.envelope.is_some() && setup.route[0] == ix
        };
        let report = world.link(ix);
        let counted = (report.sent.0, report.dropped, report.lost);
        let logged = (
            count(&|what| matches!(what, PacketEvent::Departed(_))),
            count(&|what| matches!(what, PacketEvent::Dropped(..)) && !discarded(what)),
            count(&|what| matches!(what, PacketEvent::Lost(_))),
        );
        own_lost += counted.2.saturating_sub(logged.2);
        if counted.0 != logged.0 || counted.1 != logged.1 || counted.2 < logged.2 {
            return Err(format!("link {}: the log has {logged:?}, and {counted:?} was counted", link.name));
        }
        let by_reason: u64 = world.drops(ix).map(|(_, counts)| counts.dropped).sum();
        if by_reason != report.dropped {
            return Err(format!("link {}: {by_reason} drops by reason of {}", link.name, report.dropped));
        }
    }
    // Cells of links' own that were lost are no packets of flows.
    let mut lost_cells = 0;
    lost_cells += credit::lost_cells(world);
    if own_lost != lost_cells {
        return Err(format!(
            "{own_lost} cells of their own were lost on links, and stages count {lost_cells}"
        ));
    }
    Ok(())
}
