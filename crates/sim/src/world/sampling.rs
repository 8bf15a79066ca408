//! Samples over time: quantities of links, groups, endpoints and stages.

use super::World;
use crate::probe::{Series, Subject};
use tidegate_core::units::{Span, Time};

impl<Q> World<Q> {
    /// Takes all samples that are due before `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn sample(&mut self, at: Time) {
        while let Some(mut series) =
            self.cx.measures.series.take_if(|series| series.next() < at && series.next() <= self.until)
        {
            self.sample_links(&mut series);
            self.sample_groups(&mut series);
            self.gauges(&mut |subject, metric, value| series.add(subject, metric, value));
            series.taken();
            self.cx.measures.series = Some(series);
        }
    }

    /// Samples queues, the gauges of their droppers, the share of the interval in which each link
    /// was sending, and the share of its capacity that in-traffic took.
    fn sample_links(&self, series: &mut Series) {
        let (at, spacing) = (series.next(), series.spacing());
        for (ix, link) in self.cx.fabric.links.iter().enumerate() {
            let subject = Subject::Link(ix as u32);
            let switch = &self.cx.fabric.nodes[link.node as usize].switch;
            series.add(subject, "queue", switch.backlog(link.port).packets as f64);
            switch.dropper_gauges(link.port, &mut |metric, value| series.add(subject, metric, value));
            let offered = link.line.offered(at.before(spacing), at);
            let so_far = match offered {
                Some(_) => link.line.used(at),
                None => {
                    let cells = link.line.lane().map_or(Span::ZERO, |lane| lane.busy(at));
                    (switch.busy(at, link.port) + cells).ticks()
                }
            };
            let since = series.since_before(subject, "utilisation", so_far);
            // For a link with a trace, the sending time is the share of an interval that it used of
            // its opportunities.
            let busy = match offered {
                Some(0) => 0,
                Some(offered) => (spacing.ticks() as f64 * (since as f64 / offered as f64)) as u64,
                None => since,
            };
            let share = Span::from_ticks(busy).as_secs_f64() / spacing.as_secs_f64();
            series.add(subject, "utilisation", share);
            if let Some(counted) = self.cx.measures.in_traffic.of(ix as u32) {
                let since = series.since_before(subject, "in_traffic", self.in_traffic_so_far(ix as u32));
                series.add(subject, "in_traffic", counted.share(since, spacing, offered).unwrap_or(f64::NAN));
            }
        }
    }

    /// Samples throughput and the gauges of meters.
    fn sample_groups(&self, series: &mut Series) {
        let (at, spacing) = (series.next(), series.spacing());
        let received = series.take_received();
        let leads = if series.metered { self.leads(at, received.len()) } else { Vec::new() };
        for (ix, bytes) in received.into_iter().enumerate() {
            let subject = Subject::Group(ix as u32);
            series.add(subject, "throughput", bytes as f64 * 8.0 / spacing.as_secs_f64());
            if let Some((lead, warnings)) = leads.get(ix) {
                series.add(subject, "lead", lead.as_secs_f64());
                let since = series.since_before(subject, "warnings", *warnings);
                series.add(subject, "warnings", since as f64);
            }
        }
    }

    /// Returns the meters' counts at the time of a sample: for each group the greatest lead of a
    /// flow, and the number of warnings so far.
    fn leads(&self, at: Time, groups: usize) -> Vec<(Span, u64)> {
        let mut samples = vec![(Span::ZERO, 0); groups];
        for (ix, flow) in self.cx.flows.iter().enumerate() {
            let (lead, warnings) = &mut samples[flow.group as usize];
            *warnings += self.cx.measures.checks_of(ix).closed.warnings;
            for metered in self.metered(ix) {
                *lead = (*lead).max(metered.lead(at));
                *warnings += metered.warnings;
            }
        }
        samples
    }
}
