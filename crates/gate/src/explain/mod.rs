//! Explanations of waiting: for what, and for whom, the packets of a flow, a host or a circuit waited
//! in the last minute.
//!
//! Some packets of every flow are looked at. At its arrival such a packet reads the accounts of the
//! levels that it will pass, from its flow to the line, and at its start it reads them again. The
//! differences say for how long the line was busy with packets of each level, and for how long each
//! ceiling was used up. They may overlap, as when the line sends for others while a ceiling holds
//! the packet; then the inner level counts.

mod accounts;
mod answer;
mod history;
mod pace;
mod round_trips;
mod senders;
mod text;

#[cfg(test)]
pub(crate) use round_trips::tests::segment;
pub(crate) use text::text;

use accounts::{Accounts, Reading};
use history::{Histories, Share, Subject};
use pace::Pace;
use round_trips::RoundTrips;
use senders::Senders;
use std::collections::BTreeMap;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::context::Reason;
use tidegate_core::headers::{Headers, LinkType};
use tidegate_core::link::Line;
use tidegate_core::packet::{BodyId, FlowIx, Leg, Packet, PortIx};
use tidegate_core::steering::{FlowOwner, Steering};
use tidegate_core::switch::{Level, Switch};
use tidegate_core::units::{Rate, Span, Time};

/// Shortest time between two packets of a flow that are looked at.
const SPACING: Span = Span::from_millis(50);
/// The most packets that are looked at and wait at a time.
const MAX_WAITING: usize = 4096;

/// A packet that is looked at, while it waits.
#[derive(Debug)]
struct Probe {
    arrived: Time,
    flow: FlowIx,
    readings: Vec<(Level, Reading)>,
}

/// The explanations of a direction.
#[derive(Debug)]
pub(crate) struct Explainer {
    port: PortIx,
    /// Number of classes in the plan; further ones are of hosts, subscribers and circuits.
    planned: u16,
    /// The beginning of all that is known.
    since: Time,
    accounts: Accounts,
    pace: Pace,
    waiting: BTreeMap<BodyId, Probe>,
    histories: Histories,
    senders: Senders,
    round_trips: RoundTrips,
    drops: Drops,
    /// True in a benchmark of the gate without explanations.
    #[cfg(feature = "bench")]
    left_out: bool,
}

impl Explainer {
    /// The explanations of a port with so many classes in its plan, in front of a line of this rate.
    pub(crate) fn new(now: Time, port: PortIx, classes: usize, rate: Rate) -> Explainer {
        Explainer {
            port,
            planned: classes as u16,
            since: now,
            accounts: Accounts::new(),
            pace: Pace::new(SPACING),
            waiting: BTreeMap::new(),
            histories: Histories::default(),
            senders: Senders::new(rate),
            round_trips: RoundTrips::new(),
            drops: Drops { until: Time::ORIGIN, seen: 0 },
            #[cfg(feature = "bench")]
            left_out: false,
        }
    }

    /// Notes nothing from now on.
    #[cfg(feature = "bench")]
    pub(crate) fn leave_out(&mut self) {
        self.left_out = true;
    }

    #[cfg(feature = "bench")]
    fn is_left_out(&self) -> bool {
        self.left_out
    }

    #[cfg(not(feature = "bench"))]
    fn is_left_out(&self) -> bool {
        false
    }

