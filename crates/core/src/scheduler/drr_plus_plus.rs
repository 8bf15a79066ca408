//! DRR++ (MacGregor and Shi 2000) as used by FQ-CoDel (RFC 8290): deficit round robin among flows,
//! in which a flow that has just become backlogged is served before the others until it has sent a
//! quantum.
//!
//! ```text
//! a flow that is in no list      joins the new list, deficit ← quantum
//! the first new flow, else the first old one:
//!     deficit ≤ 0                deficit ← deficit + quantum, and it goes to the end of the old list
//!     it has no packet           it goes from the new list to the end of the old one, or out of the old one
//!     else                       its first packet is sent, deficit ← deficit − len
//! ```
//!
//! The classifier distinguishes the flows: there is no hash, and no collision.
//!
//! Choices where the RFC leaves one:
//! - The lists change when a packet is sent, and not when the link finds nothing to send: a flow
//!   whose last packet has been sent keeps its place until another flow's turn comes, even through
//!   an idle period.
//! - When no flow may send before its deficit has grown, the rounds until one may are counted at
//!   once.
//! - A packet that is dropped at the head of its queue is not charged.
//! - Push-out takes the packet that would be sent in the latest round, as computed when the flow's
//!   latest packet arrived; among several, the latest arrival. As quanta are equal, that packet's
//!   flow has the largest backlog in bytes, to within a quantum. (The RFC drops at the head of that
//!   flow's queue, half of it or 64 packets at a time.)
//! - A flow that is **held** keeps its place while it has no packet. A flow that was held with
//!   packets joins the old list with its deficit; a flow that was **absent** joins the new list as
//!   a newcomer.

use super::old_flows::{OldFlows, quanta};
use super::traits::ASK_AGAIN;
use super::turns::Turns;
use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters, words,
};
use crate::queues::{Queued, Queues};
use crate::stats::Count;
use crate::units::Time;
use alloc::vec::Vec;

parameters! {
    /// Parameters of DRR++.
    #[derive(Copy, Eq)]
    pub struct DrrPlusPlusParams {
        /// Quantum: bytes that a flow may send in its turn
        quantum: u32 as Size = 1_514,
        /// A new flow without a packet goes to the old list, or as in Linux only where others are
        form: DrrPlusPlusForm = DrrPlusPlusForm::Rfc,
    }
}

words! {
    /// Form of DRR++.
    pub enum DrrPlusPlusForm {
        /// A new flow without a packet goes to the old list.
        Rfc = "rfc",
        /// It leaves when the old list is empty.
        Linux = "linux",
    }
}

impl PolicyParams for DrrPlusPlusParams {
    type Policy = DrrPlusPlus;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "drr++",
        title: "DRR++",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Serves backlogged flows in turns of a quantum of bytes, flows that have just become \
               backlogged first: the scheduler of FQ-CoDel, which drops nothing by itself.",
        source: "RFC 8290, section 4.2; MacGregor and Shi 2000",
        params: DrrPlusPlusParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<DrrPlusPlus, Refused> {
        Ok(DrrPlusPlus::new(*self))
    }

    fn example() -> DrrPlusPlusParams {
        DrrPlusPlusParams { quantum: 1_000, form: DrrPlusPlusForm::Rfc }
    }
}

#[derive(Clone, Copy, Default)]
struct DrrPlusPlusFlow {
    /// Bytes that it may still send; below zero by less than a packet.
    deficit: i64,
    /// The round in which its latest packet is sent.
    latest: u64,
}

/// DRR++, in which old flows take turns with all others, or first their hosts and then they.
pub struct DrrPlusPlus<O = Turns> {
    quantum: i64,
    form: DrrPlusPlusForm,
    new: Turns,
    old: O,
    flows: Vec<DrrPlusPlusFlow>,
}

