//! The retransmission timer (RFC 6298): round-trip time estimates and the retransmission timeout.
//!
//! A host reads a clock that advances in ticks of the granularity, counted from when the connection
//! starts. A round trip takes the ticks that pass in it, at least one, and the timer expires at a
//! tick.

use super::RackForm;
use super::estimates::Estimates;
use super::expiry::Expiry;
use super::params::{RtoFloor, TcpParams};
use crate::units::{Span, Time};

/// The timeout before the first round trip was measured (RFC 6298, rule 2.1).
const FIRST: Span = Span::from_secs(1);

/// The estimates of one connection, and its timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    granularity: u64,
    expiry: Expiry,
    minimum: Span,
    maximum: Span,
    /// The time at which the connection started, from which ticks are counted.
    began: Time,
    estimates: Estimates,
    rto: Span,
    /// The segment whose round trip is being measured: the byte after its last, and the time at
    /// which it was sent.
    timed: Option<(u64, Time)>,
    /// The time at which the timer expires; [`Time::NEVER`] while it is off.
    due: Time,
    /// The time at which the timeout is over, before it is counted in steps of the clock.
    over: Time,
    /// Number of round trips measured, and their sum in ticks.
    measured: (u64, u64),
}

impl Timer {
    pub(super) fn new(params: &TcpParams) -> Timer {
        let granularity = params.granularity.ticks().max(1);
        let mut timer = Timer {
            granularity,
            expiry: Expiry::new(params),
            minimum: params.minimum_rto,
            maximum: params.maximum_rto,
            began: Time::ORIGIN,
            estimates: Estimates::new(match params.rto_floor {
                RtoFloor::Timeout => None,
                RtoFloor::Variation => Some(params.minimum_rto.max(params.granularity)),
            }),
            rto: FIRST,
            timed: None,
            due: Time::NEVER,
            over: Time::NEVER,
            measured: (0, 0),
        };
        timer.set(FIRST);
        timer
    }

    /// Starts the connection, and its clock.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// The time at which the timer expires; [`Time::NEVER`] while it is off.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// The time at which the timeout is over; in Linux the timer expires at the next step of its clock.
    pub(super) fn over(&self) -> Time {
        match self.expiry.form {
            RackForm::Linux => self.over,
            RackForm::Rfc => self.due,
        }
    }

    /// Number of round trips measured, and their sum in ticks.
    pub(super) fn round_trips(&self) -> (u64, u64) {
        self.measured
    }

    /// The timeout (RTO).
    pub(super) fn rto(&self) -> Span {
        self.rto
    }

    /// The smoothed round-trip time (SRTT), once one has been measured.
    pub(super) fn srtt(&self) -> Option<Span> {
        self.estimates.srtt()
    }

    /// Starts the timer, unless it is running, when data are sent or retransmitted (rule 5.1).
    pub(super) fn run(&mut self, now: Time) {
        if self.due == Time::NEVER {
            self.restart(now);
        }
    }

    /// Restarts the timer: it expires a timeout from now (rule 5.3).
    pub(super) fn restart(&mut self, now: Time) {
        self.over = now + self.rto;
        self.due = match self.expiry.form {
            RackForm::Linux => self.expiry.after(now, self.rto),
            RackForm::Rfc => {
                let after = (now + self.rto).since(self.began).ticks();
                self.began + Span::from_ticks(after.div_ceil(self.granularity) * self.granularity)
            }
        };
    }

    /// Restarts the timer as Linux does: it expires a timeout after `sent`, and a tick from now at the
    /// earliest.
    pub(super) fn restart_from(&mut self, sent: Time, now: Time) {
        self.over = (sent + self.rto).max(now + Span::from_ticks(self.granularity));
        self.due = self.expiry.after(now, self.over.since(now));
    }

    /// Stops the timer: nothing is outstanding (rule 5.2).
    pub(super) fn stop(&mut self) {
        self.due = Time::NEVER;
    }

    /// Doubles the timeout after the timer has expired (rule 5.5), until a round trip is measured.
    pub(super) fn back_off(&mut self) {
        self.set(self.rto + self.rto);
        self.due = Time::NEVER;
    }

    /// Starts measuring the round trip of a segment that leaves for the first time. One is measured
    /// at a time.
    pub(super) fn time(&mut self, end: u64, now: Time) {
        self.timed.get_or_insert((end, now));
    }

    /// Stops measuring after a retransmission: an acknowledgement would not tell which transmission
    /// was meant (Karn's algorithm, section 3).
    pub(super) fn forget_timed(&mut self) {
        self.timed = None;
    }

