//! How much should each flow of a trace reserve on a link?
//!
//! VirtualClock promises that a packet of a flow with reserved rate R leaves by its
//! stamp plus Lmax/C, whatever the other flows do, as long as the reservations sum to
//! no more than the link's rate C (Xie and Lam 1995; Lmax is the longest packet on the
//! link). The stamp minus the arrival is the packet's delay at an ideal server of rate
//! R ([`Workahead`]). So the delay that a reservation would have promised each packet
//! of the trace is known without simulating the link, and [`suggest`] looks for the
//! smallest reservation that promises enough.
//!
//! What the answer takes for granted: all of the trace wants to leave by one link, in
//! one direction (give it one direction of a two-way capture); reservations hold for
//! the whole run, whenever their flows live; and the traffic to come is like the
//! traffic seen.

use super::{Trace, TraceFlow};
use std::cell::RefCell;
use std::collections::BTreeMap;
use tidegate_core::stats::{PeakRate, Workahead, nearest_rank};
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND, Time};

/// Percent of the link that may be reserved; the rest is room for unreserved traffic.
pub const RESERVABLE_PERCENT: u64 = 95;
/// A flow with fewer packets gets no reservation: it has no rate to speak of, and its
/// 99th percentile is its maximum.
pub const LEAST_PACKETS: usize = 10;
/// A flow that lives for less than this gets no reservation: it would be over before
/// anyone could set one up.
pub const LEAST_LIFE: Span = Span::from_secs(1);
/// A flow that lives for less than this percentage of the trace's span gets no
/// reservation: as reservations hold for the whole run, it would hardly ever be used.
pub const LEAST_LIFE_PERCENT: u64 = 10;

/// Why a flow gets the reservation that it gets, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Reserved: this rate is the smallest that promises the target.
    Target,
    /// Reserved: the mean rate alone already promises the target.
    MeanRate,
    /// Not reserved: fewer than [`LEAST_PACKETS`] packets.
    FewPackets,
    /// Not reserved: lives for less than [`LEAST_LIFE`] or [`LEAST_LIFE_PERCENT`].
    ShortLife,
    /// Not reserved: the mean rates do not all fit, and flows that need less were
    /// reserved first.
    NoRoom,
}

/// How far the target could be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every flow with a reservation is promised the target that was asked for.
    Met,
    /// It does not fit: the promise is [`Plan::target`], the smallest common target
    /// that fits (to 0.1 %).
    Relaxed,
    /// Not even the mean rates fit. Reserved are the flows that need least, as many as
    /// fit at the target that was asked for; when no flow can be promised that, those
    /// with the smallest mean rates, as many as fit, at [`Plan::target`].
    MeanRatesDoNotFit,
    /// No flow has packets and life enough for a reservation.
    NothingToReserve,
}

/// What one flow should reserve, and what it was seen to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The flow's name, as in the trace.
    pub flow: String,
    /// Packets seen.
    pub packets: u64,
    /// Bytes seen.
    pub bytes: u64,
    /// Bytes × 8 over the flow's life, rounded up to whole bit/s; `None` when all its
    /// packets have one time.
    pub mean_rate: Option<u64>,
    /// Peak rate r̂ in bit/s ([`PeakRate`]).
    pub peak_rate: Option<u64>,
    /// W at the mean rate, in bytes ([`Workahead::max_backlog`]); `None` without one.
    pub workahead: Option<u64>,
    /// What to reserve, in bit/s with at most three significant digits, never below the
    /// mean rate; `None` for a datagram flow.
    pub reserve: Option<u64>,
    /// Why.
    pub reason: Reason,
    /// The 99th percentile (nearest rank) over the flow's packets of the promised delay:
    /// the ideal server's at `reserve`, plus Lmax/C. From the arrival of the packet's
    /// last bit until its own last bit has left. `None` without a reservation.
    pub promised_p99: Option<Span>,
}

/// Reservations for the flows of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One suggestion a flow, in the order of the trace.
    pub flows: Vec<Suggestion>,
    /// How far the target could be met.
    pub outcome: Outcome,
    /// The target that the promises keep: the one asked for, or a greater one.
    pub target: Span,
    /// The sum of the reservations in bit/s: at most [`RESERVABLE_PERCENT`] of the link.
    pub reserved: u64,
    /// The longest packet of the trace over the link's rate, a part of every promise.
    pub longest_packet: Span,
}