    /// Looks at a packet that arrives, if its turn has come.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, body: BodyId, flow: FlowIx, switch: &Switch) {
        if self.is_left_out() {
            return;
        }
        if self.pace.takes(now, flow) && self.waiting.len() < MAX_WAITING {
            let levels_of = |flow| switch.levels(Leg { port: self.port, flow });
            if self.waiting.is_empty() {
                self.accounts.resume(now, levels_of);
            }
            let levels = levels_of(flow);
            let read = |(level, clear_at)| (level, self.accounts.first(now, flow, level, clear_at));
            let probe = Probe { arrived: now, flow, readings: levels.map(read).collect() };
            self.waiting.insert(body, probe);
        }
    }

    /// Accounts for a packet that starts on a line, and leaves it free at `free_at`.
    pub(crate) fn start<'f>(
        &mut self,
        now: Time,
        packet: &Packet,
        (line, free_at): (&Line<BodyId>, Time),
        (switch, steering): (&Switch, &Steering),
        frame: impl FnOnce() -> &'f [u8],
    ) {
        if self.is_left_out() {
            return;
        }
        let flow = packet.flow;
        let leg = Leg { port: self.port, flow };
        if !self.waiting.is_empty()
            && let Some(probe) = self.waiting.remove(&packet.body)
        {
            let down = line.down_between(probe.arrived, now);
            self.finish(now, packet, &probe, down, steering);
        }
        if self.waiting.is_empty() {
            self.accounts.pass(free_at, flow);
        } else {
            self.accounts.start(now, free_at, flow, switch.levels(leg));
        }
        let (is_sample, is_noted) = (self.senders.takes(packet.len), self.round_trips.takes(now, flow));
        if is_sample || is_noted {
            let (headers, ip) = Headers::read_packet(LinkType::Ethernet, frame());
            let conversation = FiveTuple::of(&headers);
            if is_sample {
                let levels = switch.levels(leg).map(|(level, _)| level);
                self.senders.take(now, subject(steering, flow), conversation, levels);
            }
            if is_noted {
                self.round_trips.note(now, conversation, ip);
            }
        }
    }

    /// Returns the round trip of a packet of this direction that ends with an IP packet that came from
    /// the other side at a time.
    #[inline]
    pub(crate) fn echo<'f>(
        &mut self,
        came: Time,
        headers: &Headers,
        ip: impl FnOnce() -> &'f [u8],
    ) -> Option<Span> {
        if self.is_left_out() {
            return None;
        }
        self.round_trips.end(came, FiveTuple::of(headers), ip)
    }

    /// Adds a round trip that has ended with a packet of a flow.
    pub(crate) fn round_trip(
        &mut self,
        now: Time,
        flow: FlowIx,
        took: Span,
        (switch, steering): (&Switch, &Steering),
    ) {
        let levels = switch.levels(Leg { port: self.port, flow });
        let levels: Vec<Level> = levels.map(|(level, _)| level).collect();
        if let Some(part) = self.histories.part(now, subject(steering, flow), &levels) {
            part.round_trips.add(took);
        }
    }

    /// Counts a packet that was dropped.
    pub(crate) fn dropped(
        &mut self,
        now: Time,
        packet: &Packet,
        reason: Reason,
        (switch, steering): (&Switch, &Steering),
    ) {
        if self.is_left_out() {
            return;
        }
        self.waiting.remove(&packet.body);
        let count = self.drops.count(now);
        if count > 0 {
            let levels = switch.levels(Leg { port: self.port, flow: packet.flow });
            let levels: Vec<Level> = levels.map(|(level, _)| level).collect();
            if let Some(part) = self.histories.part(now, subject(steering, packet.flow), &levels) {
                part.dropped[reason as usize] += count;
            }
        }
    }

    /// Adds a packet that starts to its history, with the time for which the line was down meanwhile.
    fn finish(&mut self, now: Time, packet: &Packet, probe: &Probe, down: Span, steering: &Steering) {
        if probe.flow != packet.flow {
            return;
        }
        let since = probe.readings.iter().map(|(level, before)| {
            let after = self.accounts.read(now, probe.flow, *level);
            Reading { busy: after.busy - before.busy, held: after.held - before.held }
        });
        let since: Vec<Reading> = since.collect();
        let levels: Vec<Level> = probe.readings.iter().map(|(level, _)| *level).collect();
        let subject = subject(steering, probe.flow);
        let Some(part) = self.histories.part(now, subject, &levels) else { return };
        let waited = now.since(probe.arrived);
        // The rest of a packet that an outage interrupts follows it: the outage comes first.
        let down = down.min(waited);
        let (shares, scheduled) = divide(waited - down, &since);
        part.down += down;
        part.packets += 1;
        part.waited += waited;
        part.longest = part.longest.max(waited);
        part.scheduled += scheduled;
        for (share, more) in part.shares.iter_mut().zip(shares) {
            share.ahead += more.ahead;
            share.held += more.held;
        }
    }
}

/// Whose packets a flow has; those without a rule are together.
fn subject(steering: &Steering, flow: FlowIx) -> Subject {
    let found = steering.owner_of(flow);
    Subject { rule: found.map(|(rule, _)| rule), owner: found.map_or(FlowOwner::Rule, |(_, owner)| owner) }
}

/// Divides a time of waiting among the levels, the inner ones first; returns what none of them
/// explains as well.
fn divide(waited: Span, since: &[Reading]) -> (Vec<Share>, Span) {
    let mut left = waited;
    let mut take = |time: Span| {
        let taken = time.min(left);
        left = left - taken;
        taken
    };
    let mut inner = Span::ZERO;
    let share = |reading: &Reading| {
        let ahead = take(reading.busy - inner);
        inner = reading.busy;
        Share { ahead, held: take(reading.held) }
    };
    let shares = since.iter().map(share).collect();
    (shares, left)
}

/// Counts dropped packets: all of them, and one of many for many in a flood.
#[derive(Debug)]
struct Drops {
    until: Time,
    seen: u64,
}

/// Number of drops in a second that are all counted.
const MANY: u64 = 1000;
/// Number of drops beyond these that one stands for.
const EACH: u64 = 64;

impl Drops {
    /// The number of drops that this one stands for.
    fn count(&mut self, now: Time) -> u64 {
        if now >= self.until {
            (self.until, self.seen) = (now + Span::from_secs(1), 0);
        }
        self.seen += 1;
        match self.seen {
            ..=MANY => 1,
            beyond => {
                if (beyond - MANY).is_multiple_of(EACH) {
                    EACH
                } else {
                    0
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(busy: u64, held: u64) -> Reading {
        Reading { busy: Span::from_millis(busy), held: Span::from_millis(held) }
    }

    #[test]
    fn inner_levels_count_first() {
        // Its own packets were sent for 2 ms, its ceiling held it for 10, and the line was always busy.
        let (shares, scheduled) = divide(Span::from_millis(15), &[reading(2, 10), reading(15, 0)]);
        let times = shares.iter().map(|share| (share.ahead, share.held)).collect::<Vec<_>>();
        let millis = |one, other| (Span::from_millis(one), Span::from_millis(other));
        assert_eq!(times, [millis(2, 10), millis(3, 0)]);
        assert_eq!(scheduled, Span::ZERO);
        let (_, scheduled) = divide(Span::from_millis(5), &[reading(1, 0), reading(2, 0)]);
        assert_eq!(scheduled, Span::from_millis(3));
    }

    #[test]
    fn drops_of_a_flood_are_counted_on_the_whole() {
        let (mut drops, mut total) = (Drops { until: Time::ORIGIN, seen: 0 }, 0);
        for step in 0..1_000_000_u64 {
            total += drops.count(Time::ORIGIN + Span::from_micros(step * 10));
        }
        assert!((990_000..=1_000_000).contains(&total), "{total}");
    }
}
