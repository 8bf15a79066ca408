//! VirtualClock's flow monitor (Zhang 1991, sections 3.1, 3.2.3 and 3.2.4).
//!
//! Each flow has a clock, VirtualClock, that starts at real time and ticks by
//! `Vtick = len / AR` with every packet. After every AIR = AR × AI units of data the flow is
//! checked: if VirtualClock is more than T ahead of real time the flow is warned; if it is
//! behind, it is set to real time, so that credit is not saved from one average interval to
//! the next.
//!
//! Choices where the paper is silent:
//! - AIR counts bytes ("units of data", section 6), of which packets of one size are the
//!   special case; the excess over AIR at a check counts towards the next.
//! - T is by default AIR × Vtick, which is AI.
//! - A head start ("real time − P") shifts VirtualClock and real time alike: here it cancels.
//! - Policing (section 5.2.1: "further packets from that flow can be rejected") refuses the
//!   packet that would bring VirtualClock more than T ahead. A refused packet does not tick
//!   the clock, counts as data received, and is a reason to warn at the next check.
//! - Checking by time, which the paper argues against, is done at the first packet after AI
//!   has passed since the check before.
//!
//! A flow without a reservation or without an average interval is not monitored.

use super::{Check, Meter, Metered, ProfileIx, Reading};
use crate::context::{Ctx, Finding, Reason, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::Packet;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words};
use crate::units::{Rate, Span, Time};
use alloc::vec::Vec;

parameters! {
    /// Parameters of the flow monitor.
    #[derive(Copy, Eq)]
    pub struct FlowMonitorParams {
        /// Lead of VirtualClock over real time beyond which a flow is warned (T); without it AIR *
        /// Vtick, which is the flow's average interval
        threshold: Option<Span>,
        /// Packets more than T ahead: their source is warned, or they are dropped as well
        excess: MonitorExcess = MonitorExcess::Warn,
        /// Occasion of a check: every AR * AI of data, or every average interval
        check: Occasion = Occasion::Data,
    }
}

words! {
    /// Treatment of packets that run more than T ahead.
    pub enum MonitorExcess {
        /// Their source is warned.
        Warn = "warn",
        /// They are dropped, and their source is warned.
        Drop = "drop",
    }
}

words! {
    /// Occasion on which a flow is checked.
    pub enum Occasion {
        /// After every AR * AI of data.
        Data = "data",
        /// After every average interval.
        Time = "time",
    }
}

impl PolicyParams for FlowMonitorParams {
    type Policy = FlowMonitor;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "flow-monitor",
        title: "Flow monitor",
        role: Role::Meter { colours: false },
        help: "Compares each flow's VirtualClock with real time after every AR * AI of data: warns the \
               source of a flow that is too far ahead, and removes the credit of one that is behind.",
        source: "Zhang 1991, sections 3.1 and 3.2.3",
        params: FlowMonitorParams::PARAMS,
        reads: &["reserve", "interval"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: Some("interval"),
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<FlowMonitor, Refused> {
        Ok(FlowMonitor::new(self))
    }

    fn example() -> FlowMonitorParams {
        FlowMonitorParams { threshold: None, excess: MonitorExcess::Warn, check: Occasion::Data }
    }
}

#[derive(Clone, Copy)]
struct Contracted {
    rate: Rate,
    /// AIR, in bytes.
    air: u64,
    interval: Span,
    threshold: Span,
}

#[derive(Clone, Copy)]
struct Monitor {
    /// `None` for a profile that is not monitored.
    contracted: Option<Contracted>,
    metered: Metered,
    /// Bytes received since the last check.
    received: u64,
    /// Time of the last check, or of the first packet.
    checked: Time,
    /// True if a packet was refused since the last check.
    refused: bool,
}

const NEWCOMER: Monitor = Monitor {
    contracted: None,
    metered: Metered::NOTHING,
    received: 0,
    checked: Time::from_ticks(0),
    refused: false,
};

/// The monitor of a port's profiles.
#[derive(Default)]
pub struct FlowMonitor {
    threshold: Option<Span>,
    polices: bool,
    by_time: bool,
    monitors: Vec<Monitor>,
}

impl FlowMonitor {
    /// A monitor with these parameters, without profiles.
    pub fn new(params: &FlowMonitorParams) -> FlowMonitor {
        FlowMonitor {
            threshold: params.threshold,
            polices: params.excess == MonitorExcess::Drop,
            by_time: params.check == Occasion::Time,
            monitors: Vec::new(),
        }
    }
}

impl Meter for FlowMonitor {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        let contracted = terms.reserve.zip(terms.interval).map(|(rate, interval)| Contracted {
            rate,
            air: rate.bytes_in_about(interval).max(1),
            interval,
            //= zhang1991 3.3
            threshold: self.threshold.unwrap_or(interval),
        });
        if self.monitors.len() <= profile.ix() {
            if contracted.is_none() {
                return;
            }
            self.monitors.resize(profile.ix() + 1, NEWCOMER);
        }
        self.monitors[profile.ix()].contracted = contracted;
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let now = cx.now;
        let Some(monitor) = self.monitors.get_mut(profile.ix()) else { return Verdict::Accept.into() };
        let Some(Contracted { rate, air, interval, threshold }) = monitor.contracted else {
            return Verdict::Accept.into();
        };
        let clock = &mut monitor.metered.virtual_clock;
        if *clock == Time::from_ticks(0) {
            //= zhang1991 3.1
            (*clock, monitor.checked) = (now, now);
        }
        let tick = rate.time_for(packet.len);
        //= zhang1991 5.2.1
        let refuse = self.polices && (*clock + tick).since(now) > threshold;
        let tick = if refuse { Span::ZERO } else { tick };
        //= zhang1991 3.1
        *clock += tick;
        monitor.refused |= refuse;
        monitor.received += u64::from(packet.len);
        let verdict = if refuse { Verdict::Drop(Reason::Meter) } else { Verdict::Accept };

        //= zhang1991 3.2.3
        let due = if self.by_time { now.since(monitor.checked) >= interval } else { monitor.received >= air };
        if !due {
            return verdict.into();
        }
        let lead = clock.since(now);
        //= zhang1991 3.1
        let warn = lead > threshold || monitor.refused;
        //= zhang1991 3.2.4
        *clock = (*clock).max(now);
        let virtual_clock = clock.before(tick);
        monitor.metered.checks += 1;
        monitor.metered.warnings += u64::from(warn);
        (monitor.received, monitor.checked, monitor.refused) = (monitor.received % air, now, false);
        let finding = warn.then_some(Finding::Ahead(lead));
        Reading { verdict, check: Some(Check { virtual_clock }), finding }
    }

    fn forgettable_at(&self, profile: ProfileIx) -> Time {
        self.monitors.get(profile.ix()).map_or(Time::from_ticks(0), |monitor| monitor.metered.virtual_clock)
    }

    fn forget(&mut self, profile: ProfileIx) {
        if let Some(monitor) = self.monitors.get_mut(profile.ix()) {
            *monitor = NEWCOMER;
        }
    }

    fn metered(&self, profile: ProfileIx) -> Option<Metered> {
        let monitor = self.monitors.get(profile.ix())?;
        monitor.contracted.map(|_| monitor.metered)
    }

    fn memory(&self) -> usize {
        self.monitors.capacity() * size_of::<Monitor>()
    }
}
