//! A slow model of every port of a network. From the arrivals in a run's log it derives the starts,
//! departures and drops and their times: packet by packet, in the order of the log.

mod buckets;
mod line;
mod policies;
mod pool;
mod port;
mod rules;
mod tree;

use crate::known;
use pool::Pool;
use port::{Coming, Port};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidegate_core::context::Reason;
use tidegate_core::packet::Colour;
use tidegate_core::params::Carry;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::shaper::Excess;
use tidegate_core::units::Time;
use tidegate_sim::network::{FlowSetup, LinkPlan, Network, NodePlan};
use tidegate_sim::packet_log::{Entry, PacketEvent, PacketId};
use tidegate_sim::source::Traffic;

/// Instants and lengths of time, in ticks.
pub type Ticks = u64;

/// The next drop expected at a switch: link, packet, reason.
type Expected = (u32, PacketId, Reason);

/// The ports of one node, and the memory that they share.
struct Switch {
    links: Vec<usize>,
    pool: Pool,
    /// Numbers the arrivals.
    orders: u64,
    /// The time of its latest entry.
    at: Ticks,
    expected: VecDeque<Expected>,
    /// True if it is not modelled.
    skipped: bool,
}

/// Counts of the checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub starts: u64,
    pub drops: u64,
    pub pushed_out: u64,
    /// Packets that brought something from the hop before.
    pub carried: u64,
    pub skipped: u64,
}

impl Checked {
    pub fn add(&mut self, other: &Checked) {
        self.starts += other.starts;
        self.drops += other.drops;
        self.pushed_out += other.pushed_out;
        self.carried += other.carried;
        self.skipped += other.skipped;
    }
}

/// The model at work.
pub struct Model<'n> {
    network: &'n Network,
    ports: Vec<Port>,
    switches: Vec<Switch>,
    /// Colour with which a packet left a link, if not green.
    colours: BTreeMap<(PacketId, u32), Colour>,
    /// Value that a packet carried when it left a link, if not zero.
    carries: BTreeMap<(PacketId, u32), i64>,
    /// The link before each link of a flow's route.
    before: BTreeMap<(u32, u32), u32>,
    checked: Checked,
}

/// Checks a whole log against the model.
///
/// # Errors
/// The first difference.
pub fn check(network: &Network, log: &[Entry]) -> Result<Checked, String> {
    let mut model = Model::new(network);
    let mut left = log;
    while let [first, rest @ ..] = left {
        // The copies of a multicast packet come to several ports at once.
        let switch = |entry: &Entry| network.links[entry.link as usize].from;
        let is_copy = |entry: &&Entry| {
            matches!(first.what, PacketEvent::Arrived { .. })
                && (entry.at, entry.what, switch(entry)) == (first.at, first.what, switch(first))
        };
        let copies = rest.iter().take_while(is_copy).count();
        model.pass_to(first).and_then(|()| model.step(&left[..=copies])).map_err(|what| {
            let link = &network.links[first.link as usize].name;
            format!("{:?}, link {link}, {:?}: {what}", first.at, first.what)
        })?;
        left = &rest[copies..];
    }
    let until = (Time::ORIGIN + network.duration).ticks();
    for ix in 0..model.switches.len() {
        model.overdue(ix, until + 1).map_err(|what| format!("at the end: {what}"))?;
    }
    Ok(model.checked)
}

/// The smallest and the largest packet of a flow on links, where its source states them.
fn sizes(flow: &FlowSetup) -> Option<(u32, u32)> {
    /// A cell of ATM, with its header.
    const CELL: u32 = 53;
    let lengths: Vec<u32> = match &flow.traffic {
        _ if flow.aal5 => vec![CELL],
        Traffic::Cbr { sizes, .. }
        | Traffic::Poisson { sizes, .. }
        | Traffic::Trains { sizes, .. }
        | Traffic::Greedy { sizes, .. } => sizes.to_vec(),
        Traffic::Recorded { flow, .. } => flow.packets.iter().map(|(_, len)| *len).collect(),
        Traffic::Video(playing) => {
            // A frame is cut from its beginning; its last packet is the remainder.
            let left = |frame: u32| (0..frame).step_by(playing.size as usize).map(move |sent| frame - sent);
            playing
                .video
                .frames
                .iter()
                .flat_map(|frame| left(*frame))
                .map(|left| left.min(playing.size))
                .collect()
        }
        Traffic::Endpoint(_) | Traffic::Outside(_) => Vec::new(),
    };
    Some((*lengths.iter().min()?, *lengths.iter().max()?))
}

