//! Reservations for the flows of a trace on a link, such that the delays promised to them hold.
//!
//! A VirtualClock port promises each packet of a flow with a reservation that it has left by its
//! stamp plus Lmax/C, whatever the other flows do ([`FlowAtPort`]; Xie and Lam 1995), as long as
//!
//! - the reservations sum to no more than the link's rate C, and
//! - the port's buffer holds the backlog of all flows with reservations, and one packet more, so
//!   that push-out never has to take one of theirs.
//!
//! Both follow from the packets of the trace without simulating the link. [`suggest`] gives a flow
//! the smallest reservation with which 99 % of its packets are promised their target, and serves
//! the flows first that need least. A flow for which no room is left, on the link or in the buffer,
//! gets none, and no other flow's target is changed for its sake.
//!
//! Assumptions: the flows cross the link in one direction; reservations hold for the whole run,
//! whenever their flows live; and future traffic is like the recorded traffic.

use super::{Trace, TraceFlow};
use tidegate_core::bounds::{FlowAtPort, Hop, buffer_for};
use tidegate_core::params::Limit;
use tidegate_core::stats::{PeakRate, Workahead, nearest_rank};
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

/// Percent of the link that may be reserved; the rest is room for unreserved traffic.
pub const RESERVABLE_PERCENT: u64 = 95;
/// A flow with fewer packets gets no reservation: it has no meaningful rate, and its 99th
/// percentile is its maximum.
pub const MIN_PACKETS: usize = 10;
/// A flow that lives for less than this gets no reservation: it would be over before anyone could
/// set one up.
pub const MIN_LIFE: Span = Span::from_secs(1);
/// A flow that lives for less than this percentage of the trace's span gets no reservation: as
/// reservations hold for the whole run, it would hardly ever be used.
pub const MIN_LIFE_PERCENT: u64 = 10;

/// A flow with a target delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayTarget {
    /// The flow's place in the trace.
    pub flow: usize,
    /// The delay that 99 % of its packets should keep.
    pub delay: Span,
}

/// The link that the flows cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its rate in bit/s.
    pub rate: u64,
    /// Its longest packet in bytes, over all flows.
    pub longest: u32,
    /// The limit of the port's queue, the packet in service included; `None` without one.
    pub buffer: Option<Limit>,
}

/// Reason for a flow's reservation, or for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Reserved: this rate is the smallest that promises the target, in this buffer.
    Target,
    /// Reserved: the mean rate alone already promises the target.
    MeanRate,
    /// Not reserved: fewer than [`MIN_PACKETS`] packets.
    FewPackets,
    /// Not reserved: lives for less than [`MIN_LIFE`] or [`MIN_LIFE_PERCENT`].
    ShortLife,
    /// Not reserved: the whole link is too slow for the target.
    LinkTooSlow,
    /// Not reserved: needs more of the link than the flows that need less have left.
    NoRoom,
    /// Not reserved: needs more of the buffer than they have left.
    NoBuffer,
}

/// Suggested reservation of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The target that it answers.
    pub target: DelayTarget,
    /// Reason for the answer.
    pub reason: Reason,
    /// Suggested rate in bit/s with at most three significant digits, never below the mean rate;
    /// `None` for a flow that is left out.
    pub reserve: Option<u64>,
    /// The smallest rate that would promise the target if the flow were alone and the buffer
    /// unlimited; `None` when there is none.
    pub needs: Option<u64>,
    /// The 99th percentile of its delays with the whole reservable rate; `None` when its mean rate
    /// exceeds that.
    pub best_p99: Option<Span>,
    /// Its largest backlog at the port with `reserve`, or with `needs` if it is left out: packets
    /// and bytes.
    pub backlog: Option<(u64, u64)>,
    /// The 99th percentile (nearest rank) over the flow's packets of the delay that is promised
    /// with `reserve`, from a packet's arrival until its last bit is out. `None` without a
    /// reservation.
    pub promised_p99: Option<Span>,
}

/// Observed traffic of a flow of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Bytes × 8 over their duration (for a flow its life), rounded up to whole bit/s; `None` when
    /// all its packets have one time.
    pub mean_rate: Option<u64>,
    /// Peak rate r̂ in bit/s ([`PeakRate`]).
    pub peak_rate: Option<u64>,
    /// W at the mean rate, in bytes ([`Workahead::max_backlog`]); `None` without one.
    pub workahead: Option<u64>,
    /// Its longest packet in bytes.
    pub longest: u32,
    /// Number of seconds since its first packet in which it sent.
    pub busy_seconds: u64,
}

