//! DRR++ among hosts, and among the flows of each: fairness is applied first over hosts, and then
//! over flows, as by `dual-srchost` and `dual-dsthost` of CAKE (tc-cake(8), "Flow isolation
//! parameters").
//!
//! New flows are served first, as in [DRR++](super::drr_plus_plus). Old flows take turns in a round
//! of their host, and the hosts that have old flows take turns in a round of their own:
//!
//! ```text
//! a host that gets its first old flow    joins the round of hosts, its deficit ← quantum
//! the first host has deficit ≤ 0         deficit ← deficit + quantum, and it goes to the end
//! it has an old flow, and sends          deficit ← deficit − len, as a new or as an old flow
//! ```
//!
//! The contract's `host` says whose a flow is; flows without it are one host's. With one host the
//! order is that of DRR++.
//!
//! Choices where CAKE's page is silent:
//! - CAKE divides a flow's quantum by the number of its host's backlogged flows. A packet then takes
//!   steps in proportion to that number, and flows of one host alone take turns of a few bytes.
//!   Here there are two rounds, and a packet takes a few steps.
//! - New flows are charged to their host, too. A host that has sent [`LEAD`] quanta more than its
//!   turns allow is not served before others: its new flows join its old ones. So the division among
//!   hosts does not depend on how often flows begin.
//! - Push-out takes the packet that would be sent in the latest round of hosts, as computed when the
//!   flow's latest packet arrived: its flow's quanta, once for each old flow of its host.

use super::drr_plus_plus::{DrrPlusPlus, DrrPlusPlusForm, DrrPlusPlusParams};
use super::host_places::HostPlaces;
use super::old_flows::{OldFlows, quanta};
use super::turns::{Links, Round, Turns};
use crate::contract::{Contract, Refused};
use crate::packet::FlowIx;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use alloc::vec::Vec;

parameters! {
    /// Parameters of DRR++ among hosts.
    #[derive(Copy, Eq)]
    pub struct HostDrrPlusPlusParams {
        /// Quantum: bytes that a host may send in its turn, and a flow in its turn of the host's
        quantum: u32 as Size = 1_514,
        /// A new flow without a packet goes to the old list, or as in Linux only where others are
        form: DrrPlusPlusForm = DrrPlusPlusForm::Rfc,
    }
}

impl PolicyParams for HostDrrPlusPlusParams {
    type Policy = DrrPlusPlus<HostRounds>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "host-drr++",
        title: "DRR++ among hosts",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves backlogged hosts in turns of a quantum of bytes, and the flows of each in turns of \
               its own, flows that have just become backlogged first: fair among hosts first, then among \
               flows. Drops nothing by itself.",
        source: "tc-cake(8), dual-srchost and dual-dsthost; RFC 8290, section 4.2",
        params: HostDrrPlusPlusParams::PARAMS,
        reads: &["host"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<DrrPlusPlus<HostRounds>, Refused> {
        Ok(DrrPlusPlus::new(DrrPlusPlusParams { quantum: self.quantum, form: self.form }))
    }

    fn example() -> HostDrrPlusPlusParams {
        HostDrrPlusPlusParams { quantum: 1_000, form: DrrPlusPlusForm::Rfc }
    }
}

/// Quanta that the new flows of a backlogged host may send before its turn: what a few transfers
/// that begin together send at once, some 10 ms at 10 Mbit/s.
pub const LEAD: i64 = 8;

/// The host of a flow that has none.
const NO_HOST: u32 = u32::MAX;

/// A host with flows.
struct Host {
    /// Its number in the flows' contracts.
    number: Option<u32>,
    /// Number of open flows.
    flows: u32,
    /// Bytes that it may still send in its turn, while it has old flows.
    deficit: i64,
    old: Round,
}

/// Old flows that take turns within their host.
pub struct HostRounds {
    quantum: i64,
    /// Hosts with old flows. The first has a deficit above zero.
    turns: Turns,
    hosts: Vec<Host>,
    places: HostPlaces<Option<u32>>,
    /// The host of each flow.
    of: Vec<u32>,
    links: Links,
}

impl HostRounds {
    /// Returns the place of a host, which gets one if it has none.
    fn place(&mut self, number: Option<u32>) -> u32 {
        let host = Host { number, flows: 0, deficit: 0, old: Round::default() };
        let at = self.places.place(number, &mut self.hosts, host);
        self.turns.grow_to(self.hosts.len() as u32);
        at
    }

    #[inline]
    fn host_of(&self, flow: FlowIx) -> Option<&Host> {
        self.hosts.get(self.of[flow.ix()] as usize)
    }

    #[inline]
    fn first_host(&self) -> Option<&Host> {
        self.turns.first().map(|host| &self.hosts[host.ix()])
    }

    fn quanta(&self, host: u32) -> i64 {
        let host = &self.hosts[host as usize];
        if host.old.len() == 0 { 0 } else { quanta(host.deficit, self.quantum) }
    }

    /// Lets turns of hosts pass until the first may send.
    #[inline]
    fn pass_turns(&mut self) {
        let mut passed = 0;
        while let Some(first) = self.turns.first()
            && self.hosts[first.ix()].deficit <= 0
        {
            self.hosts[first.ix()].deficit += self.quantum;
            self.turns.end_turn();
            passed += 1;
            if passed > self.turns.len() {
                self.skip_host_rounds();
                passed = 0;
            }
        }
    }

