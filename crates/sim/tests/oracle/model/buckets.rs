//! Token buckets and ceilings, counted in ticks: a packet costs its time at the bucket's rate.

use super::Ticks;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Rate, Span};

fn cost(rate: Rate, len: u32) -> i64 {
    rate.time_for(len).ticks() as i64
}

/// A packet that waits in an envelope.
#[derive(Clone, Debug)]
pub struct Waiting<P> {
    pub packet: P,
    pub len: u32,
    /// Its place in the order of arrival at its switch.
    pub order: u64,
}

/// Outcome of a packet at an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    Conforms,
    Marked,
    Waits,
    Discarded,
}

/// A bucket that is full at first, and a peak rate. A packet that is longer than the bucket is deep
/// (a change may bring that) conforms when the bucket is full, and leaves a debt.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: Rate,
    burst: u32,
    peak: Option<Rate>,
    /// Content of the bucket, as of `since`.
    level: i64,
    since: Ticks,
    /// Time until which the last packet occupies the peak rate.
    apart: Ticks,
}

impl Bucket {
    pub fn new(rate: Rate, burst: u32, peak: Option<Rate>) -> Bucket {
        Bucket { rate, burst, peak, level: cost(rate, burst), since: 0, apart: 0 }
    }

    fn depth(&self) -> i64 {
        cost(self.rate, self.burst)
    }

    /// Content of the bucket now.
    fn fill(&mut self, now: Ticks) -> i64 {
        self.level = (self.level + (now - self.since) as i64).min(self.depth());
        self.since = now;
        self.level
    }

    /// Content of the bucket that a packet needs.
    fn needed(&self, len: u32) -> i64 {
        cost(self.rate, len).min(self.depth())
    }

    /// Time at which a packet conforms if nothing is taken before; in the past if it conforms now.
    fn conforms_at(&self, len: u32) -> Ticks {
        let missing = (self.needed(len) - self.level).max(0);
        (self.since + missing as u64).max(self.apart)
    }

    /// Returns true if a packet conforms now, and takes it.
    pub fn passes(&mut self, now: Ticks, len: u32) -> bool {
        self.fill(now);
        let passes = self.conforms_at(len) <= now;
        if passes {
            self.take(now, len);
        }
        passes
    }

    fn take(&mut self, now: Ticks, len: u32) {
        self.level = self.fill(now) - cost(self.rate, len);
        self.apart = now + self.peak.map_or(0, |peak| cost(peak, len) as u64);
    }

    /// Another rate and depth: the deficit of the bucket stays, in whole bytes.
    pub fn change(&mut self, now: Ticks, rate: Rate, burst: u32, peak: Option<Rate>) {
        let missing = self.depth() - self.fill(now);
        let bytes = self.rate.bytes_in(Span::from_ticks(missing as u64));
        (self.rate, self.burst, self.peak) = (rate, burst, peak);
        self.level = self.depth() - cost(rate, bytes as u32);
    }
}

/// A user-behaviour envelope: a bucket and a queue.
#[derive(Clone, Debug)]
pub struct Envelope<P> {
    plan: ShaperPlan,
    bucket: Bucket,
    pub waiting: Vec<Waiting<P>>,
}

impl<P: Clone> Envelope<P> {
    pub fn new(plan: ShaperPlan) -> Envelope<P> {
        Envelope { plan, bucket: Bucket::new(plan.rate, plan.burst, plan.peak), waiting: Vec::new() }
    }

    pub fn change(&mut self, now: Ticks, plan: ShaperPlan) {
        self.plan = plan;
        self.bucket.change(now, plan.rate, plan.burst, plan.peak);
    }

    pub fn arrive(&mut self, now: Ticks, packet: P, len: u32, order: u64) -> Passage {
        if self.waiting.is_empty() {
            if self.bucket.passes(now, len) {
                return Passage::Conforms;
            }
            match self.plan.excess {
                Excess::Wait => {}
                Excess::Drop => return Passage::Discarded,
                Excess::Mark => return Passage::Marked,
            }
        }
        let bytes: u64 = self.waiting.iter().map(|waiting| u64::from(waiting.len)).sum();
        let packets = self.waiting.len() as u64;
        if self.plan.queue.is_some_and(|queue| !queue.admits(packets + 1, bytes + u64::from(len))) {
            return Passage::Discarded;
        }
        self.waiting.push(Waiting { packet, len, order });
        Passage::Waits
    }

    /// Time at which the first waiting packet conforms, and its order of arrival.
    pub fn releases(&self) -> Option<(Ticks, u64)> {
        let first = self.waiting.first()?;
        Some((self.bucket.conforms_at(first.len), first.order))
    }

    /// Lets the first waiting packet go.
    pub fn release(&mut self, now: Ticks) -> Waiting<P> {
        let first = self.waiting.remove(0);
        self.bucket.take(now, first.len);
        first
    }
}

/// A ceiling: the time at which the next packet may start.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    pub rate: Rate,
    pub clear_at: Ticks,
}

impl Ceiling {
    pub fn new(rate: Rate) -> Ceiling {
        Ceiling { rate, clear_at: 0 }
    }

    /// Charges a packet that was present from `arrived` on and starts now. The delay behind its
    /// earliest possible start is credited to the next packet, by one packet's time at most.
    pub fn charge(&mut self, now: Ticks, arrived: Ticks, len: u32) {
        let time = self.rate.time_for(len).ticks();
        let could_start = self.clear_at.max(arrived).min(now);
        let late = (now - could_start).min(time);
        self.clear_at = now - late + time;
    }
}
