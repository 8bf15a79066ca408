//! Recordings in addition to the counters. Probes do not change any outcome.

use crate::watch::Watch;
use std::collections::BTreeMap;
use tidegate_core::units::{Span, Time};

/// Quantities to record.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Delays by group.
    pub delays: bool,
    /// Delays by flow: some 200 KB a flow.
    pub flow_delays: bool,
    /// Sampling interval of quantities over time; `None` for no sampling.
    pub sample: Option<Span>,
    /// Factors on the reserved rates of flows, for measuring their exact W along their routes;
    /// empty for no measurement. Some 100 bytes for each flow, place of its route and factor.
    pub workahead: Vec<f64>,
    /// Packets to follow.
    pub watch: Option<Watch>,
    /// Links to capture, by index: the packets that leave them are kept until they are taken
    /// ([`World::take_captured`](crate::world::World::take_captured)).
    pub captured: Vec<u32>,
    /// Log of every packet's events: some 40 bytes an event.
    pub log: bool,
}

/// Subject of a series, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// One direction of a link.
    Link(u32),
    /// A group of flows.
    Group(u32),
    /// A flow: the gauges of its endpoint.
    Flow(u32),
    /// A stage of the network's plan.
    Stage(u32),
    /// The VC of a flow at the port in front of a link.
    Vc {
        /// The link.
        link: u32,
        /// The flow.
        flow: u32,
    },
}

/// One quantity over time.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its subject.
    pub subject: Subject,
    /// The metric, as the table `series` names it.
    pub metric: &'static str,
    /// The sample at which it begins, from 0.
    pub from: usize,
    /// Its values, one per sample.
    pub values: Vec<f64>,
}

/// Quantities over time, by subject and metric.
#[derive(Clone, Debug)]
pub struct Series {
    spacing: Span,
    /// True if any port has a meter.
    pub(crate) metered: bool,
    next: Time,
    taken: usize,
    columns: Vec<Column>,
    places: BTreeMap<(Subject, &'static str), usize>,
    /// Values of counts at the previous sample, modulo 2⁶⁴.
    before: BTreeMap<(Subject, &'static str), u64>,
    /// Bytes received by each group since the previous sample.
    received: Vec<u64>,
}

impl Series {
    /// Creates a series for a network with `groups` groups of flows; `metered` is true if any of
    /// its ports has a meter.
    pub(crate) fn new(spacing: Span, groups: usize, metered: bool) -> Series {
        Series {
            spacing,
            metered,
            next: Time::ORIGIN + spacing,
            taken: 0,
            columns: Vec::new(),
            places: BTreeMap::new(),
            before: BTreeMap::new(),
            received: vec![0; groups],
        }
    }

    /// Returns the time of the next sample.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Completes the sample; the next one is due after the spacing.
    pub(crate) fn taken(&mut self) {
        self.taken += 1;
        self.next += self.spacing;
    }

    /// Returns the growth of a count since the previous sample.
    pub(crate) fn since_before(&mut self, subject: Subject, metric: &'static str, so_far: u64) -> u64 {
        so_far.wrapping_sub(self.before.insert((subject, metric), so_far).unwrap_or(0))
    }

    /// Restarts a count: `so_far` becomes its zero.
    pub(crate) fn anew(&mut self, subject: Subject, metric: &'static str, so_far: u64) {
        let before = self.before.entry((subject, metric)).or_insert(0);
        *before = before.wrapping_sub(so_far);
    }

    /// Takes the bytes that each group has received since the previous sample.
    pub(crate) fn take_received(&mut self) -> Vec<u64> {
        let groups = self.received.len();
        std::mem::replace(&mut self.received, vec![0; groups])
    }

    /// Adds a value to the present sample.
    pub(crate) fn add(&mut self, subject: Subject, metric: &'static str, value: f64) {
        let place = *self.places.entry((subject, metric)).or_insert_with(|| {
            self.columns.push(Column { subject, metric, from: self.taken, values: Vec::new() });
            self.columns.len() - 1
        });
        let column = &mut self.columns[place];
        // Earlier samples without this quantity have no value.
        column.values.resize(self.taken - column.from, f64::NAN);
        column.values.push(value);
    }

    #[inline]
    pub(crate) fn received(&mut self, group: usize, len: u32) {
        self.received[group] += u64::from(len);
    }

    /// Returns the time between samples.
    pub fn spacing(&self) -> Span {
        self.spacing
    }

    /// Returns all quantities, in the order in which they are listed.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the values of one quantity; nothing for one that was never measured.
    pub fn values(&self, subject: Subject, metric: &str) -> &[f64] {
        let column = self.columns.iter().find(|column| (column.subject, column.metric) == (subject, metric));
        column.map_or(&[], |column| &column.values)
    }
}
