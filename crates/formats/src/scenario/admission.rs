//! Admission: the set-up of flows before they send.

use crate::error::{Complaint, Report};
use crate::keys::scenario as keys;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::Link;
use crate::source::Source;
use tidegate_core::units::Span;

/// The settings under `admission`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// Share of every link that cannot be reserved, 0 to 1.
    pub datagrams: f64,
    /// Length of the windows over which links measure their datagrams.
    pub datagram_window: Option<Span>,
    /// Longest average interval that a flow may ask for.
    pub longest_interval: Option<Span>,
}

impl Admission {
    /// Rate of a link that may be reserved, in bit/s.
    pub fn reservable(&self, link: &Link) -> u64 {
        let carries = link.rate_bits.min(link.port.ceiling.unwrap_or(u64::MAX));
        let kept = (carries as f64 * self.datagrams).ceil() as u64;
        carries.saturating_sub(kept)
    }

    pub(super) fn read(keys: &keys::Admission) -> Admission {
        Admission {
            datagrams: *keys.datagrams,
            datagram_window: keys.datagram_window.filter(|window| *window > Span::ZERO),
            longest_interval: *keys.interval,
        }
    }
}

/// With `admission`: links are booked, classes are not.
pub(super) fn check(groups: &[FlowGroup], report: &mut Report) {
    for group in groups {
        let reserves = group.contract.reserve_bits().is_some();
        if reserves && group.class.is_some() {
            let message =
                format!("flow `{}` reserves in a class, and `admission` books links only", group.name);
            report.add(group.reserve_place, Complaint::new(message).help("leave out `class` or `admission`"));
        }
        if reserves && !group.depths.is_empty() {
            let message = format!(
                "flow `{}` reserves for several destinations, and `admission` sets up one route",
                group.name
            );
            report
                .add(group.reserve_place, Complaint::new(message).help("leave out `reserve` or `admission`"));
        }
        if reserves && matches!(group.source, Source::Sender { .. } | Source::Receiver { .. }) {
            let message = format!(
                "flow `{}` of a connection reserves, and `admission` sets up no connections",
                group.name
            );
            report
                .add(group.reserve_place, Complaint::new(message).help("leave out `reserve` or `admission`"));
        }
        if !reserves && !group.changes.is_empty() {
            let message = format!("flow `{}` has no reservation to change", group.name);
            report.add(group.place, Complaint::new(message).help("give it a `reserve`"));
        }
    }
}

/// Without `admission`: nothing is set up, so nothing can be torn down or changed.
pub(super) fn check_absent(groups: &[FlowGroup], report: &mut Report) {
    for group in groups {
        for (key, given) in [("hangup", group.hangup.is_some()), ("change", !group.changes.is_empty())] {
            if given {
                let message = format!("flow `{}`: `{key}` needs flows that are set up", group.name);
                report.add(group.place, Complaint::new(message).help("add [admission]"));
            }
        }
    }
}
