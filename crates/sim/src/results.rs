//! What a run has measured, as the tables that [`tidegate_spec::TABLES`] describes.

use crate::network::Network;
use crate::probe::Subject;
use crate::record::{Delays, quantile};
use crate::world::{Answer, Signal, World};
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::admission::Refusal;
use tidegate_core::stats::{Lengths, Moments};
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};
use tidegate_spec::units::{show_rate, show_time};
use tidegate_spec::{TABLES, TableRecord};

/// One column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Text that repeats: an index into `words` for each row.
    Text {
        /// For each row.
        keys: Vec<u32>,
        /// The words, in order of first appearance.
        words: Vec<String>,
    },
    /// Whole numbers.
    Whole(Vec<u64>),
    /// Numbers; `None` where nothing was measured.
    Number(Vec<Option<f64>>),
}

/// A result table: columns as its record describes them.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name and columns.
    pub record: &'static TableRecord,
    /// Values, by column.
    pub columns: Vec<Values>,
    lookup: Vec<BTreeMap<String, u32>>,
}

enum Cell<'a> {
    Text(&'a str),
    Whole(u64),
    Number(Option<f64>),
}

impl Table {
    fn new(name: &str) -> Table {
        // Names are written in this file only, and a test builds every table.
        let record = TABLES.iter().find(|record| record.name == name).unwrap_or(&TABLES[0]);
        let empty = |column: &tidegate_spec::Column| match column.column_type {
            tidegate_spec::ColumnType::Text => Values::Text { keys: Vec::new(), words: Vec::new() },
            tidegate_spec::ColumnType::Whole => Values::Whole(Vec::new()),
            tidegate_spec::ColumnType::Number => Values::Number(Vec::new()),
        };
        let columns = record.columns.iter().map(empty).collect();
        Table { record, columns, lookup: vec![BTreeMap::new(); record.columns.len()] }
    }

    fn row<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        debug_assert_eq!(N, self.columns.len(), "{}", self.record.name);
        for ((values, lookup), cell) in self.columns.iter_mut().zip(&mut self.lookup).zip(cells) {
            match (values, cell) {
                (Values::Text { keys, words }, Cell::Text(text)) => {
                    let key = match lookup.get(text) {
                        Some(key) => *key,
                        None => {
                            let key = words.len() as u32;
                            words.push(text.to_owned());
                            lookup.insert(text.to_owned(), key);
                            key
                        }
                    };
                    keys.push(key);
                }
                (Values::Whole(values), Cell::Whole(value)) => values.push(value),
                (Values::Number(values), Cell::Number(value)) => values.push(value),
                _ => debug_assert!(false, "a cell of table {} has another type", self.record.name),
            }
        }
    }
}

/// The tables of one replication, in the order of [`TABLES`].
pub fn tables<Q>(network: &Network, world: &World<Q>, replication: u64, seed: u64) -> Vec<Table> {
    let run = Run { network, world, replication, seed };
    vec![run.flows(), run.links(), run.series(), run.signals(), run.gate(), run.histogram()]
}

struct Run<'r, Q> {
    network: &'r Network,
    world: &'r World<Q>,
    replication: u64,
    seed: u64,
}