impl Plan {
    /// Whether every flow that is not too short or too small is promised the target
    /// that was asked for.
    pub fn target_met(&self) -> bool {
        matches!(self.outcome, Outcome::Met | Outcome::NothingToReserve)
    }
}

/// Suggests what the flows of `trace` should reserve on a link of `link` bit/s, so that
/// 99 % of each flow's packets are promised a delay of at most `target`.
///
/// `None` when the link's rate is not within 1 bit/s to 10 Tbit/s. Takes time in
/// proportion to packets × log(link rate / mean rate).
pub fn suggest(trace: &Trace, link: u64, target: Span) -> Option<Plan> {
    let rate = Rate::from_bits_per_second(link)?;
    let usable = u64::try_from(u128::from(link) * u128::from(RESERVABLE_PERCENT) / 100).ok()?;
    let longest = trace.flows.iter().flat_map(|flow| &flow.packets).map(|packet| packet.1).max().unwrap_or(0);
    let longest_packet = rate.time_for(longest);
    let mut plan = Plan {
        flows: trace.flows.iter().map(|flow| observe(flow, trace.span)).collect(),
        outcome: Outcome::NothingToReserve,
        target,
        reserved: 0,
        longest_packet,
    };
    let wanted = plan.flows.iter().filter(|seen| seen.reason == Reason::NoRoom).count();
    if wanted == 0 {
        return Some(plan);
    }
    // A flow whose mean rate alone exceeds what may be reserved is left out here.
    let flows = trace.flows.iter().zip(&plan.flows).enumerate();
    let mut needs: Vec<Need> = flows
        .filter(|(_, (_, seen))| seen.reason == Reason::NoRoom)
        .filter_map(|(at, (flow, seen))| Need::new(at, flow, seen.mean_rate?, usable, longest_packet))
        .collect();
    let all_means_fit = needs.len() == wanted && fits(&needs, Span::MAX, usable);
    if !all_means_fit {
        let kept = match put_least_first(&mut needs, target, usable) {
            0 => put_least_first(&mut needs, Span::MAX, usable),
            kept => kept,
        };
        needs.truncate(kept);
    }
    let target_fits = fits(&needs, target, usable);
    if !target_fits {
        plan.target = smallest_target(&needs, usable, target);
    }
    plan.outcome = match (all_means_fit, target_fits) {
        (false, _) => Outcome::MeanRatesDoNotFit,
        (true, true) => Outcome::Met,
        (true, false) => Outcome::Relaxed,
    };
    for need in &needs {
        let Some(reserve) = need.rate_for(plan.target) else { continue };
        let seen = &mut plan.flows[need.at];
        seen.reserve = Some(reserve);
        seen.reason = if reserve == rung_rate(need.lowest) { Reason::MeanRate } else { Reason::Target };
        seen.promised_p99 = Some(need.promise(reserve));
        plan.reserved += reserve;
    }
    Some(plan)
}

/// What the flow was seen to do; its reason is `NoRoom` until there is room.
fn observe(flow: &TraceFlow, span: Span) -> Suggestion {
    let (bytes, life) = (flow.bytes(), flow.life());
    let bits = 8 * u128::from(bytes) * u128::from(TICKS_PER_SECOND);
    let mean = (life > Span::ZERO).then(|| bits.div_ceil(u128::from(life.ticks())));
    let mean_rate = mean.and_then(|mean| u64::try_from(mean).ok());
    let mut peak = PeakRate::new();
    flow.packets.iter().for_each(|(time, bytes)| peak.see(Time::ORIGIN + *time, *bytes));
    let workahead = mean_rate.and_then(Rate::from_bits_per_second).map(|rate| {
        let mut ideal = Workahead::new(rate);
        for (time, bytes) in &flow.packets {
            ideal.see(Time::ORIGIN + *time, *bytes);
        }
        ideal.max_backlog()
    });
    let reason = match flow.packets.len() {
        0..LEAST_PACKETS => Reason::FewPackets,
        _ if life < LEAST_LIFE || life.ticks() / LEAST_LIFE_PERCENT < span.ticks() / 100 => Reason::ShortLife,
        _ => Reason::NoRoom,
    };
    Suggestion {
        flow: flow.name.clone(),
        packets: flow.packets.len() as u64,
        bytes,
        mean_rate,
        peak_rate: peak.bits_per_second(),
        workahead,
        reserve: None,
        reason,
        promised_p99: None,
    }
}

