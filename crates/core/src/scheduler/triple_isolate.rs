//! Triple isolation: fairness over the hosts of both sides, and over the flows between them, as by
//! `triple-isolate` of CAKE (tc-cake(8), "Flow isolation parameters"; Høiland-Jørgensen, Täht and
//! Morton 2018, section 4.2).
//!
//! It is DRR++ in which a flow's quantum is divided by the greater of the numbers of bulk flows that
//! the hosts at its two ends have:
//!
//! ```text
//! a flow that is in no list      joins the new list, deficit ← its quantum
//! the first new flow, else the old one whose turn is next:
//!     deficit ≤ 0                it has a turn in the old list n rounds later, deficit ← deficit + n · its
//!                                quantum
//!     it has no packet           it goes from the new list into the old one, or out of the old one
//!     else                       its first packet is sent, deficit ← deficit − len
//! its quantum                    quantum / max(bulk flows of one host, bulk flows of the other, 1)
//! n                              the greatest power of two of the quanta until its deficit is above 0
//! ```
//!
//! A flow is bulk while it is in the old list, from the first time that it has a packet there. The
//! contract's `host` and `peer` say which hosts a flow has; flows without one are one host's.
//!
//! So a host that sends to many, and one that many send to, have what a host with one flow has. A
//! host with flows to many, each of which has many others, has less than another.
//!
//! Choices where CAKE's page and paper are silent:
//! - A quantum that is divided is exact to 1/65,536 byte. CAKE rounds to bytes at random.
//! - A new flow that has no packet at its turn joins the old list, as in RFC 8290 (section 4.2). In
//!   CAKE it leaves, and its next packet makes it a new flow again.
//! - CAKE gives each flow a quantum in every round, so that a packet takes as many steps as its host
//!   has bulk flows. Here a flow has as many steps as there are ones in the number of rounds that it
//!   waits, as a binary number. Its quanta until the next are those of this one: when other flows of
//!   its hosts have left meanwhile, it waits for the rest of the rounds all the same, and when others
//!   have come, it waits no longer.
//! - In a round, flows have their turns in the order in which they were given them.
//! - The lists change when a packet is about to be sent.
//! - Push-out takes the packet that would be sent in the latest round, as computed when the flow's
//!   latest packet arrived, with the quantum of that time.
//! - A flow that was **held** with packets joins the old list with its deficit; a flow that was
//!   **absent** joins the new list as a newcomer.

use super::host_places::HostPlaces;
use super::later_turns::LaterTurns;
use super::old_flows::quanta;
use super::traits::ASK_AGAIN;
use super::turns::Turns;
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::queues::{Queued, Queues};
use crate::stats::Count;
use crate::units::Time;
use alloc::vec::Vec;

parameters! {
    /// Parameters of triple isolation.
    #[derive(Copy, Eq)]
    pub struct TripleIsolateParams {
        /// Quantum: bytes that a flow may send in its turn while neither of its hosts has another
        quantum: u32 as Size = 1_514,
    }
}

impl PolicyParams for TripleIsolateParams {
    type Policy = TripleIsolate;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "triple-isolate",
        title: "Triple isolation",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves backlogged flows in turns, flows that have just become backlogged first; a flow's \
               quantum is divided by the number of flows of that of its two hosts that has more: fair \
               among the hosts of both sides, then among flows. Drops nothing by itself.",
        source: "tc-cake(8), triple-isolate; Høiland-Jørgensen, Täht and Morton 2018, section 4.2",
        params: TripleIsolateParams::PARAMS,
        reads: &["host", "peer"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<TripleIsolate, Refused> {
        Ok(TripleIsolate::new(self.quantum))
    }

    fn example() -> TripleIsolateParams {
        TripleIsolateParams { quantum: 1_000 }
    }
}

/// Deficits are in parts of a byte.
const PARTS: i64 = 1 << 16;

/// Greatest number of bytes in a queue whose parts are counted.
const MAX_BYTES: u64 = 1 << 46;

/// The end of a flow: its own, or that of its peer. Each end has hosts of its own.
type End = usize;

/// A host with its flows.
struct Host {
    end: End,
    number: Option<u32>,
    /// Number of open flows.
    open: u32,
    /// Number of bulk flows.
    bulk: u32,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    /// Parts of bytes that it may still send; below zero by less than a packet.
    deficit: i64,
    /// The round in which its latest packet is sent.
    latest: u64,
    /// The places of the hosts at its ends, while it is open.
    hosts: Option<[u32; 2]>,
    /// True if it counts among the bulk flows of its hosts.
    bulk: bool,
}

/// Triple isolation.
pub struct TripleIsolate {
    quantum: i64,
    new: Turns,
    old: LaterTurns,
    /// True while it is known that the first flow may send.
    may_send: bool,
    flows: Vec<Flow>,
    hosts: Vec<Host>,
    places: HostPlaces<(End, Option<u32>)>,
}

impl TripleIsolate {
    fn new(quantum: u32) -> TripleIsolate {
        TripleIsolate {
            quantum: i64::from(quantum.max(1)) * PARTS,
            new: Turns::default(),
            old: LaterTurns::default(),
            may_send: false,
            flows: Vec::new(),
            hosts: Vec::new(),
            places: HostPlaces::default(),
        }
    }

