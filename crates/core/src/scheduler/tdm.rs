//! Time-division multiplexing, the paper's comparison for VirtualClock (Zhang 1991, sections 3 and
//! 5).
//!
//! Time is divided into frames of `slots` slots, each as long as a packet of `slot` bytes at
//! `rate`. A flow owns as many slots of the frame as its reservation needs, spread evenly, and
//! its packets start at the beginning of its own slots only. A slot whose owner has no packet is
//! wasted.
//!
//! Choices where the paper is silent:
//! - Slots are counted from the time at which the first flow is set up.
//! - A reservation is rounded up to whole slots, and refused when too few are free.
//! - Slots without an owner carry flows without a reservation, first in first out; while every slot
//!   has an owner, such a flow waits.
//! - A packet longer than a slot also takes the slots after its own: `slot` should be the length of
//!   the largest packet. A slot that begins while the link is busy is lost to its owner.
//! - A packet that arrives exactly at the beginning of its slot is sent in it.
//! - Push-out takes the latest arrival.
//! - When the rate changes, slots become longer or shorter from then on, and every flow is assigned
//!   as many as its reservation now needs, in the order of the flows, while slots are free.

use super::{Hold, Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters,
};
use crate::queues::Queues;
use crate::ranking::flow_heap::FlowHeap;
use crate::units::{Rate, Span, Time};

parameters! {
    /// Parameters of time-division multiplexing.
    #[derive(Eq)]
    pub struct TdmParams {
        /// Rate of the slots; without it, the link's
        rate: Option<Rate>,
        /// Length of a slot: the largest packet
        slot: u32 as Size,
        /// Number of slots in a frame, each worth this part of the rate
        slots: u16 as Integer(1, 4096),
    }
}

impl PolicyParams for TdmParams {
    type Policy = Tdm;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tdm",
        title: "Time-division multiplexing",
        role: Role::Scheduler { service: Service::Slotted },
        help: "Gives each flow its own slots of a fixed frame, as many as its reservation needs; a slot \
               whose owner has nothing to send is wasted, and flows without a reservation share the slots \
               without an owner.",
        source: "Zhang 1991, sections 3 and 5.2",
        params: TdmParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: true,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Tdm, Refused> {
        Tdm::new(self)
    }

    fn example() -> TdmParams {
        TdmParams { rate: None, slot: 1500, slots: 20 }
    }

    /// Checks that every packet fits a slot, and that there are slots for every reservation.
    /// Reservations by signalling are booked in bit/s, so each must be a whole number of slots, and
    /// the reservable rate must not exceed that of the free slots.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let rate = self.rate.unwrap_or(node.link);
        let mut owned = 0;
        for (index, member) in node.members.iter().enumerate() {
            if member.largest > self.slot {
                let message =
                    format!("it has packets ({}B) longer than a slot ({}B)", member.largest, self.slot);
                return Err(Fault::of(index, 0, "size", message));
            }
            let Some(reserve) = member.contract.reserve else { continue };
            if member.signalled {
                let slots = slots_worth(reserve, rate, self.slots);
                if (slots - slots.round()).abs() > slots * ROUNDING {
                    let message = format!(
                        "it reserves no whole number of slots, of which {} share {} bit/s",
                        self.slots,
                        rate.bits_per_second().round()
                    );
                    return Err(Fault::of(index, 0, "reserve", message));
                }
                continue;
            }
            let (needed, free) = (slots_needed(reserve, rate, self.slots), u64::from(self.slots) - owned);
            let fitting = free / needed;
            if fitting < member.count {
                let message = format!(
                    "it does not fit: {needed} slots are needed, and {} of {} are free",
                    free - fitting * needed,
                    self.slots
                );
                return Err(Fault::of(index, fitting, "reserve", message));
            }
            owned += needed * member.count;
        }
        let left = rate.bits_per_second() * (f64::from(self.slots) - owned as f64) / f64::from(self.slots);
        match node.reservable {
            Some(reservable) if reservable as f64 > left * (1.0 + ROUNDING) => {
                let message = format!(
                    "the slots carry {} bit/s, and `admission` may reserve {reservable} bit/s",
                    left.floor()
                );
                Err(Fault::at("slots", message))
            }
            _ => Ok(()),
        }
    }
}