impl<O: OldFlows> DrrPlusPlus<O> {
    pub(super) fn new(params: DrrPlusPlusParams) -> DrrPlusPlus<O> {
        let quantum = i64::from(params.quantum.max(1));
        DrrPlusPlus {
            quantum,
            form: params.form,
            new: Turns::default(),
            old: O::new(quantum),
            flows: Vec::new(),
        }
    }

    /// Returns the flow at the head of the lists, and true if it is in the new list.
    #[inline]
    fn first(&self) -> Option<(FlowIx, bool)> {
        match self.new.first() {
            Some(flow) => Some((flow, true)),
            None => self.old.first().map(|flow| (flow, false)),
        }
    }

    /// Number of further quanta after which the flow may send.
    #[inline]
    fn quanta(&self, flow: FlowIx) -> i64 {
        quanta(self.flows[flow.ix()].deficit, self.quantum)
    }

    /// Lets turns pass until that of the selected flow, whose first packet has left its queue.
    #[inline]
    fn pass_turns(&mut self, selected: FlowIx, queues: &Queues) {
        let mut passed = 0;
        while let Some((flow, is_new)) = self.first() {
            let waits = self.flows[flow.ix()].deficit <= 0;
            let leads = !is_new || self.old.lets_lead(flow);
            if !waits && leads && (flow == selected || queues.len(flow) > 0) {
                return;
            }
            if waits {
                self.flows[flow.ix()].deficit += self.quantum;
                passed += 1;
            }
            match (is_new, waits) {
                (true, _) => {
                    self.new.leave(flow);
                    if waits || !leads || self.form == DrrPlusPlusForm::Rfc || self.old.first().is_some() {
                        self.old.join(flow);
                    }
                }
                (false, true) => self.old.end_turn(),
                (false, false) => self.old.leave(flow),
            }
            if passed > self.old.len() && self.new.len() == 0 {
                self.skip_rounds();
                passed = 0;
            }
        }
    }

    /// Skips all rounds up to the one in which a flow may send, after a round in which none may.
    #[cold]
    fn skip_rounds(&mut self) {
        let rounds = self.old.iter().map(|flow| self.quanta(flow)).min().unwrap_or(0) - 1;
        if rounds > 0 {
            self.old.iter().for_each(|flow| self.flows[flow.ix()].deficit += rounds * self.quantum);
            self.old.skip_rounds(rounds as u64);
        }
    }

    /// Returns the flow whose turn comes first, once the turns of others have passed: the first of
    /// those that may send in the earliest round, new flows before old ones.
    #[inline(never)]
    fn foresee(&self, queues: &Queues) -> Select {
        let waits = |flow: &FlowIx| queues.len(*flow) > 0;
        let leads = |flow: &FlowIx| self.quanta(*flow) == 0 && self.old.lets_lead(*flow);
        if let Some(flow) = self.new.iter().find(|flow| waits(flow) && leads(flow)) {
            return Select::Flow(flow);
        }
        // All others join the old ones.
        let Some(host) = self.old.next_host(|| self.new.iter(), waits) else { return Select::Idle };
        let of_host = || {
            let old = self.old.of_host(host).map(|flow| (flow, self.quanta(flow)));
            let joining = self.new.iter().filter(|flow| self.old.host(*flow) == host);
            // With a quantum, if they wait for one.
            let joining = joining.map(|flow| (flow, (self.quanta(flow) - 1).max(0)));
            old.chain(joining).filter(|(flow, _)| waits(flow))
        };
        let first = of_host().find(|(_, quanta)| *quanta == 0);
        let first = first.or_else(|| of_host().min_by_key(|(_, quanta)| *quanta));
        first.map_or(Select::Idle, |(flow, _)| Select::Flow(flow))
    }

    #[inline]
    fn is_listed(&self, flow: FlowIx) -> bool {
        self.new.contains(flow) || self.old.contains(flow)
    }

    fn leave(&mut self, flow: FlowIx) {
        self.new.leave(flow);
        self.old.leave(flow);
    }