    /// Changes the hosts of a flow.
    fn host_mut(&mut self, flow: FlowIx, change: impl Fn(&mut Host)) {
        for host in self.flows[flow.ix()].hosts.into_iter().flatten() {
            change(&mut self.hosts[host as usize]);
        }
    }

    /// Counts a flow of the old list as bulk.
    fn count(&mut self, flow: FlowIx) {
        if !self.flows[flow.ix()].bulk {
            self.flows[flow.ix()].bulk = true;
            self.host_mut(flow, |host| host.bulk += 1);
        }
    }

    /// Counts it no more.
    fn discount(&mut self, flow: FlowIx) {
        if core::mem::take(&mut self.flows[flow.ix()].bulk) {
            self.host_mut(flow, |host| host.bulk -= 1);
        }
    }

    /// The flow's quantum, in parts of a byte.
    fn quantum(&self, flow: FlowIx) -> i64 {
        let Some([own, peer]) = self.flows[flow.ix()].hosts else { return self.quantum };
        match self.hosts[own as usize].bulk.max(self.hosts[peer as usize].bulk) {
            0 | 1 => self.quantum,
            load => (self.quantum / i64::from(load)).max(1),
        }
    }

    #[inline]
    fn first(&self) -> Option<FlowIx> {
        self.new.first().or(self.old.first())
    }

    #[inline]
    fn is_listed(&self, flow: FlowIx) -> bool {
        self.new.contains(flow) || self.old.contains(flow)
    }

    fn leave(&mut self, flow: FlowIx) {
        self.may_send = false;
        self.new.leave(flow);
        self.old.leave(flow);
        self.discount(flow);
    }

    fn join_new(&mut self, flow: FlowIx) {
        self.flows[flow.ix()].deficit = self.quantum(flow);
        self.new.join(flow);
    }

    /// Ends the turn of the first flow, which waits for quanta or has no packet.
    #[inline(never)]
    fn end_turn(&mut self, flow: FlowIx, waits: bool, has_packet: bool) {
        if self.new.contains(flow) {
            self.new.leave(flow);
            if has_packet {
                self.count(flow);
            }
        } else if !waits {
            return self.leave(flow);
        }
        let doublings = if waits { self.give_quanta(flow) } else { 0 };
        self.old.give(flow, doublings);
    }

    /// Gives a flow the greatest power of two of quanta that it must wait for at least, and returns the
    /// power's exponent.
    fn give_quanta(&mut self, flow: FlowIx) -> u32 {
        let quantum = self.quantum(flow);
        let deficit = &mut self.flows[flow.ix()].deficit;
        let doublings = quanta(*deficit, quantum).ilog2();
        *deficit += quantum << doublings;
        doublings
    }

