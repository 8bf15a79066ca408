//! Schedulability test of an earliest-deadline-first server: it keeps all deadlines, or overruns.
//!
//! Flows that send at most Aⱼ(x) bytes in any time x, with local delay bounds dⱼ and packets of up
//! to Lⱼ bytes, share a link of C bytes a second. Every packet's last bit is out by its deadline if
//! for all t at or above the least bound
//!
//! `Σⱼ Aⱼ(t − dⱼ) + max {Lₖ : dₖ > t} ≤ C · t`
//!
//! (Liebeherr, Wrege and Ferrari, "Exact admission control for networks with a bounded delay
//! service", IEEE/ACM ToN 4(6), 1996, theorem 1; Georgiadis, Guérin and Parekh 1997). Aⱼ counts
//! from 0, where it is a burst; the maximum is the packet that was in service already and is due
//! later, datagrams included. Where flows may send their envelopes the condition is also necessary.
//!
//! In a class, C t is replaced by the strict service curve R (t − T) that the schedulers above
//! guarantee.
//!
//! Here Aⱼ(x) = min(W + r x, L + r̂ x), with r̂ only where it is stated. At a port behind others,
//! packets may come closer together than their source has sent them, unless regulators hold them
//! apart.

use crate::contract::Contract;
use crate::params::Guarantee;
use crate::units::Rate;
use alloc::vec::Vec;

/// Flows with equal terms.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineDemand {
    /// Number of flows; with 0, one packet in service counts.
    pub count: u64,
    /// Terms of each flow. Without a deadline, or without W and r, its demand is unknown.
    pub contract: Contract,
    /// Their largest packet, in bytes; 0 when it is not known.
    pub largest: u32,
}

/// A time at which more is due than the link carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overrun {
    /// Index of a demand with a packet that may be late.
    pub index: usize,
    /// Seconds of the worst arrivals after which it is late.
    pub within: f64,
    /// Bytes that may be due by then, the packet in service before them included.
    pub due: f64,
    /// Bytes that the link carries by then.
    pub carried: f64,
}

/// Error that the rounding of rates may cause in an exact fit.
const ROUNDING: f64 = 1e-6;

/// A step of the demand with this index: at `within` seconds, `burst` more bytes are due at once,
/// and `rate` more bytes a second from then on.
struct Event {
    within: f64,
    index: usize,
    burst: f64,
    rate: f64,
}

fn bytes_per_second(rate: Rate) -> f64 {
    rate.bits_per_second() / 8.0
}

/// Steps of all demands, in the order of time.
fn events(demands: &[DeadlineDemand]) -> Vec<Event> {
    let mut events = Vec::new();
    for (index, DeadlineDemand { count, contract, largest }) in demands.iter().enumerate() {
        let (Some(deadline), Some(reserve), Some(workahead), 1..) =
            (contract.deadline, contract.reserve, contract.max_workahead(), *count)
        else {
            continue;
        };
        let (all, within) = (*count as f64, deadline.as_secs_f64());
        let (reserve, workahead) = (bytes_per_second(reserve), workahead as f64);
        let mut add = |within, burst: f64, rate: f64| {
            events.push(Event { within, index, burst: all * burst, rate: all * rate });
        };
        match contract.peak.map(|peak| bytes_per_second(peak).max(reserve)) {
            // The peak rate bounds the traffic until W is used up.
            Some(peak) if peak > reserve && workahead > f64::from(*largest) => {
                add(within, f64::from(*largest), peak);
                let used_up = (workahead - f64::from(*largest)) / (peak - reserve);
                add(within + used_up, 0.0, reserve - peak);
            }
            Some(peak) if peak <= reserve => add(within, workahead.min(f64::from(*largest)), reserve),
            _ => add(within, workahead, reserve),
        }
    }
    events.sort_by(|a, b| a.within.total_cmp(&b.within));
    events
}

/// The first overrun of a link of this rate; `None` if all deadlines are kept.
pub fn first_overrun(link: Rate, demands: &[DeadlineDemand]) -> Option<Overrun> {
    first_overrun_of(Guarantee::of_link(link), demands)
}

/// Like [`first_overrun`], for a server with a strict service curve in place of a link: it carries
/// `rate` times the time that exceeds `latency`.
pub fn first_overrun_of(server: Guarantee, demands: &[DeadlineDemand]) -> Option<Overrun> {
    let capacity = server.rate;
    let carries = |within: f64| capacity * (within - server.latency).max(0.0);
    // Packets that may be in service, the latest due first.
    let due =
        |demand: &DeadlineDemand| demand.contract.deadline.map_or(f64::INFINITY, |due| due.as_secs_f64());
    let mut blocking: Vec<(f64, f64)> =
        demands.iter().map(|demand| (due(demand), f64::from(demand.largest))).collect();
    blocking.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut longest = 0.0_f64;
    blocking.iter_mut().for_each(|(_, largest)| {
        longest = longest.max(*largest);
        *largest = longest;
    });
    // The longest packet that is due later than `within`, or then.
    let blocks = |within: f64, then: bool| {
        let later = blocking.partition_point(|(due, _)| *due > within || (then && *due == within));
        later.checked_sub(1).map_or(0.0, |last| blocking[last].1)
    };
    let (mut sum, mut rate, mut at) = (0.0, 0.0, 0.0);
    let mut last = None;
    let events = events(demands);
    for (nth, event) in events.iter().enumerate() {
        let carried = carries(event.within);
        let overrun = |index, due: f64| {
            (due > carried * (1.0 + ROUNDING)).then_some(Overrun {
                index,
                within: event.within,
                due,
                carried,
            })
        };
        sum += rate * (event.within - at);
        if let Some(index) = last.filter(|_| event.within > at)
            && let Some(overrun) = overrun(index, sum + blocks(event.within, true))
        {
            return Some(overrun);
        }
        sum += event.burst;
        rate += event.rate;
        (at, last) = (event.within, Some(event.index));
        // Bursts of one instant are due together.
        if events.get(nth + 1).is_none_or(|next| next.within > event.within)
            && let Some(overrun) = overrun(event.index, sum + blocks(event.within, false))
        {
            return Some(overrun);
        }
    }
    // Beyond the last event the demand approaches the service at a constant rate: the overrun is a
    // second after they meet.
    let index = last.filter(|_| rate > capacity * (1.0 + ROUNDING))?;
    let within = at + (carries(at) - sum).max(0.0) / (rate - capacity) + 1.0;
    Some(Overrun { index, within, due: sum + rate * (within - at), carried: carries(within) })
}
