//! The flow table of a port. A flow's index is dense and stable. It is given to another flow only
//! when nothing distinguishes the old flow from a newcomer.

use super::plan::{FlowPlan, PacketSizes};
use super::pool::Claim;
use crate::contract::Contract;
use crate::packet::FlowIx;
use crate::params::Limit;
use crate::queues::Participation;
use crate::ranking::lazy_table::LazyTable;
use crate::shaper::{Ceiling, ShaperPlan};
use crate::stats::Count;
use crate::units::{Rate, Span, Time};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::hint::black_box;

/// State of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// No more arrivals; queued packets are still sent.
    Closing,
    /// Waits until it is forgettable.
    Closed,
}

/// The part of a flow that packets touch, on one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct FlowEntry {
    /// The node of the tree that it is a member of, and its index there.
    pub(super) node: u16,
    pub(super) slot: FlowIx,
    pub(super) state: State,
    /// Participation as set by the driver.
    pub(super) participation: Participation,
    /// True while its ceiling holds it.
    pub(super) held: bool,
    /// True if it has a shaper.
    pub(super) shaped: bool,
    /// True if its contract gives no share of the pool.
    pub(super) transient: bool,
    /// Packets that have arrived. Those sent are these less the dropped ones and those still at the
    /// port.
    pub(super) arrived: Count,
}

impl FlowEntry {
    /// Participation that its scheduler receives.
    pub(super) fn effective_participation(&self) -> Participation {
        match (self.participation, self.held) {
            (Participation::Active, true) => Participation::Held,
            (how, _) => how,
        }
    }
}

/// The flows of a port.
#[derive(Default)]
pub(super) struct FlowTable {
    pub(super) flows: Vec<FlowEntry>,
    /// `None` as long as no flow has terms, was closed, or has lost a packet.
    rare: Option<Box<Rare>>,
}

/// The part of a table that few flows have, and few packets touch.
#[derive(Default)]
struct Rare {
    /// Number of flows with a ceiling.
    with_ceiling: u32,
    /// Flows in [`State::Closing`].
    closing: u32,
    /// By flow; few flows have a shaper.
    shapers: BTreeMap<FlowIx, ShaperPlan>,
    reserves: LazyTable<Option<Rate>>,
    /// Terms of contracts besides the reservation; most flows have none.
    terms: LazyTable<Contract>,
    /// Packet sizes, where known.
    sizes: LazyTable<Option<PacketSizes>>,
    /// Ceilings; most flows never have one.
    ceilings: LazyTable<Option<Ceiling>>,
    /// Backlog of each flow that push-out spares, where planned.
    spared: LazyTable<Option<Limit>>,
    dropped: LazyTable<Count>,
    marked: LazyTable<u64>,
    /// Claim of all flows on the pool.
    claim: Claim,
    /// Closed flows of every node, by the time when they may be forgotten.
    forgettable: Vec<BinaryHeap<Reverse<(Time, FlowIx)>>>,
    /// Closed flows without an index of their own in the tree, by the time when they may be
    /// forgotten.
    unplaced: BinaryHeap<Reverse<(Time, FlowIx)>>,
    /// Packets sent by closed flows whose index was reused.
    forgotten: Count,
}

impl FlowTable {
    /// A value of the rare part; the default where there is none.
    #[inline(always)]
    fn rarely<T: Default>(&self, value: impl FnOnce(&Rare) -> T) -> T {
        self.rare.as_deref().map_or_else(T::default, value)
    }

    /// The rare part, which is made if there is none.
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Returns true if some flow has a ceiling.
    pub(super) fn has_ceilings(&self) -> bool {
        self.rarely(|rare| rare.with_ceiling > 0)
    }

    /// Changes an open flow to [`State::Closing`].
    pub(super) fn begin_closing(&mut self, flow: FlowIx) {
        self.flows[flow.ix()].state = State::Closing;
        self.rare().closing += 1;
    }

    /// Discounts a flow in [`State::Closing`], which will be [retired](Self::retire). Returns true
    /// if there are others.
    pub(super) fn end_closing(&mut self) -> bool {
        let rare = self.rare();
        rare.closing -= 1;
        rare.closing > 0
    }

    /// Claim of all flows on the pool.
    pub(super) fn claim(&self) -> Claim {
        self.rarely(|rare| rare.claim)
    }

    /// Packets sent by closed flows whose index was reused.
    pub(super) fn forgotten(&self) -> Count {
        self.rarely(|rare| rare.forgotten)
    }

    /// Returns the index of a closed flow of this node that is forgettable at `now`, if there is
    /// one.
    pub(super) fn reusable(&mut self, now: Time, node: usize) -> Option<FlowIx> {
        let closed = self.rare.as_mut()?.forgettable.get_mut(node)?;
        let Reverse((at, _)) = closed.peek()?;
        if *at > now {
            return None;
        }
        closed.pop().map(|Reverse((_, flow))| flow)
    }

