//! What is recorded besides the counters. Probes change no outcome.

use crate::network::Network;
use crate::watch::Watch;
use crate::world::World;
use std::collections::BTreeMap;
use tidegate_core::units::{Span, Time};

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Delays by group.
    pub delays: bool,
    /// Delays by flow: some 200 KB a flow.
    pub flow_delays: bool,
    /// Quantities over time, sampled every so often; `None` for not at all.
    pub sample: Option<Span>,
    /// Packets to follow.
    pub watch: Option<Watch>,
}

/// What a series is of, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// One direction of a link.
    Link(u32),
    /// A group of flows.
    Group(u32),
    /// A flow: what its endpoint shows.
    Flow(u32),
    /// A relay that was planned beside a node.
    Relay(u32),
}

/// One quantity over time.
#[derive(Clone, Debug)]
pub struct Column {
    /// What it is of.
    pub subject: Subject,
    /// What was measured, as the table `series` names it.
    pub metric: &'static str,
    /// The sample at which it begins, from 0.
    pub from: usize,
    /// Its values, one a sample.
    pub values: Vec<f64>,
}

/// Quantities over time, by subject and metric.
#[derive(Clone, Debug)]
pub struct Series {
    spacing: Span,
    next: Time,
    taken: usize,
    columns: Vec<Column>,
    places: BTreeMap<(Subject, &'static str), usize>,
    /// Ticks for which each link had been sending at the sample before, modulo 2⁶⁴; with a trace, the bytes that
    /// it had sent.
    busy_before: Vec<u64>,
    /// Bytes received by each group since the sample before.
    received: Vec<u64>,
    /// Warnings to each group by the sample before.
    warnings_before: Vec<u64>,
    /// Whether any port has a meter.
    metered: bool,
}

impl Series {
    pub(crate) fn new(spacing: Span, network: &Network) -> Series {
        let (links, groups) = (network.links.len(), network.groups.len());
        Series {
            spacing,
            next: Time::ORIGIN + spacing,
            taken: 0,
            columns: Vec::new(),
            places: BTreeMap::new(),
            busy_before: vec![0; links],
            received: vec![0; groups],
            warnings_before: vec![0; groups],
            metered: network.links.iter().any(|link| !link.port.meters.is_empty()),
        }
    }

    /// When the next sample is due.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes a sample of everything.
    pub(crate) fn take<Q>(&mut self, world: &World<Q>) {
        for (ix, link) in world.fabric.links.iter().enumerate() {
            let subject = Subject::Link(ix as u32);
            let switch = &world.fabric.nodes[link.node as usize].switch;
            self.add(subject, "queue", switch.backlog(link.port).packets as f64);
            let offered = link.line.offered(self.next.before(self.spacing), self.next);
            let so_far = match offered {
                Some(_) => switch.sent(link.port).bytes,
                None => switch.busy(self.next, link.port).ticks(),
            };
            let since = so_far.wrapping_sub(std::mem::replace(&mut self.busy_before[ix], so_far));
            // A link with a trace is said to be sending for the share of an interval that it used of what it
            // was offered.
            let busy = match offered {
                Some(0) => 0,
                Some(offered) => (self.spacing.ticks() as f64 * (since as f64 / offered as f64)) as u64,
                None => since,
            };
            self.add(
                subject,
                "utilisation",
                Span::from_ticks(busy).as_secs_f64() / self.spacing.as_secs_f64(),
            );
        }
        let leads = if self.metered { world.leads(self.next, self.received.len()) } else { Vec::new() };
        for group in 0..self.received.len() {
            let subject = Subject::Group(group as u32);
            let bytes = std::mem::take(&mut self.received[group]);
            self.add(subject, "throughput", bytes as f64 * 8.0 / self.spacing.as_secs_f64());
            if let Some((lead, warnings)) = leads.get(group) {
                self.add(subject, "lead", lead.as_secs_f64());
                let before = std::mem::replace(&mut self.warnings_before[group], *warnings);
                self.add(subject, "warnings", warnings.saturating_sub(before) as f64);
            }
        }
        world.gauges(&mut |subject, metric, value| self.add(subject, metric, value));
        self.taken += 1;
        self.next += self.spacing;
    }

    fn add(&mut self, subject: Subject, metric: &'static str, value: f64) {
        let place = *self.places.entry((subject, metric)).or_insert_with(|| {
            self.columns.push(Column { subject, metric, from: self.taken, values: Vec::new() });
            self.columns.len() - 1
        });
        let column = &mut self.columns[place];
        // What is not shown at a sample has no value there.
        column.values.resize(self.taken - column.from, f64::NAN);
        column.values.push(value);
    }

    /// A link's count of the time for which it was sending starts anew; it stood at `busy`.
    pub(crate) fn busy_anew(&mut self, link: usize, busy: Span) {
        self.busy_before[link] = self.busy_before[link].wrapping_sub(busy.ticks());
    }

    #[inline]
    pub(crate) fn received(&mut self, group: usize, len: u32) {
        self.received[group] += u64::from(len);
    }

    /// From one sample to the next.
    pub fn spacing(&self) -> Span {
        self.spacing
    }

    /// Every quantity, in the order in which they are listed.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The values of one quantity; nothing for one that was never measured.
    pub fn values(&self, subject: Subject, metric: &str) -> &[f64] {
        let column = self.columns.iter().find(|column| (column.subject, column.metric) == (subject, metric));
        column.map_or(&[], |column| &column.values)
    }
}
