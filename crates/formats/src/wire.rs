//! The line of a link, of a scenario or of a gate that emulates one.

use crate::error::{Complaint, Report};
use crate::keys::wire as keys;
use crate::section::Placed;
use std::sync::Arc;
use tidegate_core::link::{Distribution, Jitter, LinePlan, Pace, RateSteps, Reordering, Steps};
use tidegate_core::units::{Rate, Span};

/// Reads a line with this rate, pace and delay, which a trace may determine, and with what else the
/// keys state; `None` once a mistake has been reported.
pub(crate) fn read(
    rate_bits: u64,
    pace: Pace,
    delay: Span,
    keys: &keys::Wire,
    report: &mut Report,
) -> Option<LinePlan> {
    let rate = Rate::from_bits_per_second(rate_bits)?;
    let loss = keys.loss.of_link()?;
    let reordering = reordering(keys, report)?;
    let jitter = match keys.jitter.as_ref() {
        Some(jitter) => of_jitter(jitter, report)?,
        None => Jitter::NONE,
    };
    let (pace, delays) = changes(rate, pace, delay, keys, report)?;
    Some(LinePlan { rate, pace, delay, delays, jitter, loss, reordering })
}

fn reordering(keys: &keys::Wire, report: &mut Report) -> Option<Reordering> {
    let keys::Wire { reorder, reorder_delay, .. } = keys;
    let (probability, longer) = (**reorder, **reorder_delay);
    if probability > 0.0 && longer.is_none_or(|longer| longer == Span::ZERO) {
        let complaint = Complaint::new("`reorder` needs a `reorder_delay` above zero");
        report.add(
            reorder.place,
            complaint.help("add the extra delay of an overtaken packet, as in reorder_delay = \"5ms\""),
        );
        return None;
    }
    if probability == 0.0 && reorder_delay.given {
        let complaint = Complaint::new("`reorder_delay` without `reorder`: no packet is delayed");
        report.add(reorder_delay.place, complaint);
        return None;
    }
    Reordering::new(probability, longer.unwrap_or(Span::ZERO)).ok()
}

fn of_jitter(jitter: &keys::Jitter, report: &mut Report) -> Option<Jitter> {
    use keys::Jitter::{Exponential, Normal, Pareto, Uniform};
    let (distribution, place, order) = match jitter {
        Uniform(keys) => (Distribution::Uniform { spread: *keys.spread }, keys.spread.place, &keys.order),
        Normal(keys) => {
            (Distribution::Normal { deviation: *keys.deviation }, keys.deviation.place, &keys.order)
        }
        Exponential(keys) => (Distribution::Exponential { mean: *keys.mean }, keys.mean.place, &keys.order),
        Pareto(keys) => {
            let (mean, shape) = (*keys.mean, *keys.shape);
            (Distribution::Pareto { mean, shape }, keys.shape.place, &keys.order)
        }
    };
    let read = Jitter::new(distribution, *order.reorders);
    read.map_err(|refused| report.add(place, Complaint::new(refused.to_string()))).ok()
}

/// The delays of a line that change; `None` for one that does not.
type Delays = Option<Arc<Steps<Span>>>;

/// Returns the pace and the delays with the changes of the keys.
fn changes(
    rate: Rate,
    pace: Pace,
    delay: Span,
    keys: &keys::Wire,
    report: &mut Report,
) -> Option<(Pace, Delays)> {
    let keys::Wire { change: changes, repeat, .. } = keys;
    let mut last = Span::ZERO;
    let (mut rate_now, mut delay_now, mut is_up) = (rate, delay, true);
    let (mut rates, mut delays) = (Vec::new(), Vec::new());
    for change in changes.iter() {
        check(change, last, &pace, report)?;
        let keys::Change { at, rate, delay, state } = &**change;
        last = **at;
        if let Some(rate) = **rate {
            rate_now = Rate::from_bits_per_second(rate)?;
        }
        delay_now = delay.unwrap_or(delay_now);
        is_up = state.map_or(is_up, |state| state == keys::LinkState::Up);
        rates.push((last, is_up.then_some(rate_now)));
        delays.push((last, delay_now));
    }
    if let Some(period) = **repeat
        && (changes.is_empty() || period <= last)
    {
        let complaint = match changes.is_empty() {
            true => Complaint::new("`repeat` without a `change`: nothing comes again"),
            false => Complaint::new("`repeat` is not longer than the time of the last `change`"),
        };
        report.add(repeat.place, complaint);
        return None;
    }
    let changes_rate = rates.iter().any(|(_, then)| *then != Some(rate));
    let changes_delay = delays.iter().any(|(_, then)| *then != delay);
    let pace = match changes_rate {
        true => Pace::Steps(Arc::new(RateSteps::new(Some(rate), rates, **repeat).ok()?)),
        false => pace,
    };
    let delays = match changes_delay {
        true => Some(Arc::new(Steps::new(delay, delays, **repeat).ok()?)),
        false => None,
    };
    Some((pace, delays))
}

/// Checks a change after one at `before`; `None` once a mistake has been reported.
fn check(change: &Placed<keys::Change>, before: Span, pace: &Pace, report: &mut Report) -> Option<()> {
    let keys::Change { at, rate, delay, state } = &**change;
    let (place, complaint) = if **at <= before {
        let complaint = Complaint::new("a `change` comes later than the one before it, and than the start");
        (at.place, complaint.help("sort the changes by `at`"))
    } else if !rate.given && !delay.given && !state.given {
        let complaint = Complaint::new("this `change` changes nothing");
        (change.place, complaint.help("state its `rate`, its `delay` or its `state`"))
    } else if !pace.is_steady() && (rate.given || state.given) {
        let place = if rate.given { rate.place } else { state.place };
        let complaint = Complaint::new("the rate of a link with a `trace` is that of the trace");
        (place, complaint.help("change its `delay` alone; an outage is a gap in the trace"))
    } else {
        return Some(());
    };
    report.add(place, complaint);
    None
}
