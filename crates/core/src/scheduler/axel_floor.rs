//! Axel above a floor: accelerated flows wait when a packet of another flow would get less than a
//! share of its reserved rate (Pincheira 1994, section 5).
//!
//! Axel orders the packets. Beside its stamp the first packet of every flow i with a reservation
//! has a due time, at which a server of the rate φ r_i would have sent it:
//!
//! ```text
//! due ← min(max(due, arrival), now) + l / (φ r)     when a packet becomes the first of its flow
//! ```
//!
//! Packets that are due are served before all others, the earliest first. A flow that was served
//! before it was due starts anew: what it got beyond its floor is not held against it.
//!
//! Guarantee: the last bit of a first packet leaves at most `E = (L + Σ L_j) / R` after it is due,
//! where R is the link's rate, which the reservations do not exceed, L_j the largest packet of flow
//! j, and L the largest of all. `docs/schedulers/axel.md` has the proof. Hence a flow with packets
//! gets at least the service of a server of rate φ r that is late by E, from any time on.
//!
//! Choices:
//! - All flows with a reservation have a floor, accelerated or not: one that bursts within its
//!   contract has long been served when its floor is due.
//! - A flow that was held or absent starts anew when it takes part again.
//! - A flow without a reservation has no floor.
//! - In a class, floors count real time, and what other classes send voids the guarantee.

use super::axel::{Axel, Delta};
use super::restamped::{Backlog, Restamped};
use super::{Participation, Removal, Scheduler, Select, Stamped};
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::queues::{Queued, Queues};
use crate::ranking::flow_heap::FlowHeap;
use crate::stats::Count;
use crate::units::{Rate, Span, Time};
use alloc::vec::Vec;

parameters! {
    /// Parameters of Axel above a floor.
    #[derive(Copy)]
    pub struct AxelFloorParams {
        /// Share of its reserved rate that every flow gets at any time
        floor: f64 as Number(0.001, 1.0) = 0.5,
    }
}

impl PolicyParams for AxelFloorParams {
    type Policy = AxelFloor;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "axel-floor",
        title: "Axel above a floor",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Axel, but a flow with packets gets at least a share of its reserved rate at any time: its first \
               packet goes first when a server of that rate would have sent it.",
        source: "Pincheira 1994, section 5",
        params: AxelFloorParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<AxelFloor, Refused> {
        let axel = Axel { delta: Delta::Exact, acceleration: None };
        Ok(AxelFloor {
            axel: Restamped::scheduler(axel, Backlog::Ideal),
            share: self.floor,
            floors: Vec::new(),
            due: FlowHeap::default(),
        })
    }

    fn example() -> AxelFloorParams {
        AxelFloorParams { floor: 0.5 }
    }
}

/// Floor of a flow.
#[derive(Clone, Copy)]
struct Floor {
    /// φ r; `None` for a flow without a reservation.
    rate: Option<Rate>,
    /// Due time of the flow's first packet, or of its latest one.
    due: Time,
}

/// Axel, and the due times of first packets.
pub struct AxelFloor {
    axel: Stamped<Restamped<Axel>>,
    /// φ.
    share: f64,
    floors: Vec<Floor>,
    /// Flows that may be selected and have a floor, by the due time of their first packet.
    due: FlowHeap,
}

impl AxelFloor {
    /// Sets the due time of a packet that has become the first of its flow, counted from `start`.
    fn set_due(&mut self, start: Time, first: &Packet, order: u64, queues: &Queues) {
        let floor = &mut self.floors[first.flow.ix()];
        let Some(rate) = floor.rate else { return };
        floor.due = start + rate.time_for(first.len);
        if queues.takes_part(first.flow) {
            self.due.set(first.flow, (floor.due.ticks(), order));
        }
    }

    /// Updates the floor after the first packet has left.
    fn renew(&mut self, now: Time, flow: FlowIx, queues: &Queues) {
        match queues.first(flow) {
            Some(head) => {
                //= pincheira1994 5
                let start = self.floors[flow.ix()].due.max(head.packet.arrived).min(now);
                self.set_due(start, &head.packet, head.order, queues);
            }
            None => self.due.remove(flow),
        }
    }

    /// Counts the floor of a flow anew from `now`.
    fn restart(&mut self, now: Time, flow: FlowIx, queues: &Queues) {
        self.due.remove(flow);
        if let Some(head) = queues.first(flow) {
            self.set_due(now, &head.packet, head.order, queues);
        }
    }
}

impl Scheduler for AxelFloor {
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.axel.set_flow(now, flow, contract, queues)?;
        self.due.grow_to(flow.0 + 1);
        if self.floors.len() <= flow.ix() {
            self.floors.resize(flow.ix() + 1, Floor { rate: None, due: Time::from_ticks(0) });
        }
        let floor = |reserve: Rate| {
            let bits = libm::round(reserve.bits_per_second() * self.share) as u64;
            Rate::from_bits_per_second(bits.max(1)).unwrap_or(reserve)
        };
        let rate = contract.reserve.map(floor);
        if self.floors[flow.ix()].rate != rate {
            self.floors[flow.ix()].rate = rate;
            self.restart(now, flow, queues);
        }
        Ok(())
    }

    fn forgettable_at(&self, now: Time, flow: FlowIx, queues: &Queues) -> Time {
        self.axel.forgettable_at(now, flow, queues).max(self.floors[flow.ix()].due)
    }

    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        self.axel.lead(now, flow)
    }

    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.axel.enqueue(cx, packet, queues);
        if queues.len(packet.flow) == 0 {
            self.set_due(packet.arrived, packet, queues.arriving(), queues);
        }
    }

    fn select(&self, now: Time, queues: &Queues) -> Select {
        match self.due.top() {
            //= pincheira1994 5
            Some(((due, _), flow)) if due <= now.ticks() => Select::Flow(flow),
            _ => self.axel.select(now, queues),
        }
    }

    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.axel.dequeued(cx, packet, queues);
        self.renew(cx.now, packet.flow, queues);
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        self.axel.removed(cx, packet, queues, why);
        // Push-out takes the latest packet: the first one is still there.
        if why == Removal::DroppedAtHead || queues.len(packet.flow) == 0 {
            self.renew(cx.now, packet.flow, queues);
        }
    }

    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        self.axel.rank_to_lose(flow, last, behind)
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        self.axel.take_part(now, flow, before, queues);
        self.restart(now, flow, queues);
    }

    fn release(&mut self, flow: FlowIx) {
        self.axel.release(flow);
        self.floors[flow.ix()].rate = None;
        self.due.remove(flow);
    }

    fn gauges(&self, now: Time, flow: FlowIx, show: &mut dyn FnMut(&'static str, f64)) {
        self.axel.gauges(now, flow, show);
    }

    fn memory(&self) -> usize {
        self.axel.memory() + self.floors.capacity() * size_of::<Floor>() + self.due.memory()
    }
}
