//! Metrics for Prometheus (OpenMetrics 1.0 text).

use crate::telemetry::report::{DirectionReport, FlowReport, Report};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// Upper bounds of the delay histogram's buckets: from 2^4 to 2^22 microseconds, 16 us to 4.2 s.
const BUCKETS: std::ops::RangeInclusive<u32> = 4..=22;

/// The text of one scrape. `starved` is true for a starved flow, by direction and place in the
/// file.
pub(crate) fn text(report: &Report, starved: impl Fn(usize, usize) -> bool) -> String {
    let mut registry = Registry::with_prefix("tidegate");
    registry.register_collector(Box::new(Scrape::of(report, starved)));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

type Labels = Vec<(&'static str, String)>;

#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Counter(Vec<(Labels, u64)>),
    Seconds(Vec<(Labels, f64)>),
    Gauge(Vec<(Labels, f64)>),
    Histogram(Vec<(Labels, Buckets)>),
}

/// A histogram: the upper bound of each bucket, and the count in that bucket alone.
#[derive(Debug)]
struct Buckets {
    sum: f64,
    count: u64,
    within: Vec<(f64, u64)>,
}

#[derive(Debug)]
struct Scrape(Vec<Family>);

impl Scrape {
    fn of(report: &Report, starved: impl Fn(usize, usize) -> bool) -> Scrape {
        let gate = || vec![("gate", report.name.clone())];
        let direction = |one: &DirectionReport| vec![("direction", one.direction.name().to_owned())];
        let each = |value: &dyn Fn(&DirectionReport) -> u64| {
            Values::Counter(report.directions.iter().map(|one| (direction(one), value(one))).collect())
        };
        let gauge = |value: &dyn Fn(&DirectionReport) -> f64| {
            Values::Gauge(report.directions.iter().map(|one| (direction(one), value(one))).collect())
        };
        let named = |one: &DirectionReport, flow: &FlowReport| {
            vec![("direction", one.direction.name().to_owned()), ("flow", flow.name.clone())]
        };
        let flows = || {
            report
                .directions
                .iter()
                .flat_map(move |one| one.flows.iter().map(move |flow| (named(one, flow), flow)))
        };
        let flow_counter = |value: &dyn Fn(&FlowReport) -> u64| {
            Values::Counter(flows().map(|(labels, flow)| (labels, value(flow))).collect())
        };
        let flow_gauge = |value: &dyn Fn(&FlowReport) -> Option<f64>| {
            Values::Gauge(flows().filter_map(|(labels, flow)| Some((labels, value(flow)?))).collect())
        };
        let drops = report.directions.iter().flat_map(|one| {
            let labelled = move |(reason, count): (&'static str, u64)| {
                let mut labels = direction(one);
                labels.push(("reason", reason.to_owned()));
                (labels, count)
            };
            one.counters.drops().map(labelled).collect::<Vec<_>>()
        });
        let flow_drops = flows().flat_map(|(labels, flow)| {
            let labelled = move |reason: &str| {
                let mut labels = labels.clone();
                labels.push(("reason", reason.to_owned()));
                labels
            };
            flow.drops().map(|(reason, count)| (labelled(reason.name()), count)).collect::<Vec<_>>()
        });
        let lateness = report.directions.iter().flat_map(|one| {
            ["0.5", "0.99", "1"].into_iter().zip(one.lateness).map(|(quantile, value)| {
                let mut labels = direction(one);
                labels.push(("quantile", quantile.to_owned()));
                (labels, value)
            })
        });
        let delays = flows().map(|(labels, flow)| (labels, buckets(flow)));
        let starving = report.directions.iter().enumerate().flat_map(|(side, one)| {
            let value = |ix: usize| if starved(side, ix) { 1.0 } else { 0.0 };
            let reserving = one.flows.iter().enumerate().filter(|(_, flow)| flow.reserve.is_some());
            reserving.map(|(ix, flow)| (named(one, flow), value(ix))).collect::<Vec<_>>()
        });
        let beyond =
            flows().filter_map(|(labels, flow)| Some((labels, flow.statistics.envelope.as_ref()?.beyond)));
        let family = |name, help, values| Family { name, help, values };
        Scrape(vec![
            family("uptime_seconds", "Time since the gate started", {
                Values::Gauge(vec![(gate(), report.process.seconds)])
            }),
            family("cpu_seconds", "User and system time of the process", {
                Values::Seconds(vec![(gate(), report.process.cpu_seconds)])
            }),
            family("link_rate_bits_per_second", "Rate of a direction", gauge(&|one| one.rate)),
            family("received_frames", "Frames received", each(&|one| one.counters.received)),
            family("received_bytes", "Their bytes", each(&|one| one.counters.received_bytes)),
            family("sent_frames", "Frames sent", each(&|one| one.counters.sent)),
            family("sent_bytes", "Their bytes", each(&|one| one.counters.sent_bytes)),
            family("dropped_frames", "Frames dropped, by reason", Values::Counter(drops.collect())),
            family("held_frames", "Frames that are queued", gauge(&|one| one.held as f64)),
            family(
                "missed_frames",
                "Frames that the kernel lost before they were read",
                each(&|one| one.missed),
            ),
            family(
                "flowless_packets",
                "Packets that shared a queue because there was no room for flows of their own",
                each(&|one| one.overflowed),
            ),
            family(
                "stalls",
                "Number of times that the gate fell behind its link",
                each(&|one| one.counters.stalls),
            ),
            family("stalled_seconds", "Link time lost because the gate fell behind", {
                let lost =
                    report.directions.iter().map(|one| (direction(one), one.counters.stalled.as_secs_f64()));
                Values::Seconds(lost.collect())
            }),
            family(
                "lateness_seconds",
                "Time from when a frame's first bit was due until it was handed to the kernel, since the start",
                Values::Gauge(lateness.collect()),
            ),
            family("flow_arrived_packets", "Packets of a flow that arrived", {
                flow_counter(&|flow| flow.counters.arrived.packets)
            }),
            family("flow_arrived_bytes", "Bytes of these packets on the wire", {
                flow_counter(&|flow| flow.counters.arrived.bytes)
            }),
            family("flow_sent_packets", "Packets of a flow that were sent", {
                flow_counter(&|flow| flow.counters.sent.packets)
            }),
            family(
                "flow_sent_bytes",
                "Bytes of these packets on the wire",
                flow_counter(&|flow| flow.counters.sent.bytes),
            ),
            family(
                "flow_dropped_packets",
                "Packets of a flow that were dropped, by reason",
                Values::Counter(flow_drops.collect()),
            ),
            family("flow_marked_packets", "Packets of a flow that were marked instead of being dropped", {
                flow_counter(&|flow| flow.statistics.marked)
            }),
            family("flow_warnings", "Number of times that the flow monitor warned a flow", {
                flow_counter(&|flow| flow.statistics.warned)
            }),
            family(
                "flow_named",
                "Number of times that a detector named a flow because it does not respond to congestion",
                flow_counter(&|flow| flow.statistics.named),
            ),
            family(
                "flow_released",
                "Number of times that a named flow was released because it backed off",
                flow_counter(&|flow| flow.statistics.released),
            ),
            family(
                "flow_delay_seconds",
                "Time from a packet's arrival until its first bit was due",
                Values::Histogram(delays.collect()),
            ),
            family(
                "flow_largest_delay_seconds",
                "Largest time from a packet's arrival until its first bit was due, since the start",
                flow_gauge(&|flow| Some(flow.statistics.largest_delay.as_secs_f64())),
            ),
            family(
                "flow_delay_bound_seconds",
                "Bound on that time for a flow that reserves, as long as its packets are within its envelope",
                flow_gauge(&|flow| flow.bound),
            ),
            family(
                "flow_beyond_envelope_packets",
                "Packets that came beyond a flow's envelope: a token bucket with its reservation and its workahead",
                Values::Counter(beyond.collect()),
            ),
            family(
                "flow_lead_seconds",
                "Lead of a flow's clock over real time, the largest of several",
                flow_gauge(&|flow| Some(flow.lead.as_secs_f64())),
            ),
            family(
                "flow_members",
                "Current number of flows of this name",
                flow_gauge(&|flow| Some(flow.flows as f64)),
            ),
            family("flow_reserved_bits_per_second", "Reserved rate of a flow", {
                flow_gauge(&|flow| flow.reserve.map(|rate| rate as f64))
            }),
            family("flow_ceiling_bits_per_second", "Ceiling of a flow", {
                flow_gauge(&|flow| flow.ceiling.map(|rate| rate as f64))
            }),
            family(
                "flow_starved",
                "Whether a flow sends more than it reserves, and waits long or is dropped",
                Values::Gauge(starving.collect()),
            ),
        ])
    }
}

/// The histogram of a flow's delays.
fn buckets(flow: &FlowReport) -> Buckets {
    let delays = &flow.statistics.delays;
    let mut below = 0;
    let mut within: Vec<_> = BUCKETS
        .map(|power| {
            // The histogram's own buckets end at powers of two, so no value is counted twice and no
            // bucket is split.
            let upto = delays.iter_recorded().take_while(|value| value.value_iterated_to() < 1 << power);
            let count: u64 = upto.map(|value| value.count_since_last_iteration()).sum();
            let more = count - below;
            below = count;
            ((1_u64 << power) as f64 / 1e6, more)
        })
        .collect();
    within.push((f64::INFINITY, delays.len() - below));
    Buckets { sum: flow.statistics.delay_sum.as_secs_f64(), count: delays.len(), within }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let kind = match family.values {
                Values::Counter(_) | Values::Seconds(_) => MetricType::Counter,
                Values::Gauge(_) => MetricType::Gauge,
                Values::Histogram(_) => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            match &family.values {
                Values::Counter(values) => {
                    for (labels, value) in values {
                        metric.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(value, None)?;
                    }
                }
                Values::Seconds(values) => {
                    for (labels, value) in values {
                        metric.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(value, None)?;
                    }
                }
                Values::Gauge(values) => {
                    for (labels, value) in values {
                        metric.encode_family(labels)?.encode_gauge(value)?;
                    }
                }
                Values::Histogram(values) => {
                    for (labels, Buckets { sum, count, within }) in values {
                        metric
                            .encode_family(labels)?
                            .encode_histogram::<NoLabelSet>(*sum, *count, within, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}
