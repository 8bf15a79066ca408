//! Checks that a computer can hold and resolve a scenario: memory of flows and of series, and the
//! shortest representable time.

use crate::error::{Complaint, Report};
use crate::port::Class;
use crate::scenario::flows::group::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::Link;
use crate::section::Placed;
use crate::source::Source;
use crate::units::{show_rate, show_size};
use tidegate_core::link::Framing;
use tidegate_core::switch::plan::PacketSizes;
use tidegate_core::units::{Span, TICKS_PER_SECOND};

/// Most memory for flows and the links that they pass, in bytes.
const MAX_MEMORY: u64 = 4_000_000_000;
/// Memory of a flow without its links, in bytes: measured, rounded up.
const FLOW: u64 = 800;
/// Memory of a flow for each link that it passes, reserved and metered: measured, rounded up.
const HOP: u64 = 400;
/// Memory of a link of one path among several, in bytes: the size of its hop, rounded up.
const PATH_HOP: u64 = 30;

/// The most points in all series together.
pub(crate) const MAX_POINTS: u64 = 20_000_000;
/// Memory of a point until it is in a table: measured, rounded up.
const POINT: u64 = 90;

/// Memory of the flows counted so far.
#[derive(Default)]
pub(super) struct Memory {
    flows: u64,
    hops: u64,
    path_hops: u64,
}

impl Memory {
    /// Counts a group of flows. Returns a complaint when the flows need more than the permitted
    /// memory.
    pub(super) fn add(&mut self, group: &FlowGroup) -> Option<Complaint> {
        let count = u64::from(group.count);
        self.flows += count;
        self.hops = self.hops.saturating_add(count.saturating_mul(group.route.len() as u64));
        let of_paths = group.paths.as_ref().map_or(0, |paths| paths.places.len() as u64);
        self.path_hops = self.path_hops.saturating_add(count.saturating_mul(of_paths));
        let bytes = self.hops.saturating_mul(HOP).saturating_add(self.flows * FLOW);
        let bytes = bytes.saturating_add(self.path_hops.saturating_mul(PATH_HOP));
        (bytes > MAX_MEMORY).then(|| {
            Complaint::new(format!(
                "with `{}` there are {} flows, which pass {} links in all: some {} of memory, of {} at most",
                group.name,
                self.flows,
                self.hops,
                gigabytes(bytes),
                gigabytes(MAX_MEMORY)
            ))
            .help("take fewer flows, or shorter routes")
        })
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Number of recorded series: of each link its queue and utilisation, of the `coloured` ones their
/// in-traffic, of each group its throughput, lead and warnings, and of each connection the values
/// that its sender shows.
pub(super) fn series(links: &[Link], coloured: u64, groups: &[FlowGroup]) -> u64 {
    let senders = groups.iter().filter(|group| matches!(group.source, Source::Sender { .. }));
    let connections: u64 = senders.map(|group| u64::from(group.count)).sum();
    let whole = groups.iter().filter(|group| group.first == 0).count() as u64;
    2 * links.len() as u64 + coloured + 3 * whole + connections
}

/// Checks that the series fit into memory, where `sample` was given.
pub(super) fn check_series(
    stated: &Placed<Option<Span>>,
    (duration, sample): (Span, Span),
    series: u64,
    report: &mut Report,
) {
    let points = (duration.ticks() / sample.ticks()).saturating_mul(series);
    if stated.given && points > MAX_POINTS {
        let complaint = Complaint::new(format!(
            "`sample` gives {points} points in {series} series, some {} of memory: of {MAX_POINTS} at most",
            gigabytes(points.saturating_mul(POINT))
        ));
        report.add(stated.place, complaint.help("take longer samples"));
    }
}

/// The most by which whole ticks may change the time that a packet takes: a thousandth.
const ROUNDING: f64 = 1e-3;

/// The fault of a rate for packets of this size: they take less than a tick, or whole ticks change
/// the rate.
fn rate_fault(size: u32, bits: u64, whose: &str) -> Option<String> {
    let (work, bits_per_second) = (u128::from(size) * 8 * u128::from(TICKS_PER_SECOND), u128::from(bits));
    let (packet, rate) = (show_size(u64::from(size)), show_rate(bits));
    if work < bits_per_second {
        return Some(format!(
            "a packet of {packet} takes less than 10 ps, the shortest time, at the {rate} of {whose}"
        ));
    }
    let exact = work as f64 / bits_per_second as f64;
    let rounded = ((2 * work + bits_per_second) / (2 * bits_per_second)) as f64;
    let off = exact / rounded - 1.0;
    (off.abs() > ROUNDING).then(|| {
        format!(
            "a packet of {packet} takes {exact:.2} units of 10 ps at the {rate} of {whose}, and times are whole: it would \
             run {:.1} % too {}",
            off.abs() * 100.0,
            if off > 0.0 { "fast" } else { "slow" }
        )
    })
}

/// Checks that every packet of a stated size takes a whole number of ticks, nearly, on its way,
/// under its ceilings, and from its source.
pub(super) fn check_ticks(groups: &[FlowGroup], links: &[Link], classes: &[Class], report: &mut Report) {
    for group in groups {
        let fault = first_fault(group, group.link_sizes(), links, classes);
        if let Some(message) = fault {
            report.add(group.place, Complaint::new(message).help("take larger packets, or a lower rate"));
        }
    }
}

/// Checks the same of the smallest and the largest packet of each recorded flow.
pub(super) fn check_recorded_ticks(
    groups: &[FlowGroup],
    loads: &[Load],
    links: &[Link],
    classes: &[Class],
    report: &mut Report,
) {
    for load in loads.iter().filter(|load| load.name.is_some()) {
        let group = &groups[load.group];
        let Some(PacketSizes { smallest, largest }) = load.sizes.filter(|_| !group.aal5) else { continue };
        if let Some(message) = first_fault(group, &[smallest, largest], links, classes) {
            report.add(group.place, Complaint::new(message).help("take a lower rate"));
        }
    }
}

/// The first fault of packets of these sizes at a rate on the way of a group.
fn first_fault(group: &FlowGroup, sizes: &[u32], links: &[Link], classes: &[Class]) -> Option<String> {
    let of_links = group.route.iter().flat_map(|link| {
        let link = &links[*link];
        let ceiling = link.port.ceiling.map(|bits| (bits, "its ceiling", link.framing));
        std::iter::once((link.rate_bits, link.name.as_str(), link.framing)).chain(ceiling)
    });
    let in_classes = std::iter::successors(group.class, |class| classes[*class].parent);
    let ceilings = in_classes.filter_map(|class| classes[class].ceiling).chain(group.ceiling);
    let plain = |bits, whose| (bits, whose, Framing::NONE);
    let source = group.source.fastest().map(|bits| plain(bits, "its source"));
    let mut rates = source.into_iter().chain(of_links).chain(ceilings.map(|bits| plain(bits, "its ceiling")));
    rates.find_map(|(bits, whose, framing)| {
        sizes.iter().find_map(|size| rate_fault(framing.charge(*size), bits, whose))
    })
}
