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

/// Queues, utilisation and throughput over time.
#[derive(Clone, Debug)]
pub struct Series {
    spacing: Span,
    next: Time,
    links: usize,
    /// Packets in each link's queue at each sample, sample by sample.
    queues: Vec<u32>,
    /// Ticks for which each link was sending since the sample before, sample by sample.
    busy: Vec<u64>,
    /// Those that its switch had counted at the sample before, modulo 2⁶⁴.
    busy_before: Vec<u64>,
    /// Bytes received by each group since the sample before, sample by sample.
    bytes: Vec<u64>,
    since: Vec<u64>,
    /// The most that a flow of each group was ahead at each sample, and how often the group has been
    /// warned by then, sample by sample; empty when no port has a meter.
    leads: Vec<(Span, u64)>,
}

impl Series {
    pub(crate) fn new(spacing: Span, links: usize, groups: usize) -> Series {
        let next = Time::ORIGIN + spacing;
        Series {
            spacing,
            next,
            links,
            queues: Vec::new(),
            busy: Vec::new(),
            busy_before: vec![0; links],
            bytes: Vec::new(),
            since: vec![0; groups],
            leads: Vec::new(),
        }
    }

    /// When the next sample is due.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes a sample: of each link, the packets in its queue and how long it has been sending in all.
    pub(crate) fn take(&mut self, links: impl Iterator<Item = (u64, Span)>) {
        for ((packets, busy), before) in links.zip(&mut self.busy_before) {
            self.queues.push(u32::try_from(packets).unwrap_or(u32::MAX));
            self.busy.push(busy.ticks().wrapping_sub(*before));
            *before = busy.ticks();
        }
        self.bytes.extend_from_slice(&self.since);
        self.since.fill(0);
        self.next += self.spacing;
    }

    /// Takes what meters say at a sample: of each group, the most that a flow is ahead, and how often it
    /// has been warned so far.
    pub(crate) fn take_leads(&mut self, groups: impl Iterator<Item = (Span, u64)>) {
        self.leads.extend(groups);
    }

    /// A link's count of the time for which it was sending starts anew; it stood at `busy`.
    pub(crate) fn busy_anew(&mut self, link: usize, busy: Span) {
        self.busy_before[link] = self.busy_before[link].wrapping_sub(busy.ticks());
    }

    #[inline]
    pub(crate) fn received(&mut self, group: usize, len: u32) {
        self.since[group] += u64::from(len);
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.since.len()
    }

    /// From one sample to the next.
    pub fn spacing(&self) -> Span {
        self.spacing
    }

    /// Packets in the link's queue at each sample, the first one `spacing` into the run.
    pub fn queue(&self, link: usize) -> impl Iterator<Item = u32> + '_ {
        self.queues.iter().skip(link).step_by(self.links.max(1)).copied()
    }

    /// For how long the link was sending between samples.
    pub fn busy(&self, link: usize) -> impl Iterator<Item = Span> + '_ {
        self.busy.iter().skip(link).step_by(self.links.max(1)).map(|ticks| Span::from_ticks(*ticks))
    }

    /// The most that VirtualClock was ahead of real time at each sample, over the flows of a group and
    /// the ports on their ways; nothing without meters.
    pub fn lead(&self, group: usize) -> impl Iterator<Item = Span> + '_ {
        self.leads.iter().skip(group).step_by(self.since.len().max(1)).map(|(lead, _)| *lead)
    }

    /// Warnings to flows of a group between samples; nothing without meters.
    pub fn warnings(&self, group: usize) -> impl Iterator<Item = u64> + '_ {
        let so_far =
            self.leads.iter().skip(group).step_by(self.since.len().max(1)).map(|(_, warnings)| *warnings);
        so_far.scan(0, |before, now| Some(now - std::mem::replace(before, now)))
    }

    /// Bytes that the group received between samples.
    pub fn received_by(&self, group: usize) -> impl Iterator<Item = u64> + '_ {
        self.bytes.iter().skip(group).step_by(self.since.len().max(1)).copied()
    }
}