/// Returns the observed traffic of the flow.
pub fn observe(flow: &TraceFlow) -> Observation {
    observe_over(&flow.packets, flow.life())
}

/// Like [`observe`], for packets in the order of time whose mean rate is taken over `duration`.
pub(super) fn observe_over(packets: &[(Span, u32)], duration: Span) -> Observation {
    let bytes: u64 = packets.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
    let bits = 8 * u128::from(bytes) * u128::from(TICKS_PER_SECOND);
    let mean = (duration > Span::ZERO).then(|| bits.div_ceil(u128::from(duration.ticks())));
    let mean_rate = mean.and_then(|mean| u64::try_from(mean).ok());
    let mut peak = PeakRate::new();
    packets.iter().for_each(|(time, bytes)| peak.see(Time::ORIGIN + *time, *bytes));
    let workahead = mean_rate.and_then(Rate::from_bits_per_second).map(|rate| {
        let mut ideal = Workahead::new(rate);
        for (time, bytes) in packets {
            ideal.see(Time::ORIGIN + *time, *bytes);
        }
        ideal.max_backlog()
    });
    let first = packets.first().map_or(Span::ZERO, |packet| packet.0);
    let seconds = packets.iter().map(|packet| (packet.0 - first).ticks() / TICKS_PER_SECOND);
    let (busy_seconds, _) = seconds
        .fold((0, None), |(count, last), second| (count + u64::from(last != Some(second)), Some(second)));
    let longest = packets.iter().map(|packet| packet.1).max().unwrap_or(0);
    Observation { mean_rate, peak_rate: peak.bits_per_second(), workahead, longest, busy_seconds }
}

/// Suggests reservations for the flows of `targets` on `link`: one answer for each target, in their
/// order. `again` is true if the trace is played more than once, end to end.
///
/// Reservations sum to at most [`RESERVABLE_PERCENT`] of the link. `None` when the link's rate is
/// not within 1 bit/s to 10 Tbit/s. Takes time in proportion to packets × log(link rate / mean
/// rate).
///
/// # Panics
/// When a target names no flow of the trace.
pub fn suggest(trace: &Trace, link: Link, again: bool, targets: &[DelayTarget]) -> Option<Vec<Suggestion>> {
    let rate = Rate::from_bits_per_second(link.rate)?;
    let usable = u64::try_from(u128::from(link.rate) * u128::from(RESERVABLE_PERCENT) / 100).ok()?;
    let port = Hop { rate, largest: link.longest, delay: Span::ZERO };
    let mut answers = Vec::with_capacity(targets.len());
    let mut needs = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let flow = &trace.flows[target.flow];
        let need = Need::new(at, *target, flow, again, usable, port);
        let least = need.as_ref().and_then(|need| need.least(|_| true, need.highest));
        let left_out = left_out(flow, trace.span);
        let reason = left_out.unwrap_or(if least.is_some() { Reason::NoRoom } else { Reason::LinkTooSlow });
        answers.push(Suggestion {
            target: *target,
            reason,
            reserve: None,
            needs: least.map(|(rung, _)| rung_rate(rung)),
            backlog: least.map(|(_, promise)| promise.backlog),
            best_p99: need.as_ref().and_then(|need| Some(need.promise(rung_rate(need.highest))?.p99)),
            promised_p99: None,
        });
        if let (None, Some(need), Some((rung, _))) = (left_out, need, least) {
            needs.push((rung, need));
        }
    }
    needs.sort_by_key(|(rung, need)| (*rung, need.at));
    let mut left = usable;
    // Total backlog of the flows with reservations.
    let mut taken = (0, 0);
    for (least, need) in needs {
        let answer = &mut answers[need.at];
        let highest = rungs_around(left).1;
        if least > highest {
            continue;
        }
        let Some((rung, promise)) = need.least(|backlog| holds(link, [taken, backlog]), highest) else {
            answer.reason = Reason::NoBuffer;
            continue;
        };
        let reserve = rung_rate(rung);
        left -= reserve;
        taken = (taken.0 + promise.backlog.0, taken.1 + promise.backlog.1);
        answer.reason = if rung == need.lowest { Reason::MeanRate } else { Reason::Target };
        answer.reserve = Some(reserve);
        answer.backlog = Some(promise.backlog);
        answer.promised_p99 = Some(promise.p99);
    }
    Some(answers)
}

/// Returns true if the link's buffer holds these backlogs of flows.
fn holds(link: Link, flows: [(u64, u64); 2]) -> bool {
    let (packets, bytes) = buffer_for(flows, link.longest);
    link.buffer.is_none_or(|buffer| buffer.admits(packets, bytes))
}