/// Rates are searched on a ladder: the whole numbers of at most three significant
/// digits, in order. Below 100 bit/s a rung's number is its rate; above, every decade
/// has 900 rungs, at most 1 % apart.
fn rung_rate(rung: u64) -> u64 {
    match rung.checked_sub(100) {
        None => rung,
        Some(above) => (100 + above % 900) * 10u64.pow((above / 900) as u32),
    }
}

/// The lowest rung whose rate is at least `rate`, and the highest whose rate is at most.
fn rungs_around(rate: u64) -> (u64, u64) {
    if rate < 100 {
        return (rate, rate);
    }
    let decade = rate.ilog10() - 2;
    let power = 10u64.pow(decade);
    let below = 100 + 900 * u64::from(decade) + (rate / power - 100);
    (below + u64::from(!rate.is_multiple_of(power)), below)
}

/// A flow and the rates that it needs for one target or another.
struct Need<'a> {
    /// Its place in the trace.
    at: usize,
    packets: &'a [(Span, u32)],
    /// Rungs: of the mean rate, and of all that may be reserved.
    lowest: u64,
    highest: u64,
    /// Part of every promise.
    extra: Span,
    /// Promises by rung, because one search meets the rungs of another.
    known: RefCell<BTreeMap<u64, Span>>,
}

impl<'a> Need<'a> {
    fn new(at: usize, flow: &'a TraceFlow, mean: u64, usable: u64, extra: Span) -> Option<Need<'a>> {
        let (lowest, highest) = (rungs_around(mean.max(1)).0, rungs_around(usable).1);
        let packets = &flow.packets;
        (lowest <= highest).then(|| Need { at, packets, lowest, highest, extra, known: RefCell::default() })
    }

    /// The smallest rate on the ladder, from the mean rate on, that promises `target`,
    /// in bit/s; `None` when all that may be reserved is too little.
    fn rate_for(&self, target: Span) -> Option<u64> {
        // The promise gets no longer as the rate rises.
        let (mut low, mut high) = (self.lowest, self.highest);
        if self.promise_at(low) <= target {
            return Some(rung_rate(low));
        }
        if self.promise_at(high) > target {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.promise_at(middle) <= target { high = middle } else { low = middle }
        }
        Some(rung_rate(high))
    }

    fn promise_at(&self, rung: u64) -> Span {
        if let Some(promise) = self.known.borrow().get(&rung) {
            return *promise;
        }
        let promise = self.promise(rung_rate(rung));
        self.known.borrow_mut().insert(rung, promise);
        promise
    }

    /// The 99th percentile of the packets' promised delays at `bits` bit/s.
    fn promise(&self, bits: u64) -> Span {
        let Some(rate) = Rate::from_bits_per_second(bits) else { return Span::MAX };
        let mut ideal = Workahead::new(rate);
        let delays = self.packets.iter().map(|(time, bytes)| ideal.see(Time::ORIGIN + *time, *bytes));
        let mut delays: Vec<Span> = delays.collect();
        nearest_rank(&mut delays, 99, 100).unwrap_or(Span::MAX) + self.extra
    }
}

/// Whether what the flows need for `target` fits together.
fn fits(needs: &[Need<'_>], target: Span, usable: u64) -> bool {
    let sum = needs.iter().try_fold(0u64, |sum, need| Some(sum.saturating_add(need.rate_for(target)?)));
    sum.is_some_and(|sum| sum <= usable)
}

/// Puts the flows that need least for `target` first, and returns how many of them fit.
fn put_least_first(needs: &mut [Need<'_>], target: Span, usable: u64) -> usize {
    needs.sort_by_cached_key(|need| (need.rate_for(target).unwrap_or(u64::MAX), need.at));
    let left = needs.iter().scan(usable, |left, need| {
        *left = left.checked_sub(need.rate_for(target)?)?;
        Some(())
    });
    left.count()
}

/// The smallest common target above `low`, which does not fit, that does; to 0.1 %.
fn smallest_target(needs: &[Need<'_>], usable: u64, mut low: Span) -> Span {
    // At what the mean rates promise, the mean rates do, and they fit.
    let promises = needs.iter().map(|need| need.promise_at(need.lowest));
    let mut high = promises.max().unwrap_or(low);
    while (high - low).ticks() > high.ticks() / 1000 && (high - low).ticks() > 1 {
        let middle = Span::from_ticks(low.ticks() + (high - low).ticks() / 2);
        if fits(needs, middle, usable) { high = middle } else { low = middle }
    }
    high
}