    /// Skips all rounds of hosts up to the one in which a host may send.
    #[cold]
    fn skip_host_rounds(&mut self) {
        let rounds = self.turns.iter().map(|host| self.quanta(host.0)).min().unwrap_or(0) - 1;
        if rounds > 0 {
            let more = rounds * self.quantum;
            self.turns.iter().for_each(|host| self.hosts[host.ix()].deficit += more);
            self.turns.skip_rounds(rounds as u64);
        }
    }
}

impl OldFlows for HostRounds {
    type Host = u32;

    fn new(quantum: i64) -> HostRounds {
        HostRounds {
            quantum,
            turns: Turns::default(),
            hosts: Vec::new(),
            places: HostPlaces::default(),
            of: Vec::new(),
            links: Links::default(),
        }
    }

    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        self.links.grow_to(flow.0 + 1);
        if self.of.len() <= flow.ix() {
            self.of.resize(flow.ix() + 1, NO_HOST);
        }
        if self.host_of(flow).is_some_and(|host| host.number == contract.host) {
            return;
        }
        let listed = self.contains(flow);
        self.leave(flow);
        self.release(flow);
        let host = self.place(contract.host);
        self.hosts[host as usize].flows += 1;
        self.of[flow.ix()] = host;
        if listed {
            self.join(flow);
        }
    }

    #[inline]
    fn first(&self) -> Option<FlowIx> {
        self.first_host()?.old.first()
    }

    #[inline]
    fn len(&self) -> u32 {
        self.first_host().map_or(0, |host| host.old.len())
    }

    fn iter(&self) -> impl Iterator<Item = FlowIx> {
        self.turns.first().into_iter().flat_map(|host| self.of_host(host.0))
    }

    #[inline]
    fn contains(&self, flow: FlowIx) -> bool {
        self.links.contains(flow)
    }

    fn join(&mut self, flow: FlowIx) {
        let host = self.of[flow.ix()];
        let Host { old, deficit, .. } = &mut self.hosts[host as usize];
        if old.len() == 0 {
            *deficit = self.quantum;
            self.turns.join(FlowIx(host));
        }
        old.join(&mut self.links, flow);
    }

    fn leave(&mut self, flow: FlowIx) {
        if !self.contains(flow) {
            return;
        }
        let host = self.of[flow.ix()];
        let old = &mut self.hosts[host as usize].old;
        old.leave(&mut self.links, flow);
        if old.len() == 0 {
            self.turns.leave(FlowIx(host));
            self.pass_turns();
        }
    }

    fn end_turn(&mut self) {
        if let Some(host) = self.turns.first() {
            self.hosts[host.ix()].old.end_turn(&mut self.links);
        }
    }

    fn skip_rounds(&mut self, rounds: u64) {
        if let Some(host) = self.turns.first() {
            self.hosts[host.ix()].old.skip_rounds(&mut self.links, rounds);
        }
    }

    fn round_after(&self, flow: FlowIx, turns: u64) -> u64 {
        let host = self.of[flow.ix()];
        let old = self.host_of(flow).map_or(0, |host| host.old.len());
        let round = if old > 0 { self.turns.round(FlowIx(host)) } else { self.turns.next_round() };
        round.saturating_add(turns.saturating_mul(u64::from(old.max(1))))
    }

    #[inline]
    fn host(&self, flow: FlowIx) -> u32 {
        self.of[flow.ix()]
    }

    fn next_host<I: Iterator<Item = FlowIx>>(
        &self,
        joining: impl Fn() -> I,
        waits: impl Fn(&FlowIx) -> bool,
    ) -> Option<u32> {
        let is_new = |host: &u32| self.hosts[*host as usize].old.len() == 0;
        let has_packet = |host: &u32| {
            let joining = joining().filter(|flow| self.host(*flow) == *host);
            self.of_host(*host).chain(joining).any(|flow| waits(&flow))
        };
        let waiting = || {
            let joining = joining().map(|flow| self.host(flow)).filter(is_new);
            self.turns.iter().map(|host| host.0).chain(joining).filter(has_packet)
        };
        let first = waiting().find(|host| self.quanta(*host) == 0);
        first.or_else(|| waiting().min_by_key(|host| self.quanta(*host)))
    }

    fn of_host(&self, host: u32) -> impl Iterator<Item = FlowIx> {
        self.hosts[host as usize].old.iter(&self.links)
    }

    #[inline]
    fn charge(&mut self, flow: FlowIx, len: u32) {
        let host = self.of[flow.ix()];
        let Host { old, deficit, .. } = &mut self.hosts[host as usize];
        if old.len() > 0 {
            *deficit -= i64::from(len);
            self.pass_turns();
        }
    }

    #[inline]
    fn lets_lead(&self, flow: FlowIx) -> bool {
        self.host_of(flow).is_none_or(|host| host.old.len() == 0 || host.deficit > -LEAD * self.quantum)
    }

    fn release(&mut self, flow: FlowIx) {
        let host = core::mem::replace(&mut self.of[flow.ix()], NO_HOST);
        let Some(Host { number, flows, .. }) = self.hosts.get_mut(host as usize) else { return };
        *flows -= 1;
        if *flows == 0 {
            self.places.free(*number);
        }
    }

    fn memory(&self) -> usize {
        self.turns.memory()
            + self.links.memory()
            + self.hosts.capacity() * size_of::<Host>()
            + self.places.memory()
            + self.of.capacity() * size_of::<u32>()
    }
}