/// Returns the reason why a flow of a trace of this span gets no reservation, whatever room there
/// is.
fn left_out(flow: &TraceFlow, span: Span) -> Option<Reason> {
    let life = flow.life();
    match flow.packets.len() {
        0..MIN_PACKETS => Some(Reason::FewPackets),
        _ if life < MIN_LIFE || life.ticks() / MIN_LIFE_PERCENT < span.ticks() / 100 => {
            Some(Reason::ShortLife)
        }
        _ => None,
    }
}

/// Returns the rate of a rung. Rates are searched on a ladder: the whole numbers of at most three
/// significant digits, in order. Below 100 bit/s a rung's number is its rate; above, every decade
/// has 900 rungs, at most 1 % apart.
fn rung_rate(rung: u64) -> u64 {
    match rung.checked_sub(100) {
        None => rung,
        Some(above) => (100 + above % 900) * 10u64.pow((above / 900) as u32),
    }
}

/// Returns the lowest rate of at least `rate` that has at most three significant digits.
pub(super) fn rate_from(rate: u64) -> u64 {
    rung_rate(rungs_around(rate).0)
}

/// Returns the lowest rung with a rate of at least `rate`, and the highest with a rate of at most
/// `rate`.
fn rungs_around(rate: u64) -> (u64, u64) {
    if rate < 100 {
        return (rate, rate);
    }
    let decade = rate.ilog10() - 2;
    let power = 10u64.pow(decade);
    let below = 100 + 900 * u64::from(decade) + (rate / power - 100);
    (below + u64::from(!rate.is_multiple_of(power)), below)
}

/// Delay and backlog promised to a flow at some rate.
#[derive(Clone, Copy)]
struct Promise {
    p99: Span,
    backlog: (u64, u64),
}

/// A flow and the rates that it may need.
struct Need<'a> {
    /// Its place among the targets.
    at: usize,
    target: Span,
    flow: &'a TraceFlow,
    passes: u64,
    /// Rungs of the mean rate, and of the whole reservable rate.
    lowest: u64,
    highest: u64,
    port: Hop,
}

impl<'a> Need<'a> {
    /// Returns `None` when not even its mean rate may be reserved.
    fn new(
        at: usize,
        target: DelayTarget,
        flow: &'a TraceFlow,
        again: bool,
        usable: u64,
        port: Hop,
    ) -> Option<Need<'a>> {
        let mean = observe(flow).mean_rate?;
        let (lowest, highest) = (rungs_around(mean.max(1)).0, rungs_around(usable).1);
        let (passes, target) = (1 + u64::from(again), target.delay);
        (lowest <= highest).then_some(Need { at, target, flow, passes, lowest, highest, port })
    }

    /// Returns the lowest rung, from the mean rate up to `highest`, that promises the target with a
    /// backlog that `fits`, with its promise.
    fn least(&self, fits: impl Fn((u64, u64)) -> bool, highest: u64) -> Option<(u64, Promise)> {
        let kept = |rung| {
            let promise = self.promise(rung_rate(rung))?;
            (promise.p99 <= self.target && fits(promise.backlog)).then_some((rung, promise))
        };
        if highest < self.lowest {
            return None;
        }
        if let Some(found) = kept(self.lowest) {
            return Some(found);
        }
        // Delay and backlog do not grow with the rate.
        let (mut low, mut high) = (self.lowest, kept(highest)?);
        while high.0 - low > 1 {
            let middle = low + (high.0 - low) / 2;
            match kept(middle) {
                Some(found) => high = found,
                None => low = middle,
            }
        }
        Some(high)
    }

    /// Returns the promise at `bits` bit/s, not below the mean rate.
    ///
    /// A pass starts with the backlog left by the previous one. As no pass brings more than the
    /// rate drains, the backlog is constant from the second pass on, which is the worst of all.
    fn promise(&self, bits: u64) -> Option<Promise> {
        let mut flow = FlowAtPort::new(Rate::from_bits_per_second(bits)?, self.port);
        let schedule = self.flow.schedule(1.0, self.passes).ok()?;
        let mut delays: Vec<Span> =
            schedule.map(|(time, bytes)| flow.see(Time::ORIGIN + time, bytes)).collect();
        let last = delays.len() - self.flow.packets.len();
        Some(Promise { p99: nearest_rank(&mut delays[last..], 99, 100)?, backlog: flow.most() })
    }
}
