//! Time-division multiplexing: what VirtualClock is compared with (Zhang 1991, sections 3 and 5).
//!
//! Time is divided into frames of `slots` slots, each as long as a packet of `slot` bytes at
//! `rate`. A flow owns as many slots of the frame as its reservation needs, spread evenly, and
//! its packets start at the beginning of its own slots only. A slot whose owner has nothing to
//! send is wasted.
//!
//! Choices where the paper is silent:
//! - Slots are counted from when the first flow is set up.
//! - A reservation is rounded up to whole slots, and refused when too few are free.
//! - Slots without an owner carry flows without a reservation, first in first out.
//! - A packet longer than a slot also takes the slots behind its own: `slot` should be the
//!   largest packet. A slot that begins while the link is busy is lost to its owner.
//! - A packet that arrives at the very beginning of its slot makes it.
//! - Push-out takes the latest arrival.
//! - When the rate changes, slots become longer or shorter from then on, and every flow owns as many
//!   as its reservation now needs, in the order of the flows as long as there are free ones.

use super::{Participation, Removal, Scheduler, Select};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::flow_heap::FlowHeap;
use crate::packet::{FlowIx, Packet};
use crate::params::{Choice, Kind, Param, PolicyRecord, Role, Value};
use crate::queues::Queues;
use crate::units::{Rate, Span, Time};

/// What a person can know about it.
pub const RECORD: PolicyRecord = PolicyRecord {
    name: "tdm",
    title: "Time-division multiplexing",
    role: Role::Scheduler,
    help: "Gives each flow its own slots of a fixed frame, as many as its reservation needs; a slot whose owner \
           has nothing to send is wasted, and flows without a reservation share the slots that nobody owns.",
    source: "Zhang 1991, sections 3 and 5.2",
    params: &[
        Param {
            name: "rate",
            kind: Kind::Rate,
            default: None,
            required: false,
            help: "Rate that the frame divides; without it, the rate of the link",
        },
        Param {
            name: "slot",
            kind: Kind::Size,
            default: None,
            required: true,
            help: "Length of a slot: the largest packet",
        },
        Param {
            name: "slots",
            kind: Kind::Integer(1, 4096),
            default: None,
            required: true,
            help: "Number of slots in a frame, each worth this part of the rate",
        },
    ],
    reads: &["reserve"],
};

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Member {
    /// How many slots it owns.
    slots: usize,
    reserve: Option<Rate>,
}

/// A frame of slots and their owners.
pub struct Tdm {
    /// The rate of its own, if it has one.
    own_rate: Option<Rate>,
    /// The rate that the frame divides; `None` when nobody knows it.
    rate: Option<Rate>,
    /// The length of a slot, in bytes.
    slot_bytes: u32,
    /// How long a slot is.
    slot: Span,
    /// When a slot began.
    began: Option<Time>,
    owners: Vec<u32>,
    members: Vec<Member>,
    /// Flows without a reservation that may be sent, by the arrival of their first packet.
    datagrams: FlowHeap,
}

impl Tdm {
    /// A frame without owners.
    ///
    /// # Errors
    /// When a parameter is missing or out of range.
    pub fn new(choice: &Choice) -> Result<Tdm, Refused> {
        let (Some(Value::Size(slot)), Some(Value::Integer(slots))) =
            (choice.value("slot"), choice.value("slots"))
        else {
            return Err(Refused("tdm needs the length of a slot and their number".into()));
        };
        let own_rate = match choice.value("rate") {
            Some(Value::Rate(bits)) => {
                let rate = Rate::from_bits_per_second(*bits);
                Some(rate.ok_or_else(|| Refused(format!("a link cannot run at {bits} bit/s")))?)
            }
            _ => None,
        };
        let slot_bytes =
            u32::try_from(*slot).map_err(|_| Refused(format!("a slot of {slot} bytes is above 4 GB")))?;
        let slots = usize::try_from(*slots).unwrap_or(0).max(1);
        let mut tdm = Tdm {
            own_rate,
            rate: None,
            slot_bytes,
            slot: Span::from_ticks(1),
            began: None,
            owners: vec![NOBODY; slots],
            members: Vec::new(),
            datagrams: FlowHeap::default(),
        };
        tdm.divide(own_rate);
        Ok(tdm)
    }

    /// Divides this rate from now on.
    fn divide(&mut self, rate: Option<Rate>) {
        self.rate = rate;
        self.slot = rate.map_or(Span::ZERO, |rate| rate.time_for(self.slot_bytes)).max(Span::from_ticks(1));
    }

    /// How many slots a reservation needs.
    fn needed(&self, reserve: Option<Rate>) -> Result<usize, Refused> {
        let rate = self.rate.ok_or_else(|| Refused("tdm needs a rate, its own or its link's".into()))?;
        let Some(reserve) = reserve else { return Ok(0) };
        let share = reserve.bits_per_second() / rate.bits_per_second();
        // Rates are within 2⁻²⁰ of what was asked for: a whole number stays one.
        Ok((share * self.owners.len() as f64 * (1.0 - 1e-6)).ceil() as usize)
    }

    /// Gives the flow `needed` slots, spread as evenly as the free ones allow.
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

    /// The slot that begins at or after `now`: when, and its place in the frame.
    fn next_slot(&self, now: Time) -> (Time, usize) {
        let (slot, began) = (self.slot.ticks(), self.began.unwrap_or(now));
        let number = now.since(began).ticks().div_ceil(slot);
        let begins = began + Span::from_ticks(number.saturating_mul(slot));
        (begins, (number % self.owners.len() as u64) as usize)
    }

    /// Who would send in a slot.
    fn sender(&self, at: usize, queues: &Queues) -> Option<FlowIx> {
        match self.owners[at] {
            NOBODY => self.datagrams.top().map(|(_, flow)| flow),
            owner => {
                let flow = FlowIx(owner);
                (queues.len(flow) > 0 && queues.takes_part(flow)).then_some(flow)
            }
        }
    }

    /// Brings a flow's place up to date.
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
        // The slot that begins next is the first of the new length.
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
        self.datagrams.reach(flow.0 + 1);
        if needed != owned {
            self.assign(flow, needed);
        }
        let member = &mut self.members[flow.ix()];
        (member.slots, member.reserve) = (needed, contract.reserve);
        self.refresh(flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, _: FlowIx) -> Time {
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
        Select::Idle
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