/// The link before each link of a flow's way.
pub fn links_before(route: &[usize], depths: &[u16]) -> Vec<Option<usize>> {
    let depth = |ix: usize| depths.get(ix).copied().unwrap_or(ix as u16 + 1);
    let before = |ix: usize| (0..ix).rev().find(|other| depth(*other) + 1 == depth(ix));
    (0..route.len()).map(|ix| before(ix).map(|before| route[before])).collect()
}

/// The switches that are not modelled. Colours that an envelope gives there, and values that
/// packets carry from there, are unknown.
pub fn skipped(network: &Network) -> BTreeSet<usize> {
    let mut skipped: BTreeSet<usize> = (0..network.nodes.len())
        .filter(|switch| {
            known::what_is_held_is_not_modelled(network, *switch)
                || known::turns_of_what_is_held_are_not_modelled(network, *switch)
                || known::others_follow_it(network, *switch)
                || known::marks_are_not_modelled(network, *switch)
        })
        .collect();
    let marks = |flow: &FlowSetup| flow.envelope.is_some_and(|envelope| envelope.excess == Excess::Mark);
    let carries = |kind: &SchedulerKind| kind.record().carries != Carry::Nothing;
    let carry = |flow: &FlowSetup| {
        let mut ports = flow.route.iter().map(|link| &network.links[*link].port);
        ports.any(|port| {
            carries(&port.scheduler) || port.classes.iter().any(|class| carries(&class.scheduler))
        })
    };
    loop {
        let before = skipped.len();
        for flow in network.flows.iter().filter(|flow| marks(flow) || carry(flow)) {
            let way = || flow.route.iter().map(|link| network.links[*link].from);
            if way().any(|switch| skipped.contains(&switch)) {
                skipped.extend(way());
            }
        }
        if skipped.len() == before {
            return skipped;
        }
    }
}

