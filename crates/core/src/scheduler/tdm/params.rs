//! The parameters of time-division multiplexing, and the checks of what they have room for.

use super::Tdm;
use super::slots::{ROUNDING, slots_needed, slots_worth};
use crate::contract::Refused;
use crate::curves::{bytes_per_second, whole};
use crate::params::{
    Carry, Fault, FixedPort, Line, NoLine, NodeContext, Parameters, PolicyParams, PolicyRecord, Role,
    Service, Stamps, parameters,
};
use crate::units::Rate;
use alloc::format;

parameters! {
    /// Parameters of time-division multiplexing.
    #[derive(Copy, Eq)]
    pub struct TdmParams {
        /// Rate of the slots; without it, the link's
        rate: Option<Rate>,
        /// Length of a slot: the largest packet
        slot: u32 as Size,
        /// Number of slots in a frame, each worth this part of the rate
        slots: u16 as Integer(1, 4096),
        /// Number of packets that a flow may send in each frame in slots whose owners have none
        window: u16 as Integer(0, 4096) = 0,
    }
}

impl PolicyParams for TdmParams {
    type Policy = Tdm;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tdm",
        title: "Time-division multiplexing",
        role: Role::Scheduler { service: Service::Slotted },
        help: "Gives each flow its own slots of a fixed frame, as many as its reservation needs; a slot \
               whose owner has nothing to send is wasted, or used by others within a window, and flows without \
               a reservation share the slots without an owner.",
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
        TdmParams { rate: None, slot: 1500, slots: 20, window: 1 }
    }

    /// A flow with n slots of a frame of S slots of T seconds starts n packets in every S · T while it
    /// has packets: its k-th packet starts within ⌈k / n⌉ frames, and takes its own time. So it has at
    /// least n of its smallest packets in a frame, after (n − 1) / n of a frame and a packet. With a
    /// window no packet is later.
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        port.has_whole_link()?;
        let slots_rate = self.rate.unwrap_or(port.link);
        let rate = bytes_per_second(slots_rate);
        let no = |words| Err(NoLine::Because(words));
        let Some(reserve) = port.flows[index].contract.reserve else {
            return no("it owns no slots");
        };
        if rate > port.rate || port.flows.iter().any(|flow| flow.largest > self.slot) {
            return no("a packet takes longer than a slot");
        }
        let flow = &port.flows[index];
        let owned = whole(slots_needed(reserve, slots_rate, self.slots));
        let frame = whole(self.slots) * whole(self.slot) / &rate;
        let share = &owned * whole(flow.smallest) / &frame;
        let wait = frame * (&owned - whole(1)) / owned;
        let late = wait * &port.rate + whole(flow.largest);
        Ok(port.own_line(index, share, &late, "slots (n packets in every frame)"))
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
                if (slots - libm::round(slots)).abs() > slots * ROUNDING {
                    let message = format!(
                        "it reserves no whole number of slots, of which {} share {} bit/s",
                        self.slots,
                        libm::round(rate.bits_per_second())
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
                    libm::floor(left)
                );
                Err(Fault::at("slots", message))
            }
            _ => Ok(()),
        }
    }
}
