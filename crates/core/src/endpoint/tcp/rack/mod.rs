//! RACK (RFC 8985, sections 5 and 6): derives the segments that are in the network, have arrived or
//! are lost from the time of each segment's last transmission.
//!
//! Names are those of the RFC. A segment keeps its bounds when it is sent again. Transmissions are
//! numbered in the order in which they leave, which is the order of RACK_sent_after(): by time, and
//! at equal times by byte number.

mod min_rtt;
mod probe;
mod reordering;
mod samples;
mod undo;

use super::RackForm;
use super::expiry::Expiry;
use super::ranges::Ranges;
use super::rates::Rates;
use super::segment::Block;
use crate::units::{Span, Time};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use min_rtt::MinRtt;
use probe::Probe;
use reordering::Reordering;
use samples::Samples;
pub(super) use undo::Undo;

/// State of a connection with RACK-TLP.
#[derive(Debug)]
pub(super) struct Rack {
    /// Segments that are not acknowledged, in the order of bytes.
    segments: VecDeque<Sent>,
    /// The last transmission of each segment in the network, and the segment's first byte.
    in_network: BTreeMap<u64, u64>,
    /// Bytes of these segments.
    pipe: u64,
    /// First bytes of segments that are lost and were not sent again since.
    lost: BTreeSet<u64>,
    /// Segments found to be lost that have not arrived since, sent again or not.
    missing: u32,
    sacked: Ranges,
    /// Segments that were SACKed (RACK.segs_sacked).
    segs_sacked: u32,
    /// Transmissions so far, and their number at the last reduction of the window.
    transmissions: u64,
    reduced_after: u64,
    min_rtt: MinRtt,
    expiry: Expiry,
    /// The last transmission that has arrived (RACK.segment).
    latest: u64,
    /// The round trip by which segments are late (RACK.rtt): that of the last transmission, or of the last
    /// segment that was acknowledged.
    rtt: Span,
    /// End of the highest segment that has arrived (RACK.fack).
    fack: u64,
    pub(super) reordering: Reordering,
    /// Time at which the reordering timer expires; [`Time::NEVER`] while it is off.
    reorder_at: Time,
    pub(super) probe: Probe,
    pub(super) undo: Option<Undo>,
    /// Samples of the delivery rate, for a control that has a model of the path.
    pub(super) rates: Option<Box<Rates>>,
}

/// A segment that was sent.
#[derive(Debug)]
struct Sent {
    start: u64,
    end: u64,
    /// Time of the last transmission (Segment.xmit_ts), and its number.
    at: Time,
    number: u64,
    /// True if the segment was sent more than once (Segment.retransmitted).
    again: bool,
    /// True if the segment was SACKed.
    sacked: bool,
    /// True if a transmission of it was found to be lost.
    lost: bool,
}

impl Sent {
    fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// Arrivals that an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrived {
    /// Their bytes.
    pub(super) bytes: u64,
    /// The round trip of the first one.
    pub(super) first: Option<Span>,
    /// The round trip of the last one of those that were sent once.
    pub(super) last: Option<Span>,
    /// The last transmission among them, and its round trip.
    pub(super) newest: Option<(u64, Span)>,
    /// The round trip of the one with the highest bytes: of those acknowledged, or else of those SACKed.
    pub(super) highest: Option<Span>,
    /// The least end of those that were sent once.
    pub(super) original: Option<u64>,
}

/// Losses found by RACK_detect_loss().
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    /// True if any segment was lost.
    pub(super) any: bool,
    /// True if a segment was lost that left after the last reduction of the window.
    pub(super) later: bool,
    /// True if one of them had been sent again.
    pub(super) again: bool,
}

impl Rack {
    pub(super) fn new(expiry: Expiry, longest_ack_delay: Span) -> Rack {
        Rack {
            segments: VecDeque::new(),
            in_network: BTreeMap::new(),
            pipe: 0,
            lost: BTreeSet::new(),
            missing: 0,
            sacked: Ranges::default(),
            segs_sacked: 0,
            transmissions: 0,
            reduced_after: 0,
            min_rtt: MinRtt::default(),
            expiry,
            latest: 0,
            rtt: Span::ZERO,
            fack: 0,
            reordering: Reordering::default(),
            reorder_at: Time::NEVER,
            probe: Probe::new(expiry, longest_ack_delay),
            undo: None,
            rates: None,
        }
    }

    /// Bytes in the network: neither acknowledged nor SACKed nor lost.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Segments that were SACKed (RACK.segs_sacked).
    pub(super) fn segs_sacked(&self) -> u32 {
        self.segs_sacked
    }