/// Stored rates are within 2⁻²⁰ of the configured ones: a whole number of slots stays whole.
const ROUNDING: f64 = 1e-6;

/// Share of a frame that a reservation needs, in slots.
fn slots_worth(reserve: Rate, rate: Rate, slots: u16) -> f64 {
    reserve.bits_per_second() / rate.bits_per_second() * f64::from(slots)
}

/// Number of slots that a reservation needs.
fn slots_needed(reserve: Rate, rate: Rate, slots: u16) -> u64 {
    (slots_worth(reserve, rate, slots) * (1.0 - ROUNDING)).ceil() as u64
}

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Member {
    /// Number of slots that it owns.
    slots: usize,
    reserve: Option<Rate>,
}

/// A frame of slots and their owners.
//= zhang1991 5.2
pub struct Tdm {
    /// The scheduler's own rate, if it has one.
    own_rate: Option<Rate>,
    /// The rate that the frame divides; `None` when it is unknown.
    rate: Option<Rate>,
    /// The length of a slot, in bytes.
    slot_bytes: u32,
    /// The duration of a slot.
    slot: Span,
    /// The beginning of one slot, from which the others are counted.
    began: Option<Time>,
    owners: Vec<u32>,
    members: Vec<Member>,
    /// Flows without a reservation that may send, by the arrival of their first packet.
    datagrams: FlowHeap,
}

impl Tdm {
    /// Creates a frame without owners.
    ///
    /// # Errors
    /// When a slot is beyond the longest span.
    pub fn new(params: &TdmParams) -> Result<Tdm, Refused> {
        let TdmParams { rate: own_rate, slot: slot_bytes, slots } = *params;
        let mut tdm = Tdm {
            own_rate,
            rate: None,
            slot_bytes,
            slot: Span::from_ticks(1),
            began: None,
            owners: vec![NOBODY; usize::from(slots).max(1)],
            members: Vec::new(),
            datagrams: FlowHeap::default(),
        };
        tdm.divide(own_rate);
        Ok(tdm)
    }

    /// Divides this rate into slots from now on.
    fn divide(&mut self, rate: Option<Rate>) {
        self.rate = rate;
        self.slot = rate.map_or(Span::ZERO, |rate| rate.time_for(self.slot_bytes)).max(Span::from_ticks(1));
    }

    /// Number of slots that a reservation needs.
    fn needed(&self, reserve: Option<Rate>) -> Result<usize, Refused> {
        let rate = self.rate.ok_or_else(|| Refused("tdm needs a rate, its own or its link's".into()))?;
        Ok(reserve.map_or(0, |reserve| slots_needed(reserve, rate, self.owners.len() as u16) as usize))
    }

    /// Gives the flow `needed` slots, spread as evenly as the free ones allow.
    //= zhang1991 3
    fn assign(&mut self, flow: FlowIx, needed: usize) {
        let frame = self.owners.len();
        self.owners.iter_mut().filter(|owner| **owner == flow.0).for_each(|owner| *owner = NOBODY);
        for nth in 0..needed {
            let ideal = nth * frame / needed;
            let free = (0..frame).map(|after| (ideal + after) % frame).find(|at| self.owners[*at] == NOBODY);
            if let Some(at) = free {
                self.owners[at] = flow.0;
            }
        }
    }

    /// Returns the first slot that begins at or after `now`: its time, and its position in the
    /// frame.
    fn next_slot(&self, now: Time) -> (Time, usize) {
        let (slot, began) = (self.slot.ticks(), self.began.unwrap_or(now));
        let number = now.since(began).ticks().div_ceil(slot);
        let begins = began + Span::from_ticks(number.saturating_mul(slot));
        (begins, (number % self.owners.len() as u64) as usize)
    }

    /// Returns the flow that would send in the slot at this position.
    fn sender(&self, at: usize, queues: &Queues) -> Option<FlowIx> {
        match self.owners[at] {
            NOBODY => self.datagrams.top().map(|(_, flow)| flow),
            owner => {
                let flow = FlowIx(owner);
                (queues.len(flow) > 0 && queues.takes_part(flow)).then_some(flow)
            }
        }
    }

