//! Rates of the last period, as the difference between two reports, and the warnings that follow
//! from them.

use crate::stats::NO_MATCH;
use crate::telemetry::report::{DirectionReport, FlowReport, Report};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_formats::units::show_rate;

/// A flow is starved only when it sends more than this many times its reservation.
const MARGIN: f64 = 1.01;
/// A flow is starved only when its packets wait longer than this, in seconds, or are dropped.
const LONG_DELAY: f64 = 20e-3;
/// Packets that match no rule wait too long when their delay is above this, in seconds.
const LONG_DELAY_WITHOUT_RULE: f64 = 100e-3;

/// Compares each report with the one before.
#[derive(Default)]
pub(crate) struct Monitor {
    before: Option<Arc<Report>>,
    period: Period,
    /// Current warnings: each is returned once, and again only after it has ceased to hold.
    active: BTreeSet<String>,
}

/// Rates over the last period, direction by direction, flow by flow in the order of the file.
#[derive(Default)]
struct Period {
    seconds: f64,
    flows: [Vec<FlowRates>; 2],
}

#[derive(Default)]
struct FlowRates {
    /// On the wire, in bit/s.
    arriving: f64,
    sending: f64,
    /// Packets dropped in the period.
    dropped: u64,
    /// 99 % quantile of the delay of the packets sent in the period, in seconds.
    delay: f64,
}

impl Monitor {
    /// Takes a new report and returns the warnings that are new.
    pub(crate) fn update(&mut self, report: Arc<Report>) -> Vec<String> {
        if let Some(before) = &self.before {
            self.period = Period::between(before, &report);
        }
        let mut warnings = report.warnings_by_kind();
        for (one, recent) in report.directions.iter().zip(&self.period.flows) {
            for (flow, recent) in one.flows.iter().zip(recent) {
                if flow.name == NO_MATCH && recent.delay > LONG_DELAY_WITHOUT_RULE {
                    let about = format!("{} delay {NO_MATCH}", one.direction.name());
                    warnings.push((about, unmatched_warning(one, recent)));
                } else if let Some(reserve) = starved(flow, recent) {
                    let about = format!("{} {}", one.direction.name(), flow.name);
                    warnings.push((about, starvation_warning(one, flow, recent, reserve)));
                }
            }
        }
        self.before = Some(report);
        let holds: BTreeSet<String> = warnings.iter().map(|(about, _)| about.clone()).collect();
        warnings.retain(|(about, _)| !self.active.contains(about));
        self.active = holds;
        warnings.into_iter().map(|(_, warning)| warning).collect()
    }

    /// A current report as JSON, with the rates of the last whole period.
    pub(crate) fn json(&self, report: &Report) -> Value {
        let mut json = report.json();
        json["period"] = self.period.seconds.into();
        let Some(before) = &self.before else { return json };
        for (side, one) in report.directions.iter().enumerate() {
            let flows = &mut json["directions"][one.direction.name()]["flows"];
            for (ix, flow) in one.flows.iter().enumerate() {
                let flows_before = &before.directions[side].flows;
                let Some(at) = flows_before.iter().position(|before| before.name == flow.name) else {
                    continue;
                };
                let Some(recent) = self.period.flows[side].get(at) else { continue };
                flows[ix]["recent"] = json!({
                    "arriving": recent.arriving,
                    "sending": recent.sending,
                    "dropped": recent.dropped,
                    "delay_p99": recent.delay,
                    "starved": starved(flow, recent).is_some(),
                });
            }
        }
        json
    }

    /// Returns true if a flow is starved, by direction and place in the file.
    pub(crate) fn is_starved(&self, direction: usize, ix: usize) -> bool {
        let flow = self.before.as_ref().and_then(|report| report.directions[direction].flows.get(ix));
        let recent = self.period.flows[direction].get(ix);
        flow.zip(recent).is_some_and(|(flow, recent)| starved(flow, recent).is_some())
    }
}

/// The reservation of a flow if it is starved: it sends more than it reserves, and its packets wait
/// long or are dropped. Where other flows fill the link, a starved flow gets its reservation, and
/// the excess waits ever longer.
fn starved(flow: &FlowReport, recent: &FlowRates) -> Option<u64> {
    let reserve = flow.reserve.filter(|_| flow.single)?;
    let above = recent.arriving > reserve as f64 * MARGIN;
    (above && (recent.dropped > 0 || recent.delay > LONG_DELAY)).then_some(reserve)
}

fn starvation_warning(one: &DirectionReport, flow: &FlowReport, recent: &FlowRates, reserve: u64) -> String {
    format!(
        "{}: {} sends {} on the wire, reserved {}: it waits {:.0} ms (99 %), {} packets were dropped",
        one.direction.name(),
        flow.name,
        show_rate(round_rate(recent.arriving)),
        show_rate(reserve),
        recent.delay * 1e3,
        recent.dropped,
    )
}

fn unmatched_warning(one: &DirectionReport, recent: &FlowRates) -> String {
    format!(
        "{}: packets that match no flow of the file wait {:.0} ms (99 %) at {} on the wire, {} were dropped: add a flow \
         that matches them",
        one.direction.name(),
        recent.delay * 1e3,
        show_rate(round_rate(recent.arriving)),
        recent.dropped,
    )
}

/// A rate to three significant digits: a measurement over a second is no more exact.
pub(crate) fn round_rate(rate: f64) -> u64 {
    let unit = 10_f64.powf((rate.max(1.0).log10().floor() - 2.0).max(0.0));
    ((rate / unit).round() * unit) as u64
}

impl Period {
    fn between(before: &Report, now: &Report) -> Period {
        let seconds = now.process.seconds - before.process.seconds;
        let flows = [0, 1].map(|side| {
            let (before, now) = (&before.directions[side].flows, &now.directions[side].flows);
            let recent = |flow: &FlowReport| {
                before
                    .iter()
                    .find(|one| one.name == flow.name)
                    .map(|one| FlowRates::between(one, flow, seconds))
            };
            now.iter().map(|flow| recent(flow).unwrap_or_default()).collect()
        });
        Period { seconds, flows }
    }
}

impl FlowRates {
    fn between(before: &FlowReport, now: &FlowReport, seconds: f64) -> FlowRates {
        let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 * 8.0 / seconds.max(1e-9);
        let mut delays = now.statistics.delays.clone();
        // The current delays include the previous ones, unless the flow is a new one of the same
        // name.
        let delay = match delays.subtract(&before.statistics.delays) {
            Ok(()) => delays.value_at_quantile(0.99) as f64 / 1e6,
            Err(_) => 0.0,
        };
        FlowRates {
            arriving: rate(before.counters.arrived.bytes, now.counters.arrived.bytes),
            sending: rate(before.counters.sent.bytes, now.counters.sent.bytes),
            dropped: now.counters.dropped.packets.saturating_sub(before.counters.dropped.packets),
            delay,
        }
    }
}