    /// Records the round in which the flow sends the packet behind `before` bytes.
    fn note_latest(&mut self, flow: FlowIx, before: u64) {
        let state = &mut self.flows[flow.ix()];
        let wanted = i64::try_from(before).unwrap_or(i64::MAX).saturating_sub(state.deficit);
        let quanta = if wanted < 0 { 0 } else { wanted / self.quantum + 1 };
        state.latest = self.old.round_after(flow, quanta as u64);
    }

    fn join_new(&mut self, flow: FlowIx) {
        self.flows[flow.ix()].deficit = self.quantum;
        self.new.join(flow);
    }
}

impl<O: OldFlows> Scheduler for DrrPlusPlus<O> {
    fn set_flow(&mut self, _: Time, flow: FlowIx, contract: &Contract, _: &Queues) -> Result<(), Refused> {
        self.new.grow_to(flow.0 + 1);
        self.old.set_flow(flow, contract);
        if self.flows.len() <= flow.ix() {
            self.flows.resize(flow.ix() + 1, DrrPlusPlusFlow::default());
        }
        Ok(())
    }

    /// A flow in a list has a turn and a deficit, unlike a newcomer; it leaves at its next turn.
    fn forgettable_at(&self, now: Time, flow: FlowIx, _: &Queues) -> Time {
        if self.is_listed(flow) { now + ASK_AGAIN } else { Time::from_ticks(0) }
    }

    #[inline]
    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        match queues.takes_part(flow) {
            true if !self.is_listed(flow) => self.join_new(flow),
            true => {}
            false if queues.len(flow) == 0 && !self.is_listed(flow) => {
                self.flows[flow.ix()].deficit = self.quantum;
            }
            false => self.leave(flow),
        }
        self.note_latest(flow, queues.bytes_of(flow));
    }

    #[inline]
    fn select(&self, _: Time, queues: &Queues) -> Select {
        match self.first() {
            Some((flow, is_new))
                if self.quanta(flow) == 0
                    && queues.len(flow) > 0
                    && (!is_new || self.old.lets_lead(flow)) =>
            {
                Select::Flow(flow)
            }
            Some(_) => self.foresee(queues),
            None => Select::Idle,
        }
    }

    #[inline]
    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.pass_turns(packet.flow, queues);
        self.flows[packet.flow.ix()].deficit -= i64::from(packet.len);
        self.old.charge(packet.flow, packet.len);
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        let last = queues.last(packet.flow).map_or(0, |last| u64::from(last.packet.len));
        self.note_latest(packet.flow, queues.bytes_of(packet.flow) - last);
    }

    fn rank_to_lose(&self, flow: FlowIx, _: &Queued, behind: Count) -> u64 {
        let quanta = behind.bytes / self.quantum.unsigned_abs();
        self.flows[flow.ix()].latest.saturating_add(quanta)
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        match queues.participation(flow) {
            Participation::Active if queues.len(flow) == 0 || self.is_listed(flow) => return,
            Participation::Active if before == Participation::Held => self.old.join(flow),
            Participation::Active => self.join_new(flow),
            Participation::Held if queues.len(flow) == 0 => return,
            Participation::Held => self.leave(flow),
            Participation::Absent => {
                self.leave(flow);
                self.flows[flow.ix()].deficit = self.quantum;
            }
        }
        let last = queues.last(flow).map_or(0, |last| u64::from(last.packet.len));
        self.note_latest(flow, queues.bytes_of(flow) - last);
    }

    fn release(&mut self, flow: FlowIx) {
        self.leave(flow);
        self.old.release(flow);
    }

    fn gauges(&self, _: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        show("deficit", self.flows[flow.ix()].deficit as f64);
        show("is_new", f64::from(u8::from(self.new.contains(flow))));
    }

    fn memory(&self) -> usize {
        self.new.memory() + self.old.memory() + self.flows.capacity() * size_of::<DrrPlusPlusFlow>()
    }
}
