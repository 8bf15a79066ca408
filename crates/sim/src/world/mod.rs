//! The discrete-event world: switches of [`tidegate_core`], links between them, hosts and stages.
//!
//! Events are in a total order: by time, then by kind (a stage, a departure before an arrival, a
//! timer, a source, the start of a packet at an idle port whose scheduler orders by urgency), then
//! by the index of the link or source, which has one event of a kind at a time. A link without
//! delay hands over at once, after its next packet has started; one with a delay keeps its packets
//! in flight and schedules only the first.
//!
//! `hosts` calls endpoints, `stages` calls stages, `entries`, `starts`, `departures` and `flight` carry packets over a hop,
//! `delivery` handles them at the end of its link, `effects`
//! the reports of switches, `counting` and `sampling` the measurements.

mod counting;
mod delivery;
mod departures;
mod effects;
mod entries;
mod event;
mod fabric_setup;
mod flight;
mod flow_setup;
mod host_events;
mod hosts;
mod lanes;
mod lives;
mod measuring;
mod overflow;
mod pending;
mod provisioning;
mod report;
mod routes;
mod sampling;
mod setup;
mod stages;
mod starts;

pub use crate::host::PacketCounts;
pub use crate::measures::{Checks, DropCounts, NonResponsive};
pub use event::Event;
pub(crate) use lives::lives;
pub use overflow::Overflow;
pub use report::LinkReport;
pub use stages::{Answer, GateFlow, Signal};
pub use stages::{CreditReport, OutputReport, StallReport, VcReport};

use crate::event_queue::EventQueue;
use crate::stage::StageCx;
use host_events::{HostEvent, HostEvents};
use pending::Pending;
use stages::Placed;
use tidegate_core::units::{Span, Time};

/// A running network.
pub struct World<Q> {
    events: Pending<Q>,
    until: Time,
    /// Next time of the end of the warm-up, a stage, a notice, a sample or the end of a window.
    next_housekeeping: Time,
    /// First time at which an event has to wait: for the next housekeeping, or because the run is
    /// over before it.
    next_pause: Time,
    /// The network, as stages see it.
    cx: StageCx,
    stages: Vec<Placed>,
    /// Links whose idle ports start a packet once all packets of this instant have arrived.
    starts: Vec<u32>,
    host_events: HostEvents,
    /// The overflow found when the network held more packets than allowed.
    overflow: Option<Overflow>,
}

/// Number of events between checks of the packet limit: most events make one packet; the others
/// check it themselves.
const LOOK_AFTER: u64 = 4096;

impl<Q: EventQueue> World<Q> {
    /// Carries out at most `most` events. Returns true when the run is over, because it is at its
    /// end or because the network [`overflows`](Self::overflow).
    pub fn advance(&mut self, most: u64) -> bool {
        let mut left = most;
        while left > 0 {
            let events = left.min(LOOK_AFTER);
            left -= events;
            if self.is_over_full() || self.carry_out_events(events) {
                return true;
            }
        }
        self.is_over_full()
    }

    /// Like [`advance`](Self::advance), without checks of the packet limit.
    fn carry_out_events(&mut self, most: u64) -> bool {
        for _ in 0..most {
            // Link events come first among those of the same instant.
            let (departure_at, link) = self.events.departures.first();
            let next_arrival_or_timer = self.events.next_arrival_or_timer;
            let (source_at, flow) = self.events.sources.first();
            let at = departure_at.min(next_arrival_or_timer).min(source_at);
            if !self.starts.is_empty() && at.min(self.next_housekeeping) > self.cx.now {
                self.start_all();
                continue;
            }
            if at >= self.next_pause {
                if self.next_housekeeping > self.until {
                    self.finish();
                    return true;
                }
                // This may change which event is first.
                self.run_housekeeping();
                continue;
            }
            self.pass_to(at);
            let event = if departure_at == at {
                self.departed(link);
                Event::Departed(link)
            } else if next_arrival_or_timer == at {
                self.arrival_or_timer()
            } else {
                self.source(flow);
                Event::Source(flow)
            };
            if cfg!(debug_assertions) {
                self.audit(event);
            }
        }
        false
    }

    /// Advances the clock. It never goes back: a request for the past is a defect.
    #[inline(always)]
    fn pass_to(&mut self, at: Time) {
        assert!(at >= self.cx.now, "time goes back from {:?} to {at:?}", self.cx.now);
        self.cx.now = at;
    }

    #[inline(always)]
    fn arrival_or_timer(&mut self) -> Event {
        let (event, flights) = self.events.first_arrival_or_timer();
        match event {
            Event::Arrived(link) => match flights {
                Some(flights) => self.arrived(link, flights),
                None => self.arrived_alone(link),
            },
            Event::Timer(link) => {
                self.cx.fabric.links[link as usize].wake_at = Time::NEVER;
                self.timer(link);
                if self.cx.fabric.links[link as usize].wake_at == Time::NEVER {
                    self.events.set(event, Time::NEVER);
                }
            }
            // Carried out by the caller, which looks for these first.
            Event::Departed(_) | Event::Source(_) => {}
        }
        event
    }

    /// Does one due task: ends the warm-up, wakes a stage, handles a host's event, or takes a
    /// sample.
    #[cold]
    #[inline(never)]
    fn run_housekeeping(&mut self) {
        let (stage_at, stage) = self.events.stages.first();
        if !self.cx.measures.warm && self.next_housekeeping == self.cx.measures.warm_at {
            self.pass_to(self.next_housekeeping);
            self.warm_up();
        } else if self.next_housekeeping == stage_at {
            self.pass_to(stage_at);
            self.wake_stage(stage);
        } else if self.next_housekeeping == self.host_events.next() {
            self.pass_to(self.next_housekeeping);
            match self.host_events.pop() {
                Some((flow, HostEvent::Notice(notice))) => self.cx.outbox.notify(flow, notice),
                Some((flow, HostEvent::Prepared)) => self.host_prepared(flow),
                None => {}
            }
            self.drain_outbox();
        } else {
            self.end_windows(self.next_housekeeping);
            self.sample(self.next_housekeeping);
        }
        self.schedule_housekeeping();
    }

    /// Sets the next time at which [`run_housekeeping`](Self::run_housekeeping) has a task.
    fn schedule_housekeeping(&mut self) {
        let warm_at = if self.cx.measures.warm { Time::NEVER } else { self.cx.measures.warm_at };
        // A sample is taken after the events of its instant, and a window ends after those.
        let sample_at = self.cx.measures.series.as_ref().map_or(Time::NEVER, |series| series.next());
        let window_at = self.cx.measures.assurance.as_ref().map_or(Time::NEVER, |assurance| assurance.next());
        let look_at = sample_at.min(self.cx.measures.in_traffic.next()).min(window_at);
        let (stage_at, _) = self.events.stages.first();
        self.next_housekeeping = warm_at.min(look_at + Span::TICK).min(self.host_events.next()).min(stage_at);
        self.next_pause = self.next_housekeeping.min(self.until + Span::TICK);
    }

    /// Ends the run: brings the clock and the series to its end.
    fn finish(&mut self) {
        if !self.cx.measures.warm {
            self.warm_up();
        }
        self.end_windows(self.until + Span::TICK);
        self.sample(self.until + Span::TICK);
        self.cx.now = self.until;
        for (flow, (waiting, _)) in self.in_envelopes() {
            let sent = &mut self.cx.measures.records[flow as usize].sent;
            *sent = (sent.0 - waiting.packets, sent.1 - waiting.bytes);
        }
    }
}