    /// Ends a measurement whose data, before `acknowledgement`, are acknowledged. Those before `max` were
    /// sent.
    pub(super) fn acknowledged(&mut self, acknowledgement: u64, max: u64, now: Time) {
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| *end <= acknowledgement) {
            let passed = self.clock(now) - self.clock(sent);
            self.measured(Span::from_ticks(passed.max(1) * self.granularity), acknowledgement, max);
        }
    }

    /// Reading of the host's clock.
    fn clock(&self, now: Time) -> u64 {
        now.since(self.began).ticks() / self.granularity
    }

    /// The round trip of the handshake: since the last of `times` opening segments, at `sent`. Time stamps
    /// tell which one was answered, in ticks.
    pub(super) fn opened(&self, times: u32, sent: Time, now: Time) -> Span {
        match self.expiry.form {
            RackForm::Linux if times > 1 => self.expiry.ticks_between(sent, now),
            RackForm::Linux | RackForm::Rfc => now.since(sent),
        }
    }

    /// Updates the estimates with a round trip, and with them the timeout (rules 2.2 and 2.3).
    pub(super) fn measured(&mut self, took: Span, una: u64, max: u64) {
        self.measured = (self.measured.0 + 1, self.measured.1 + took.ticks());
        self.estimates.measured(took, una, max);
        let margin = self.estimates.margin().max(Span::from_ticks(self.granularity));
        self.set(self.estimates.srtt().unwrap_or(took) + margin);
    }

    /// Sets the timeout within its bounds (rules 2.4 and 2.5).
    fn set(&mut self, rto: Span) {
        self.rto = rto.max(self.minimum).min(self.maximum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::PolicyParams;

    fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    fn timer(granularity: u64, minimum: u64) -> Timer {
        let (granularity, minimum_rto) = (ms(granularity), ms(minimum));
        Timer::new(&TcpParams { granularity, minimum_rto, ..TcpParams::example() })
    }

    /// Measures a round trip of `took` milliseconds that begins `at` milliseconds after the start.
    fn measure(timer: &mut Timer, at: u64, took: u64) {
        timer.time(at, Time::ORIGIN + ms(at));
        timer.acknowledged(at, at, Time::ORIGIN + ms(at + took));
    }

    /// RFC 6298, section 2, by hand: R = 100 ms, then 180 ms.
    #[test]
    fn estimates_follow_the_rules() {
        let mut timer = timer(1, 1);
        assert_eq!((timer.rto(), timer.srtt()), (ms(1000), None));
        measure(&mut timer, 10, 100);
        // SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR.
        assert_eq!((timer.srtt(), timer.rto()), (Some(ms(100)), ms(300)));
        measure(&mut timer, 500, 180);
        // RTTVAR = 3/4 · 50 + 1/4 · 80 = 57.5; SRTT = 7/8 · 100 + 1/8 · 180 = 110; RTO = 110 + 230.
        assert_eq!((timer.srtt(), timer.rto()), (Some(ms(110)), ms(340)));
        // With the variation gone, the granularity is the least margin (rule 2.3).
        (0..200).for_each(|round| measure(&mut timer, 1000 + 200 * round, 110));
        assert_eq!(timer.rto(), ms(111));
    }

    #[test]
    fn the_timeout_doubles_up_to_its_maximum_and_waits_for_a_measurement() {
        let mut timer = timer(1, 200);
        measure(&mut timer, 0, 100);
        let mut seen = Vec::new();
        for _ in 0..10 {
            timer.back_off();
            seen.push(timer.rto().ticks() / ms(1).ticks());
        }
        assert_eq!(seen, [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000, 60_000]);
        // Karn: data sent again are not measured.
        timer.time(5, Time::ORIGIN + ms(200_000));
        timer.forget_timed();
        timer.acknowledged(5, 5, Time::ORIGIN + ms(200_100));
        assert_eq!(timer.rto(), ms(60_000));
        measure(&mut timer, 300_000, 100);
        assert_eq!(timer.rto(), ms(250));
    }

    /// The era's clock: 500 ms ticks, at least one second.
    #[test]
    fn a_coarse_clock_sees_ticks() {
        let mut timer = timer(500, 1000);
        timer.begin(Time::ORIGIN + ms(7));
        // From 107 ms to 407 ms no tick passes: one tick. RTO = 500 + 4 · 250.
        measure(&mut timer, 107, 300);
        assert_eq!((timer.srtt(), timer.rto()), (Some(ms(500)), ms(1500)));
        // From 457 ms to 557 ms, one at 507 ms.
        measure(&mut timer, 457, 100);
        assert_eq!((timer.srtt(), timer.rto()), (Some(ms(500)), ms(1250)));
        (0..40).for_each(|round| measure(&mut timer, 1107 + 500 * round, 300));
        assert_eq!(timer.rto(), ms(1000));
        // It expires at a tick: 507 ms, 1007 ms and so on.
        timer.restart(Time::ORIGIN + ms(600));
        assert_eq!(timer.due(), Time::ORIGIN + ms(2007));
        timer.restart(Time::ORIGIN + ms(1007));
        assert_eq!(timer.due(), Time::ORIGIN + ms(2007));
    }
}
