//! What is recorded besides the counters. Probes change no outcome.

use crate::watch::Watch;
use tidegate_core::units::{Span, Time};

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Delays by group.
    pub delays: bool,
    /// Delays by flow: some 200 KB a flow.
    pub flow_delays: bool,
    /// Queues and throughput every so often; `None` for not at all.
    pub sample: Option<Span>,
    /// Packets to follow.
    pub watch: Option<Watch>,
}

/// Queues and throughput over time.
#[derive(Clone, Debug)]
pub struct Series {
    spacing: Span,
    next: Time,
    links: usize,
    /// Packets in each link's queue at each sample, sample by sample.
    queues: Vec<u32>,
    /// Bytes received by each group since the sample before, sample by sample.
    bytes: Vec<u64>,
    since: Vec<u64>,
}

impl Series {
    pub(crate) fn new(spacing: Span, links: usize, groups: usize) -> Series {
        let next = Time::ORIGIN + spacing;
        Series { spacing, next, links, queues: Vec::new(), bytes: Vec::new(), since: vec![0; groups] }
    }

    /// When the next sample is due.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn take(&mut self, queues: impl Iterator<Item = u64>) {
        self.queues.extend(queues.map(|packets| u32::try_from(packets).unwrap_or(u32::MAX)));
        self.bytes.extend_from_slice(&self.since);
        self.since.fill(0);
        self.next += self.spacing;
    }

    #[inline]
    pub(crate) fn received(&mut self, group: usize, len: u32) {
        self.since[group] += u64::from(len);
    }

    /// From one sample to the next.
    pub fn spacing(&self) -> Span {
        self.spacing
    }

    /// Packets in the link's queue at each sample, the first one `spacing` into the run.
    pub fn queue(&self, link: usize) -> impl Iterator<Item = u32> + '_ {
        self.queues.iter().skip(link).step_by(self.links.max(1)).copied()
    }

    /// Bytes that the group received between samples.
    pub fn received_by(&self, group: usize) -> impl Iterator<Item = u64> + '_ {
        self.bytes.iter().skip(group).step_by(self.since.len().max(1)).copied()
    }
}
