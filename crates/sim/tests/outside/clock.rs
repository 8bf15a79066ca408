//! A scheduler as a crate outside declares it: VirtualClock without monitors, with two parameters of
//! its own.

use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{
    Carry, Fault, KeepsRates, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps,
    parameters,
};
use tidegate_core::queues::Queues;
use tidegate_core::scheduler::{StampRule, Stamped};
use tidegate_core::stats::Count;
use tidegate_core::units::{Rate, Span, Time};

parameters! {
    /// Parameters of the plain clock.
    pub struct PlainClockParams {
        /// Share of its reservation that a flow is served at, in percent
        percent: u32 as Integer(1, 100) = 100,
        /// Least rate of a link, above that of a modem; without it, any
        at_least: Option<Rate>,
    }
}

impl PolicyParams for PlainClockParams {
    type Policy = Stamped<PlainClock>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "plain-clock",
        title: "Plain clock",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Stamps each packet with its flow's clock, which advances by packet size over reserved rate.",
        source: "Zhang 1991, section 3.1",
        params: PlainClockParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Stamped<PlainClock>, Refused> {
        Ok(Stamped::new(PlainClock { percent: self.percent, clocks: Vec::new() }))
    }

    fn example() -> PlainClockParams {
        PlainClockParams { percent: 50, at_least: Rate::from_bits_per_second(MODEM) }
    }

    fn check(&self) -> Result<(), Fault> {
        match self.at_least {
            Some(rate) if rate.bits_per_second() < MODEM as f64 => {
                Err(Fault::at("at_least", format!("`at_least` is below {MODEM} bit/s")))
            }
            _ => Ok(()),
        }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        match self.at_least {
            Some(rate) if node.link.bits_per_second() < rate.bits_per_second() => {
                Err(Fault::at("at_least", "`at_least` is above the rate"))
            }
            _ => Ok(()),
        }
    }

    fn keeps_rates(&self) -> Option<KeepsRates> {
        (self.percent == 100).then_some(KeepsRates { in_classes: false, longest_packet: None })
    }
}

/// The rate of a modem, in bit/s.
const MODEM: u64 = 56_000;

/// The clock of a flow.
#[derive(Clone, Copy)]
struct Clock {
    now: Time,
    reserve: Option<Rate>,
    /// Span that absences have added to the stamps of queued packets.
    shift: Span,
}

const NEWCOMER: Clock = Clock { now: Time::from_ticks(0), reserve: None, shift: Span::ZERO };

/// The latest stamp of a flow with a reservation: datagrams come last.
const LATEST: u64 = Time::NEVER.ticks() - 1;

/// The rule of the plain clock.
pub struct PlainClock {
    percent: u32,
    clocks: Vec<Clock>,
}

impl PlainClock {
    /// Time that `len` bytes take at the flow's share of its reservation.
    fn tick(&self, flow: FlowIx, len: u32) -> Option<Span> {
        let whole = self.clocks[flow.ix()].reserve?.time_for(len).ticks();
        Some(Span::from_ticks(whole.saturating_mul(100) / u64::from(self.percent)))
    }
}

impl StampRule for PlainClock {
    fn set_flow(
        &mut self,
        _: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        if self.clocks.len() <= flow.ix() {
            self.clocks.resize(flow.ix() + 1, NEWCOMER);
        }
        let clock = &mut self.clocks[flow.ix()];
        // Later packets would be stamped earlier than the datagrams before them.
        if clock.reserve.is_none() && contract.reserve.is_some() && queues.len(flow) > 0 {
            return Err(Refused("a flow with datagrams in its queue cannot gain a reservation".into()));
        }
        clock.reserve = contract.reserve;
        Ok(())
    }

    fn forgettable_at(&self, flow: FlowIx) -> Time {
        self.clocks[flow.ix()].now
    }

    fn stamp(&mut self, packet: &mut Packet, _: &Queues) {
        packet.tag = match self.tick(packet.flow, packet.len) {
            Some(tick) => {
                let clock = &mut self.clocks[packet.flow.ix()];
                clock.now = clock.now.max(packet.arrived) + tick;
                clock.now.before(clock.shift).ticks().min(LATEST)
            }
            None => Time::NEVER.ticks(),
        };
    }

    fn key(&self, flow: FlowIx, tag: u64) -> u64 {
        match tag == Time::NEVER.ticks() {
            true => tag,
            false => tag.saturating_add(self.clocks[flow.ix()].shift.ticks()).min(LATEST),
        }
    }

    fn key_behind(&self, flow: FlowIx, tag: u64, behind: Count) -> u64 {
        let tick = self.tick(flow, u32::try_from(behind.bytes).unwrap_or(u32::MAX));
        let tick = tick.filter(|_| tag != Time::NEVER.ticks());
        tick.map_or(self.key(flow, tag), |tick| self.key(flow, tag).saturating_add(tick.ticks()).min(LATEST))
    }

    fn rejoin(&mut self, now: Time, flow: FlowIx, head: &Packet, _: &Queues) {
        let Some(tick) = self.tick(flow, head.len).filter(|_| head.tag != Time::NEVER.ticks()) else {
            return;
        };
        let late = (now + tick).since(Time::from_ticks(self.key(flow, head.tag)));
        let clock = &mut self.clocks[flow.ix()];
        (clock.now, clock.shift) = (clock.now + late, clock.shift + late);
    }

    fn memory(&self) -> usize {
        self.clocks.capacity() * size_of::<Clock>()
    }
}