    /// Returns true while a segment that was found to be lost has not arrived, sent again or not.
    pub(super) fn is_missing_any(&self) -> bool {
        self.missing > 0
    }

    /// Returns the time of the last transmission of the first segment that is not acknowledged.
    pub(super) fn first_left_at(&self) -> Option<Time> {
        self.segments.front().map(|sent| sent.at)
    }

    /// Records the round trip of the handshake.
    pub(super) fn opened(&mut self, rtt: Span, now: Time) {
        self.probe.measured();
        self.min_rtt.measured(rtt, now);
    }

    /// The least round trip of the last minutes (RACK.min_RTT).
    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.get()
    }

    /// Time at which the reordering timer expires; [`Time::NEVER`] while it is off.
    pub(super) fn reorder_at(&self) -> Time {
        self.reorder_at
    }

    /// The first segment that is lost and was not sent again.
    pub(super) fn next_lost(&self) -> Option<(u64, u64)> {
        let start = *self.lost.first()?;
        Some((start, self.segments[self.find(start)?].end))
    }

    /// The highest segment, if it is in the network.
    pub(super) fn highest(&self) -> Option<(u64, u64)> {
        let highest = self.segments.back().filter(|sent| self.in_network.contains_key(&sent.number))?;
        Some((highest.start, highest.end))
    }

    /// Records a reduction of the window: losses of segments sent so far give no further reason.
    pub(super) fn reduced(&mut self) {
        self.reduced_after = self.transmissions;
        self.probe.ends();
    }

    /// Records that a segment leaves, for the first time or again (section 6.1).
    pub(super) fn sent(&mut self, start: u64, end: u64, now: Time) {
        self.transmissions += 1;
        let number = self.transmissions;
        if let Some(rates) = &mut self.rates {
            rates.sent(start, number, now, self.segments.is_empty());
        }
        match self.find(start) {
            Some(at) => {
                self.leave_network(at);
                let sent = &mut self.segments[at];
                (sent.at, sent.number, sent.again) = (now, number, true);
            }
            None => {
                let first = Sent { start, end, at: now, number, again: false, sacked: false, lost: false };
                self.segments.push_back(first);
            }
        }
        self.in_network.insert(number, start);
        self.pipe += end - start;
    }

    /// Processes an acknowledgement of the bytes before `una` and of the blocks: RACK_update()
    /// (section 6.2, steps 1 to 3). The bytes before `una` count as arrived first: one
    /// acknowledgement shows no order among the segments that it reports.
    pub(super) fn acknowledged(
        &mut self,
        una: u64,
        blocks: impl Iterator<Item = Block>,
        now: Time,
    ) -> Arrived {
        let (mut found, mut samples) = (Arrived::default(), Samples::default());
        while let Some(first) = self.segments.front().filter(|sent| sent.end <= una) {
            let rtt = now.since(first.at);
            // A time stamp of an earlier transmission tells nothing here.
            let is_earlier =
                first.again && self.min_rtt.get().is_some_and(|least| rtt + self.expiry.tick < least);
            let stamped = (!is_earlier).then(|| self.expiry.ticks_between(first.at, now));
            samples.acknowledged(rtt, stamped, first.again, first.sacked);
            self.arrived(0, now, &mut found);
            let sent = self.segments.pop_front();
            self.segs_sacked -= u32::from(sent.is_some_and(|sent| sent.sacked));
        }
        self.sacked.remove_below(una);
        let acknowledged = found.highest.take();
        let mut fresh = Vec::new();
        for Block { start, end } in blocks {
            let (start, end) = (start.max(una), end.min(self.end()));
            fresh.extend(self.sacked.gaps(start, end));
            self.sacked.insert(start, end);
        }
        fresh.sort_unstable();
        for (start, end) in fresh {
            let mut at = self.segments.partition_point(|sent| sent.start < start);
            while self.segments.get(at).is_some_and(|sent| sent.end <= end) {
                self.arrived(at, now, &mut found);
                let sent = &mut self.segments[at];
                if !sent.sacked {
                    samples.sacked(now.since(sent.at), sent.again);
                }
                sent.sacked = true;
                self.segs_sacked += 1;
                at += 1;
            }
        }
        if let Some((number, rtt)) = found.newest {
            self.rtt = match self.expiry.form {
                RackForm::Rfc => rtt,
                RackForm::Linux => acknowledged.or(found.highest).unwrap_or(rtt),
            };
            self.latest = self.latest.max(number);
        }
        if self.expiry.form == RackForm::Linux {
            let ends = samples.ends();
            (found.first, found.last) = (ends.map(|(first, _)| first), ends.map(|(_, last)| last));
            if let Some((_, last)) = ends {
                self.min_rtt.measured(last, now);
            }
        }
        found
    }

    /// Records the arrival of a segment among those that an acknowledgement reports.
    fn arrived(&mut self, at: usize, now: Time, found: &mut Arrived) {
        if self.segments[at].sacked {
            return;
        }
        self.leave_network(at);
        self.missing -= u32::from(core::mem::take(&mut self.segments[at].lost));
        let Sent { start, end, at: sent, number, again, .. } = self.segments[at];
        let rtt = now.since(sent);
        found.bytes += end - start;
        if let Some(rates) = &mut self.rates {
            rates.arrived(start, end - start, now);
        }
        if end < self.fack && !again {
            self.reordering.seen();
        }
        self.fack = self.fack.max(end);
        if !again {
            if self.expiry.form == RackForm::Rfc {
                self.min_rtt.measured(rtt, now);
            }
            self.probe.measured();
            found.last = Some(rtt);
            found.original = Some(found.original.map_or(end, |least| least.min(end)));
        } else if self.min_rtt.get().is_some_and(|least| rtt < least) {
            // The acknowledgement is for an earlier transmission.
            return;
        }
        found.first.get_or_insert(rtt);
        found.highest = Some(rtt);
        if found.newest.is_none_or(|(last, _)| last < number) {
            found.newest = Some((number, rtt));
        }
    }

    /// RACK_detect_loss(), which also sets the reordering timer (section 6.2, step 5).
    pub(super) fn detect_losses(&mut self, now: Time, srtt: Option<Span>, is_recovering: bool) -> Losses {
        let allowed = self.rtt + self.reordering_window(srtt, is_recovering);
        let mut found = Losses::default();
        while let Some((&number, &start)) = self.in_network.range(..self.latest).next()
            && let Some(at) = self.find(start)
            && self.segments[at].at + allowed <= now
        {
            found.any = true;
            found.later |= number > self.reduced_after;
            found.again |= self.segments[at].again;
            self.lose(at);
        }
        let last = self.in_network.range(..self.latest).next_back();
        let last = last.and_then(|(_, start)| self.find(*start));
        self.reorder_at = last.map_or(Time::NEVER, |at| {
            let lost_at = self.segments[at].at + allowed;
            self.expiry.after(now, lost_at.since(now) + self.expiry.slack)
        });
        found
    }

    /// Processes an expired retransmission timer: RACK_mark_losses_on_RTO() (section 6.3).
    pub(super) fn timed_out(&mut self, now: Time, srtt: Option<Span>) {
        let allowed = self.rtt + self.reordering_window(srtt, true);
        let is_late = |sent: &Sent| sent.at + allowed <= now;
        for at in 0..self.segments.len() {
            let sent = &self.segments[at];
            if self.in_network.contains_key(&sent.number) && (at == 0 || is_late(sent)) {
                self.lose(at);
            }
        }
        (self.reorder_at, self.undo) = (Time::NEVER, None);
    }

    /// Takes back that segments are lost, as far as they were not sent again.
    pub(super) fn none_is_lost(&mut self) {
        for start in core::mem::take(&mut self.lost) {
            let Some(at) = self.find(start) else { continue };
            self.missing -= u32::from(core::mem::take(&mut self.segments[at].lost));
            let Sent { end, number, .. } = self.segments[at];
            self.in_network.insert(number, start);
            self.pipe += end - start;
        }
    }

    /// RACK.reo_wnd (section 6.2, step 4).
    fn reordering_window(&self, srtt: Option<Span>, is_recovering: bool) -> Span {
        let min_rtt = self.min_rtt.get().unwrap_or(Span::ZERO);
        self.reordering.window(min_rtt, srtt.unwrap_or(self.rtt), self.segs_sacked, is_recovering)
    }

    /// Marks a segment as lost.
    fn lose(&mut self, at: usize) {
        self.leave_network(at);
        if let Some(rates) = &mut self.rates {
            rates.lose(self.segments[at].len());
        }
        self.lost.insert(self.segments[at].start);
        self.missing += u32::from(!core::mem::replace(&mut self.segments[at].lost, true));
    }

    /// Removes a segment from the network: it has arrived, is lost, or its last transmission no
    /// longer counts.
    fn leave_network(&mut self, at: usize) {
        let sent = &self.segments[at];
        if self.in_network.remove(&sent.number).is_some() {
            self.pipe -= sent.len();
        }
        self.lost.remove(&sent.start);
    }

    /// End of the data that were sent.
    fn end(&self) -> u64 {
        self.segments.back().map_or(0, |sent| sent.end)
    }

    fn find(&self, start: u64) -> Option<usize> {
        self.segments.binary_search_by_key(&start, |sent| sent.start).ok()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
