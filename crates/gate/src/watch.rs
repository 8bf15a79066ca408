//! What a gate does at the moment: the difference between two reports, and what of it is worth saying.

use crate::report::{DirectionReport, FlowReport, Report};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tidegate_spec::units::show_rate;

/// A flow that sends so much more than it reserves is told of.
const MARGIN: f64 = 1.01;
/// A flow whose packets wait longer than this, in seconds, or are dropped, suffers from that.
const SUFFERS: f64 = 20e-3;

/// What was seen between the last two reports.
#[derive(Default)]
pub(crate) struct Watch {
    before: Option<Report>,
    recent: Recent,
    /// Warnings that hold at the moment: each is told once, and again only after it was over.
    told: BTreeSet<String>,
}

/// Rates over the last period, direction by direction, flow by flow in the order of the file.
#[derive(Default)]
struct Recent {
    seconds: f64,
    flows: [Vec<RecentFlow>; 2],
}

#[derive(Default)]
struct RecentFlow {
    /// On the wire, in bit/s.
    arriving: f64,
    sending: f64,
    /// Packets dropped in the period.
    dropped: u64,
    /// 99 % quantile of the delay of those sent in the period, in seconds.
    delay: f64,
}

impl Watch {
    /// Looks at a new report, and says what is worth telling now.
    pub(crate) fn see(&mut self, report: Report) -> Vec<String> {
        if let Some(before) = &self.before {
            self.recent = Recent::between(before, &report);
        }
        let mut warnings = report.warnings_by_kind();
        for (one, recent) in report.directions.iter().zip(&self.recent.flows) {
            for (flow, recent) in one.flows.iter().zip(recent) {
                if let Some(reserve) = starved(flow, recent) {
                    let about = format!("{} {}", one.direction.name(), flow.name);
                    warnings.push((about, starvation(one, flow, recent, reserve)));
                }
            }
        }
        self.before = Some(report);
        let holds: BTreeSet<String> = warnings.iter().map(|(about, _)| about.clone()).collect();
        warnings.retain(|(about, _)| !self.told.contains(about));
        self.told = holds;
        warnings.into_iter().map(|(_, warning)| warning).collect()
    }

    /// A report of this moment, with what happened in the last whole period.
    pub(crate) fn json(&self, report: &Report) -> Value {
        let mut json = report.json();
        json["period"] = self.recent.seconds.into();
        let Some(before) = &self.before else { return json };
        for (side, one) in report.directions.iter().enumerate() {
            let flows = &mut json["directions"][one.direction.name()]["flows"];
            for (ix, flow) in one.flows.iter().enumerate() {
                let seen = &before.directions[side].flows;
                let Some(at) = seen.iter().position(|seen| seen.name == flow.name) else { continue };
                let Some(recent) = self.recent.flows[side].get(at) else { continue };
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

    /// Whether a flow sends more than it reserves and suffers from it, by direction and place in the file.
    pub(crate) fn is_starved(&self, direction: usize, ix: usize) -> bool {
        let flow = self.before.as_ref().and_then(|report| report.directions[direction].flows.get(ix));
        let recent = self.recent.flows[direction].get(ix);
        flow.zip(recent).is_some_and(|(flow, recent)| starved(flow, recent).is_some())
    }
}

/// What the flow reserves, if it sends more and suffers: where others fill the link, it gets what it
/// reserves, and what is too much waits ever longer.
fn starved(flow: &FlowReport, recent: &RecentFlow) -> Option<u64> {
    let reserve = flow.reserve.filter(|_| flow.single)?;
    let above = recent.arriving > reserve as f64 * MARGIN;
    (above && (recent.dropped > 0 || recent.delay > SUFFERS)).then_some(reserve)
}

fn starvation(one: &DirectionReport, flow: &FlowReport, recent: &RecentFlow, reserve: u64) -> String {
    format!(
        "{}: {} sends {} on the wire, reserved {}: it waits {:.0} ms (99 %), {} packets were dropped",
        one.direction.name(),
        flow.name,
        show_rate(round(recent.arriving)),
        show_rate(reserve),
        recent.delay * 1e3,
        recent.dropped,
    )
}

/// To three significant digits: what was measured over a second is not known better.
pub(crate) fn round(rate: f64) -> u64 {
    let unit = 10_f64.powf((rate.max(1.0).log10().floor() - 2.0).max(0.0));
    ((rate / unit).round() * unit) as u64
}

impl Recent {
    fn between(before: &Report, now: &Report) -> Recent {
        let seconds = now.process.seconds - before.process.seconds;
        let flows = [0, 1].map(|side| {
            let (before, now) = (&before.directions[side].flows, &now.directions[side].flows);
            let recent = |flow: &FlowReport| {
                before
                    .iter()
                    .find(|one| one.name == flow.name)
                    .map(|one| RecentFlow::between(one, flow, seconds))
            };
            now.iter().map(|flow| recent(flow).unwrap_or_default()).collect()
        });
        Recent { seconds, flows }
    }
}

impl RecentFlow {
    fn between(before: &FlowReport, now: &FlowReport, seconds: f64) -> RecentFlow {
        let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 * 8.0 / seconds.max(1e-9);
        let mut delays = now.seen.delays.clone();
        // What was seen before is part of what was seen until now, unless the flow is a new one of its name.
        let delay = match delays.subtract(&before.seen.delays) {
            Ok(()) => delays.value_at_quantile(0.99) as f64 / 1e6,
            Err(_) => 0.0,
        };
        RecentFlow {
            arriving: rate(before.counters.arrived.bytes, now.counters.arrived.bytes),
            sending: rate(before.counters.sent.bytes, now.counters.sent.bytes),
            dropped: now.counters.dropped.packets.saturating_sub(before.counters.dropped.packets),
            delay,
        }
    }
}