    /// Returns the index of a closed flow without a place in the tree that is forgettable at `now`,
    /// if there is one.
    pub(super) fn unplaced(&mut self, now: Time) -> Option<FlowIx> {
        let unplaced = &mut self.rare.as_mut()?.unplaced;
        let Reverse((at, _)) = unplaced.peek()?;
        if *at > now {
            return None;
        }
        unplaced.pop().map(|Reverse((_, flow))| flow)
    }

    /// Removes the places of all closed flows in the tree, so that flows of any node may take their
    /// indexes.
    pub(super) fn unplace_all(&mut self) {
        if let Some(rare) = &mut self.rare {
            rare.unplaced.extend(rare.forgettable.drain(..).flatten());
        }
    }

    /// Records that the closed flow has no place in the tree; it may be forgotten at `at`.
    pub(super) fn unplace(&mut self, flow: FlowIx, at: Time) {
        self.rare().unplaced.push(Reverse((at, flow)));
    }

    /// Records that the flow is closed and its queue empty; it may be forgotten at `at`.
    pub(super) fn retire(&mut self, flow: FlowIx, at: Time) {
        self.change(flow, |table| table.flows[flow.ix()].state = State::Closed);
        let entry = &self.flows[flow.ix()];
        let node = usize::from(entry.node);
        let forgettable = &mut self.rare().forgettable;
        if forgettable.len() <= node {
            forgettable.resize_with(node + 1, BinaryHeap::new);
        }
        forgettable[node].push(Reverse((at, flow)));
    }

    /// Prefetches the state that the next packets of these flows need.
    pub(super) fn read_ahead(&self, flows: &[FlowIx]) {
        for flow in flows {
            black_box(self.flows.get(flow.ix()).map(|entry| entry.state));
        }
    }

    /// Counts a marked packet of the flow.
    pub(super) fn count_marked(&mut self, flow: FlowIx) {
        *self.rare().marked.get_mut(flow) += 1;
    }

    /// Number of marked packets of the flow.
    pub(super) fn marked(&self, flow: FlowIx) -> u64 {
        self.rarely(|rare| rare.marked.get(flow))
    }

    /// Counts a dropped packet of the flow.
    pub(super) fn count_dropped(&mut self, flow: FlowIx, len: u32) {
        self.rare().dropped.get_mut(flow).add(len);
    }

    /// Dropped packets of the flow.
    pub(super) fn dropped(&self, flow: FlowIx) -> Count {
        self.rarely(|rare| rare.dropped.get(flow))
    }

    /// The flow's ceiling, if it has one.
    pub(super) fn ceiling(&self, flow: FlowIx) -> Option<Ceiling> {
        self.rarely(|rare| rare.ceilings.get(flow))
    }

    /// The flow's ceiling, mutable for charging.
    pub(super) fn ceiling_mut(&mut self, flow: FlowIx) -> Option<&mut Ceiling> {
        self.rare.as_mut()?.ceilings.get_mut(flow).as_mut()
    }

    /// The flow's contract.
    pub(super) fn contract(&self, flow: FlowIx) -> Contract {
        self.rarely(|rare| Contract { reserve: rare.reserves.get(flow), ..rare.terms.get(flow) })
    }

    pub(super) fn set_contract(&mut self, flow: FlowIx, contract: &Contract) {
        if *contract != self.contract(flow) {
            self.change(flow, |table| {
                let rare = table.rare();
                rare.reserves.set(flow, contract.reserve);
                rare.terms.set(flow, Contract { reserve: None, ..*contract });
            });
        }
    }

    /// Sets the terms of a plan, besides the contract, that determine the flow's claim on the pool.
    pub(super) fn set_claim(&mut self, flow: FlowIx, plan: &FlowPlan) {
        self.change(flow, |table| {
            table.flows[flow.ix()].transient = plan.transient;
            if plan.sizes.is_some() || table.rare.is_some() {
                table.rare().sizes.set(flow, plan.sizes);
            }
        });
    }

    /// Opens the closed flow's index for another flow.
    pub(super) fn reopen(&mut self, flow: FlowIx) {
        self.change(flow, |table| table.flows[flow.ix()].state = State::Open);
    }

    /// Applies a change that affects the flow's claim on the pool.
    fn change(&mut self, flow: FlowIx, change: impl FnOnce(&mut FlowTable)) {
        let before = self.claim_of(flow);
        change(self);
        let after = self.claim_of(flow);
        if let Some(rare) = &mut self.rare {
            rare.claim = rare.claim.plus(after).less(before);
        }
    }