impl<Q> Run<'_, Q> {
    fn flows(&self) -> Table {
        let mut table = Table::new("flows");
        let measured = (self.network.duration - self.network.warmup).as_secs_f64();
        let is_refusal = |signal: &&Signal| matches!(signal.answer, Answer::Refused(..));
        let refused: BTreeSet<u32> =
            self.world.signals().iter().filter(is_refusal).map(|signal| signal.flow).collect();
        let node = |ix: usize| self.network.nodes[ix].name.as_str();
        for (ix, (flow, record)) in self.network.flows.iter().zip(self.world.records()).enumerate() {
            let (first, last) = (flow.route[0], flow.route[flow.route.len() - 1]);
            let delays = self.world.flow_delays().get(ix);
            // A bin ends above what is in it: no quantile is beyond the greatest.
            let at = |pick: fn(&Delays) -> &Histogram<u64>, q, moments: &Moments| {
                let most = moments.max().map_or(0.0, Span::as_secs_f64);
                Cell::Number(delays.and_then(|delays| quantile(pick(delays), q)).map(|at| at.min(most)))
            };
            table.row([
                Cell::Whole(self.replication),
                Cell::Whole(self.seed),
                Cell::Text(&flow.name),
                Cell::Text(&self.network.groups[flow.group]),
                Cell::Text(node(self.network.links[first].from)),
                Cell::Text(node(self.network.links[last].to)),
                Cell::Whole(flow.route.len() as u64),
                Cell::Whole(record.sent.0),
                Cell::Whole(record.sent.1),
                Cell::Whole(record.received.0),
                Cell::Whole(record.received.1),
                Cell::Whole(record.dropped),
                Cell::Whole(self.world.lost(ix)),
                Cell::Whole(record.discarded),
                self.world.envelope_wait(ix).map_or(Cell::Number(None), mean),
                Cell::Whole(self.world.checks(ix).checks),
                Cell::Whole(self.world.checks(ix).warnings),
                Cell::Whole(u64::from(refused.contains(&(ix as u32)))),
                Cell::Number(Some(record.received.1 as f64 * 8.0 / measured)),
                mean(&record.delay),
                Cell::Number(record.delay.sd_seconds()),
                greatest(&record.delay),
                at(|delays| &delays.delay, 0.5, &record.delay),
                at(|delays| &delays.delay, 0.99, &record.delay),
                at(|delays| &delays.delay, 0.999, &record.delay),
                mean(&record.queueing),
                Cell::Number(record.queueing.sd_seconds()),
                at(|delays| &delays.queueing, 0.99, &record.queueing),
                greatest(&record.queueing),
            ]);
        }
        table
    }

    fn links(&self) -> Table {
        let mut table = Table::new("links");
        for (ix, link) in self.network.links.iter().enumerate() {
            let report = self.world.link(ix);
            let ticks = report.measured.ticks() as f64;
            let over_time = |amount: f64| (ticks > 0.0).then(|| amount / ticks);
            let stats = report.stats.as_ref();
            let seen = stats.map(|stats| &stats.seen);
            let (packets, waited) = report.waited;
            let utilisation = match report.offered {
                Some(offered) => (offered > 0).then(|| report.sent.1 as f64 / offered as f64),
                None => stats.and_then(|stats| over_time(stats.busy().ticks() as f64)),
            };
            table.row([
                Cell::Whole(self.replication),
                Cell::Whole(self.seed),
                Cell::Text(&link.name),
                Cell::Text(&self.network.nodes[link.from].name),
                Cell::Text(&self.network.nodes[link.to].name),
                Cell::Whole(link.rate.bits_per_second().round() as u64),
                Cell::Whole(report.sent.0),
                Cell::Whole(report.sent.1),
                Cell::Whole(report.dropped),
                Cell::Whole(report.lost),
                Cell::Number(utilisation),
                Cell::Number(stats.and_then(|stats| over_time(stats.area() as f64))),
                Cell::Whole(stats.map_or(0, |stats| stats.longest)),
                Cell::Number(seen.and_then(Lengths::mean)),
                Cell::Number(seen.and_then(Lengths::sd)),
                Cell::Number(seen.and_then(|seen| seen.quantile(99, 100)).map(|packets| packets as f64)),
                Cell::Number((packets > 0).then(|| waited as f64 / packets as f64 / TICKS_PER_SECOND as f64)),
            ]);
        }
        table
    }

    fn series(&self) -> Table {
        let mut table = Table::new("series");
        let Some(series) = self.world.series() else { return table };
        let spacing = series.spacing().as_secs_f64();
        for column in series.columns() {
            let subject = match column.subject {
                Subject::Link(ix) => self.network.links[ix as usize].name.as_str(),
                Subject::Group(ix) => self.network.groups[ix as usize].as_str(),
                Subject::Flow(ix) => self.network.flows[ix as usize].name.as_str(),
                Subject::Relay(ix) => self.network.relays[ix as usize].name.as_str(),
            };
            for (ix, value) in column.values.iter().enumerate() {
                table.row([
                    Cell::Whole(self.replication),
                    Cell::Whole(self.seed),
                    Cell::Text(subject),
                    Cell::Number(Some(spacing * (column.from + ix + 1) as f64)),
                    Cell::Text(column.metric),
                    Cell::Number(Some(*value).filter(|value| !value.is_nan())),
                ]);
            }
        }
        table
    }

    fn signals(&self) -> Table {
        let mut table = Table::new("signals");
        for signal in self.world.signals() {
            let flow = &self.network.flows[signal.flow as usize];
            let (link, reason) = match signal.answer {
                Answer::Refused(link, refusal) | Answer::ChangeRefused(link, refusal) => {
                    (self.network.links[link].name.as_str(), reason(refusal))
                }
                _ => ("", String::new()),
            };
            table.row([
                Cell::Whole(self.replication),
                Cell::Whole(self.seed),
                Cell::Number(Some(signal.at.since(Time::ORIGIN).as_secs_f64())),
                Cell::Text(&flow.name),
                Cell::Text(&self.network.groups[flow.group]),
                Cell::Text(signal.answer.name()),
                Cell::Text(link),
                Cell::Text(&reason),
            ]);
        }
        table
    }

    fn gate(&self) -> Table {
        let mut table = Table::new("gate");
        let Some(gate) = &self.network.gate else { return table };
        for flow in self.world.gate_flows() {
            let counters = flow.counters;
            table.row([
                Cell::Whole(self.replication),
                Cell::Whole(self.seed),
                Cell::Text(flow.direction.name()),
                Cell::Text(flow.rule.map_or("(no match)", |rule| &gate.names[rule])),
                Cell::Whole(flow.flows as u64),
                Cell::Whole(counters.arrived.packets),
                Cell::Whole(counters.arrived.bytes),
                Cell::Whole(counters.sent.packets),
                Cell::Whole(counters.sent.bytes),
                Cell::Whole(counters.dropped.packets),
            ]);
        }
        table
    }

    fn histogram(&self) -> Table {
        let mut table = Table::new("histogram");
        for (group, delays) in self.network.groups.iter().zip(self.world.group_delays()) {
            for (metric, histogram) in [("delay", &delays.delay), ("queueing", &delays.queueing)] {
                for bin in histogram.iter_recorded() {
                    let (lower, upper) = (
                        histogram.lowest_equivalent(bin.value_iterated_to()),
                        histogram.next_non_equivalent(bin.value_iterated_to()),
                    );
                    table.row([
                        Cell::Whole(self.replication),
                        Cell::Whole(self.seed),
                        Cell::Text(group),
                        Cell::Text(metric),
                        Cell::Number(Some(lower as f64 * 1e-9)),
                        Cell::Number(Some(upper as f64 * 1e-9)),
                        Cell::Whole(bin.count_at_value()),
                    ]);
                }
            }
        }
        table
    }
}

/// A refusal in a scenario's units.
fn reason(refusal: Refusal) -> String {
    match refusal {
        Refusal::TooMuch { asked, left, reservable } => {
            format!("{} asked for, {} of {} left", show_rate(asked), show_rate(left), show_rate(reservable))
        }
        Refusal::IntervalTooShort { least } => {
            format!("the average interval is shorter than a packet's time, {}", show_time(least))
        }
        Refusal::IntervalTooLong { most } => {
            format!("the average interval is longer than {}", show_time(most))
        }
        Refusal::UnderWay | Refusal::Unknown => refusal.to_string(),
    }
}

fn mean(moments: &Moments) -> Cell<'static> {
    // The exact sum: the mean to the nearest tick would lose digits of short delays.
    let ticks = moments.sum_ticks() as f64 / moments.count() as f64;
    Cell::Number((moments.count() > 0).then(|| ticks / TICKS_PER_SECOND as f64))
}

fn greatest(moments: &Moments) -> Cell<'static> {
    Cell::Number(moments.max().map(Span::as_secs_f64))
}