    /// Records the round in which the flow sends the packet behind `before` bytes.
    fn note_latest(&mut self, flow: FlowIx, before: u64) {
        let wanted = before.min(MAX_BYTES) as i64 * PARTS - self.flows[flow.ix()].deficit;
        let quanta = if wanted < 0 { 0 } else { wanted / self.quantum(flow) + 1 };
        self.flows[flow.ix()].latest = self.old.round(flow).saturating_add(quanta.unsigned_abs());
    }
}

impl Scheduler for TripleIsolate {
    fn set_flow(&mut self, _: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.new.grow_to(flow.0 + 1);
        self.old.grow_to(flow.0 + 1);
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, Flow::default());
        }
        let numbers = [contract.host, contract.peer];
        let before = self.flows[flow.ix()].hosts;
        if before.map(|hosts| hosts.map(|host| self.hosts[host as usize].number)) == Some(numbers) {
            return Ok(());
        }
        let bulk = self.flows[flow.ix()].bulk;
        self.forget(flow);
        let place = |end| {
            let (number, none) = (numbers[end], Host { end, number: numbers[end], open: 0, bulk: 0 });
            self.places.place((end, number), &mut self.hosts, none)
        };
        self.flows[flow.ix()].hosts = Some([0, 1].map(place));
        self.host_mut(flow, |host| host.open += 1);
        if bulk {
            self.count(flow);
        }
        Ok(())
    }

    /// A flow in a list has a turn and a deficit, unlike a newcomer; it leaves at its next turn.
    fn forgettable_at(&self, now: Time, flow: FlowIx, _: &Queues) -> Time {
        if self.is_listed(flow) { now + ASK_AGAIN } else { Time::from_ticks(0) }
    }

    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        let listed = self.is_listed(flow);
        match queues.takes_part(flow) {
            true if !listed => self.join_new(flow),
            true if self.old.contains(flow) => self.count(flow),
            true => {}
            false if queues.len(flow) == 0 && !listed => {
                self.flows[flow.ix()].deficit = self.quantum(flow);
            }
            false => self.leave(flow),
        }
        self.note_latest(flow, queues.bytes_of(flow));
    }

    /// Lets turns pass until a flow may send.
    fn advance(&mut self, _: Time, queues: &Queues) {
        if self.may_send || queues.is_empty() {
            let may_send = |flow: FlowIx| self.flows[flow.ix()].deficit > 0 && queues.len(flow) > 0;
            debug_assert!(!self.may_send || self.first().is_some_and(may_send));
            return;
        }
        while let Some(flow) = self.first() {
            if self.new.first().is_none() {
                self.old.begin(flow);
            }
            let (waits, has_packet) = (self.flows[flow.ix()].deficit <= 0, queues.len(flow) > 0);
            if !waits && has_packet {
                self.may_send = true;
                return;
            }
            self.end_turn(flow, waits, has_packet);
        }
    }

    fn select(&self, _: Time, queues: &Queues) -> Select {
        match self.first() {
            Some(flow) if queues.len(flow) > 0 => Select::Flow(flow),
            _ => self.select_before_turns_pass(queues),
        }
    }

    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, _: &Queues) {
        self.may_send = false;
        self.flows[packet.flow.ix()].deficit -= i64::from(packet.len) * PARTS;
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        self.may_send = false;
        let last = queues.last(packet.flow).map_or(0, |last| u64::from(last.packet.len));
        self.note_latest(packet.flow, queues.bytes_of(packet.flow) - last);
    }

    fn rank_to_lose(&self, flow: FlowIx, _: &Queued, behind: Count) -> u64 {
        let quanta = behind.bytes.saturating_mul(PARTS.unsigned_abs()) / self.quantum.unsigned_abs();
        self.flows[flow.ix()].latest.saturating_add(quanta)
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        match queues.participation(flow) {
            Participation::Active if queues.len(flow) == 0 || self.is_listed(flow) => return,
            Participation::Active if before == Participation::Held => {
                self.old.give(flow, 0);
                self.count(flow);
            }
            Participation::Active => self.join_new(flow),
            Participation::Held if queues.len(flow) == 0 => return,
            Participation::Held => self.leave(flow),
            Participation::Absent => {
                self.leave(flow);
                self.flows[flow.ix()].deficit = self.quantum(flow);
            }
        }
        let last = queues.last(flow).map_or(0, |last| u64::from(last.packet.len));
        self.note_latest(flow, queues.bytes_of(flow) - last);
    }

    fn release(&mut self, flow: FlowIx) {
        self.leave(flow);
        self.forget(flow);
    }

    fn gauges(&self, _: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("deficit", self.flows[flow.ix()].deficit as f64 / PARTS as f64);
        show("quantum", self.quantum(flow) as f64 / PARTS as f64);
        show("is_new", f64::from(u8::from(self.new.contains(flow))));
    }

    fn memory(&self) -> usize {
        self.new.memory()
            + self.old.memory()
            + self.flows.capacity() * size_of::<Flow>()
            + self.hosts.capacity() * size_of::<Host>()
            + self.places.memory()
    }
}

impl TripleIsolate {
    /// The first flow that has a packet. Once turns have passed, it is the first of all.
    #[cold]
    fn select_before_turns_pass(&self, queues: &Queues) -> Select {
        let has_packet = |flow: &FlowIx| queues.len(*flow) > 0;
        let first = self.new.iter().find(has_packet).or_else(|| self.old.first_where(has_packet));
        first.map_or(Select::Idle, Select::Flow)
    }

    /// Forgets the hosts of a flow.
    fn forget(&mut self, flow: FlowIx) {
        self.discount(flow);
        self.host_mut(flow, |host| host.open -= 1);
        for host in self.flows[flow.ix()].hosts.take().into_iter().flatten() {
            let Host { end, number, open, .. } = self.hosts[host as usize];
            if open == 0 {
                self.places.free((end, number));
            }
        }
    }
}