    /// Updates a flow's place.
    fn refresh(&mut self, flow: FlowIx, queues: &Queues) {
        let reserves = self.members[flow.ix()].reserve.is_some();
        match queues.first(flow) {
            Some(head) if !reserves && queues.takes_part(flow) => {
                self.datagrams.set(flow, (0, head.order));
            }
            _ => self.datagrams.remove(flow),
        }
    }
}

impl Scheduler for Tdm {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if self.own_rate.is_some() || self.rate == rate {
            return;
        }
        // The next slot is the first of the new length.
        if self.rate.is_some() && self.began.is_some() {
            self.began = Some(self.next_slot(now).0);
        }
        self.divide(rate);
        self.owners.fill(NOBODY);
        for flow in 0..self.members.len() {
            let needed = self.needed(self.members[flow].reserve).unwrap_or(0);
            let free = self.owners.iter().filter(|owner| **owner == NOBODY).count();
            self.members[flow].slots = needed.min(free);
            self.assign(FlowIx(flow as u32), needed.min(free));
        }
    }

    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.began.get_or_insert(now);
        let needed = self.needed(contract.reserve)?;
        let owned = self.members.get(flow.ix()).map_or(0, |member| member.slots);
        let free = self.owners.iter().filter(|owner| **owner == NOBODY).count() + owned;
        if needed > free {
            return Err(Refused(format!(
                "{needed} slots are needed, and {free} of {} are free",
                self.owners.len()
            )));
        }
        if self.members.len() <= flow.ix() {
            self.members.resize(flow.ix() + 1, Member { slots: 0, reserve: None });
        }
        self.datagrams.grow_to(flow.0 + 1);
        if needed != owned {
            self.assign(flow, needed);
        }
        let member = &mut self.members[flow.ix()];
        (member.slots, member.reserve) = (needed, contract.reserve);
        self.refresh(flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    fn enqueue(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let (flow, order) = (packet.flow, queues.arriving());
        packet.tag = order;
        if queues.len(flow) == 0 && self.members[flow.ix()].reserve.is_none() && queues.takes_part(flow) {
            self.datagrams.insert(flow, (0, order));
        }
    }

    fn select(&self, now: Time, queues: &Queues) -> Select {
        if queues.is_empty() {
            return Select::Idle;
        }
        let (begins, first) = self.next_slot(now);
        let mut at = begins;
        for after in 0..self.owners.len() {
            if let Some(flow) = self.sender((first + after) % self.owners.len(), queues) {
                return if at == now { Select::Flow(flow) } else { Select::NotBefore(at) };
            }
            at += self.slot;
        }
        match self.datagrams.top() {
            // Every slot has an owner, so flows without a reservation have none.
            Some(_) => Select::NotBefore(Time::NEVER),
            None => Select::Idle,
        }
    }

    fn holds(&self, now: Time, flow: FlowIx, _: &Queues) -> Option<(Hold, Time)> {
        let (begins, first) = self.next_slot(now);
        let owner = if self.members[flow.ix()].reserve.is_some() { flow.0 } else { NOBODY };
        let frame = self.owners.len();
        let after = (0..frame).find(|after| self.owners[(first + after) % frame] == owner);
        let begins = |after: usize| begins + Span::from_ticks(self.slot.ticks().saturating_mul(after as u64));
        let at = after.map_or(Time::NEVER, begins);
        (at > now).then_some((Hold::Slot, at))
    }

    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.refresh(packet.flow, queues);
    }

    fn removed(&mut self, _: &mut Ctx<'_>, packet: &Packet, queues: &Queues, _: Removal) {
        self.refresh(packet.flow, queues);
    }

    fn take_part(&mut self, _: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        self.refresh(flow, queues);
    }

    fn release(&mut self, flow: FlowIx) {
        self.assign(flow, 0);
        self.members[flow.ix()] = Member { slots: 0, reserve: None };
    }

    fn memory(&self) -> usize {
        self.owners.capacity() * size_of::<u32>()
            + self.members.capacity() * size_of::<Member>()
            + self.datagrams.memory()
    }
}