impl<'n> Model<'n> {
    fn new(network: &'n Network) -> Model<'n> {
        let origin = Time::ORIGIN.ticks();
        let until = origin + network.duration.ticks();
        let skipped = skipped(network);
        let port = |link: &LinkPlan| {
            let line = line::Line::new(link.rate, link.pace.trace(), until);
            Port::new(origin, &link.port, line)
        };
        let switch = |(ix, node): (usize, &NodePlan)| Switch {
            links: (0..network.links.len()).filter(|link| network.links[*link].from == ix).collect(),
            pool: Pool::new(node.buffer, network.push_out),
            orders: 0,
            at: origin,
            expected: VecDeque::new(),
            skipped: skipped.contains(&ix),
        };
        let mut model = Model {
            network,
            ports: network.links.iter().map(port).collect(),
            switches: network.nodes.iter().enumerate().map(switch).collect(),
            colours: BTreeMap::new(),
            carries: BTreeMap::new(),
            before: BTreeMap::new(),
            checked: Checked::default(),
        };
        for (ix, flow) in network.flows.iter().enumerate() {
            for (link, before) in flow.route.iter().zip(links_before(&flow.route, &flow.depths)) {
                if let Some(before) = before {
                    model.before.insert((ix as u32, *link as u32), before as u32);
                }
                if !flow.life.set_up {
                    model.open(origin, ix as u32, *link);
                }
            }
        }
        model
    }

    fn open(&mut self, now: Ticks, flow: u32, link: usize) {
        let setup = &self.network.flows[flow as usize];
        let place = setup.route.iter().position(|other| *other == link).expect("a link of its route");
        let envelope = setup.envelope.filter(|_| place == 0);
        self.ports[link].open(now, flow, &setup.plans[place], sizes(setup), envelope);
    }

    /// Time passes at a switch until an entry: nothing was due before.
    fn pass_to(&mut self, entry: &Entry) -> Result<(), String> {
        let switch = self.network.links[entry.link as usize].from;
        if entry.at.ticks() > self.switches[switch].at {
            self.overdue(switch, entry.at.ticks())?;
            self.switches[switch].at = entry.at.ticks();
        }
        Ok(())
    }

    /// Returns an error if an event of a switch was due before `before` and has not happened.
    fn overdue(&self, switch: usize, before: Ticks) -> Result<(), String> {
        let Switch { links, at, expected, skipped, .. } = &self.switches[switch];
        if *skipped {
            return Ok(());
        }
        if let Some(missing) = expected.front() {
            return Err(format!("this was to be dropped: {missing:?}"));
        }
        for link in links {
            let name = &self.network.links[*link].name;
            let late = |due: Ticks, what: &str| {
                Err(format!("{what} at {name} was due at {:?}", Time::from_ticks(due)))
            };
            let port = &self.ports[*link];
            match (port.next_start(*at), port.next_release(), &port.serving) {
                (Some(due), _, _) if due < before => return late(due, "a start"),
                (_, Some((due, _, flow)), _) if due < before => {
                    return late(due, &format!("a release of flow {flow}"));
                }
                (_, _, Some(serving)) if serving.until < before => {
                    return late(serving.until, "a departure");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Compares an entry, or the entries for the copies of one packet, with the model.
    fn step(&mut self, entries: &[Entry]) -> Result<(), String> {
        let Entry { at, link, what } = entries[0];
        let (now, ix) = (at.ticks(), link as usize);
        let switch = self.network.links[ix].from;
        if self.switches[switch].skipped {
            self.checked.skipped += u64::from(matches!(what, PacketEvent::Started { .. }));
            return Ok(());
        }
        match what {
            PacketEvent::Arrived { packet, len } => {
                let links: Vec<usize> = entries.iter().map(|entry| entry.link as usize).collect();
                self.arrive(now, switch, &links, packet, len)
            }
            PacketEvent::Started { packet, queued, .. } => {
                self.nothing_expected(switch)?;
                let serving = self.ports[ix].start(now)?;
                self.checked.starts += 1;
                same("the packet that starts", serving.packet, packet)?;
                same("when it was queued", Time::from_ticks(serving.queued.arrived), queued)
            }
            PacketEvent::Departed(packet) => {
                self.nothing_expected(switch)?;
                let served = self.ports[ix].finish().ok_or("nothing was being sent")?;
                same("the packet in service", served.packet, packet)?;
                same("its last bit's time", Time::from_ticks(served.until), at)?;
                if served.queued.carry != 0 {
                    self.carries.insert((packet, link), served.queued.carry);
                }
                if served.queued.colour != Colour::Green {
                    self.colours.insert((packet, link), served.queued.colour);
                }
                self.switches[switch].pool.release(packet, served.queued.len);
                Ok(())
            }
            PacketEvent::Dropped(packet, reason) => {
                let expected = self.switches[switch].expected.pop_front();
                self.checked.drops += 1;
                self.checked.pushed_out += u64::from(reason == Reason::PushedOut);
                same("what is dropped", expected, Some((link, packet, reason)))
            }
            PacketEvent::Woken => {
                self.nothing_expected(switch)?;
                let at = &mut self.switches[switch];
                for (packet, reason, len) in self.ports[ix].release(now, &mut at.orders) {
                    at.expected.push_back((link, packet, reason));
                    at.pool.release(packet, len);
                }
                Ok(())
            }
            PacketEvent::Opened(flow) => {
                self.open(now, flow, ix);
                Ok(())
            }
            PacketEvent::Amended(flow, nth) => {
                let change = &self.network.flows[flow as usize].life.changes[nth];
                self.ports[ix].change(now, flow, change)
            }
            PacketEvent::Closed(flow) => self.ports[ix].close(flow),
            // Lines are checked along the ways of packets.
            PacketEvent::Released(_)
            | PacketEvent::Absorbed(_)
            | PacketEvent::Lost(_)
            | PacketEvent::Received(_) => Ok(()),
        }
    }

    fn nothing_expected(&self, switch: usize) -> Result<(), String> {
        match self.switches[switch].expected.front() {
            None => Ok(()),
            Some(missing) => Err(format!("this was to be dropped: {missing:?}")),
        }
    }

    /// A packet's last bit is in for these links.
    fn arrive(
        &mut self,
        now: Ticks,
        switch: usize,
        links: &[usize],
        packet: PacketId,
        len: u32,
    ) -> Result<(), String> {
        self.nothing_expected(switch)?;
        let at = &mut self.switches[switch];
        at.pool.store(packet, len, links.len());
        for link in links {
            let before = self.before.get(&(packet.flow, *link as u32));
            let colour = before.and_then(|before| self.colours.get(&(packet, *before)));
            let carry = before.and_then(|before| self.carries.get(&(packet, *before)));
            self.checked.carried += u64::from(carry.is_some());
            let coming = Coming {
                packet,
                len,
                carry: carry.copied().unwrap_or(0),
                colour: colour.copied().unwrap_or(Colour::Green),
            };
            if let Err(reason) = self.ports[*link].arrive(now, coming, &mut at.orders) {
                at.expected.push_back((*link as u32, packet, reason));
                at.pool.release(packet, len);
            }
        }
        let mut victims = VecDeque::new();
        while at.pool.is_exhausted()
            && let Some((link, victim, len)) =
                pool::push_out(now, &mut self.ports, &at.links, &at.pool, links, packet.flow)
        {
            at.pool.release(victim, len);
            victims.push_back((link as u32, victim, Reason::PushedOut));
        }
        at.expected.append(&mut victims);
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, modelled: T, logged: T) -> Result<(), String> {
    if modelled == logged {
        Ok(())
    } else {
        Err(format!("{what}: {modelled:?} by the model, {logged:?} in the log"))
    }
}