    /// The flow's claim on the pool; zero once it is closed.
    pub(super) fn claim_of(&self, flow: FlowIx) -> Claim {
        let entry = &self.flows[flow.ix()];
        let counts = entry.state != State::Closed && !entry.transient;
        let Some(rare) = self.rare.as_deref().filter(|_| counts) else { return Claim::default() };
        let Some(reserve) = rare.reserves.get(flow) else { return Claim::default() };
        let plan =
            FlowPlan { contract: self.contract(flow), sizes: rare.sizes.get(flow), ..FlowPlan::default() };
        match plan.set_aside() {
            Some(aside) => Claim { aside, rate: 0 },
            None => Claim { aside: Count::default(), rate: reserve.bytes_in_about(Span::from_secs(1)) },
        }
    }

    /// Resets the counters of an index that goes to another flow; `sent` is the count of the
    /// previous one.
    pub(super) fn start_counting(&mut self, flow: FlowIx, sent: Count) {
        self.flows[flow.ix()].arrived = Count::default();
        let rare = self.rare();
        rare.forgotten.merge(sent);
        rare.dropped.set(flow, Count::default());
        rare.marked.set(flow, 0);
    }

    /// Moves the arrival of a packet of `bytes` bytes from one flow to another.
    pub(super) fn credit(&mut self, from: FlowIx, to: FlowIx, bytes: u32) {
        for (flow, sign) in [(from, -1), (to, 1)] {
            let arrived = &mut self.flows[flow.ix()].arrived;
            arrived.packets = arrived.packets.saturating_add_signed(sign);
            arrived.bytes = arrived.bytes.saturating_add_signed(sign * i64::from(bytes));
        }
    }

    /// Empties the lists of closed flows after the tree was replaced, and returns those flows:
    /// their forgettable times are no longer known. They have places in the new tree, or all share
    /// `vacant`, where there never is a packet.
    pub(super) fn unlist_closed(&mut self, vacant: Option<(u16, FlowIx)>) -> Vec<FlowIx> {
        let Some(rare) = &mut self.rare else { return Vec::new() };
        let placed = rare.forgettable.drain(..).flatten();
        let closed: Vec<FlowIx> =
            placed.chain(rare.unplaced.drain()).map(|Reverse((_, flow))| flow).collect();
        if let Some((node, slot)) = vacant {
            for flow in &closed {
                let entry = &mut self.flows[flow.ix()];
                (entry.node, entry.slot) = (node, slot);
            }
        }
        closed
    }

    /// Plan of the flow, without the profiles that it shares.
    pub(super) fn plan_of(&self, flow: FlowIx) -> FlowPlan {
        FlowPlan {
            class: self.flows[flow.ix()].node.checked_sub(1),
            contract: self.contract(flow),
            sizes: self.rarely(|rare| rare.sizes.get(flow)),
            ceiling: self.ceiling(flow).map(|ceiling| ceiling.rate()),
            shaper: self.rarely(|rare| rare.shapers.get(&flow).copied()),
            transient: self.flows[flow.ix()].transient,
            spared: self.spared(flow),
            ..FlowPlan::default()
        }
    }

    /// Backlog of the flow that push-out spares.
    pub(super) fn spared(&self, flow: FlowIx) -> Option<Limit> {
        self.rarely(|rare| rare.spared.get(flow))
    }

    pub(super) fn set_spared(&mut self, flow: FlowIx, spared: Option<Limit>) {
        if spared != self.spared(flow) {
            self.rare().spared.set(flow, spared);
        }
    }

    pub(super) fn set_ceiling(&mut self, flow: FlowIx, rate: Option<Rate>) {
        let before = self.ceiling(flow);
        match (before, rate) {
            (Some(mut ceiling), Some(rate)) => {
                ceiling.change(rate, None);
                self.rare().ceilings.set(flow, Some(ceiling));
            }
            (None, None) => {}
            (before, _) => {
                let rare = self.rare();
                rare.with_ceiling -= u32::from(before.is_some());
                rare.with_ceiling += u32::from(rate.is_some());
                rare.ceilings.set(flow, rate.map(Ceiling::new));
            }
        }
    }

    pub(super) fn set_shaper(&mut self, flow: FlowIx, plan: Option<ShaperPlan>) {
        self.flows[flow.ix()].shaped = plan.is_some();
        match plan {
            Some(plan) => _ = self.rare().shapers.insert(flow, plan),
            None => _ = self.rare().shapers.remove(&flow),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<FlowEntry>() + self.rarely(Rare::memory)
    }
}

impl Rare {
    fn memory(&self) -> usize {
        let closed = self.forgettable.iter().map(BinaryHeap::capacity).sum::<usize>();
        size_of::<Rare>()
            + self.reserves.memory()
            + self.terms.memory()
            + self.sizes.memory()
            + self.ceilings.memory()
            + self.spared.memory()
            + self.dropped.memory()
            + self.marked.memory()
            + self.shapers.len() * (size_of::<FlowIx>() + size_of::<ShaperPlan>())
            + (closed + self.unplaced.capacity()) * size_of::<(Time, FlowIx)>()
    }
}
