//! Receivers' windows that are too small for a long path.

use super::found::Found;
use crate::error::Complaint;
use crate::scenario::Scenario;
use crate::scenario::flows::FlowGroup;
use crate::source::Source;
use crate::units::{show_rate, show_size, show_time};
use tidegate_core::params::ReceiverWindow;
use tidegate_core::units::Span;

/// The share of a link that flows must be able to fill, in percent.
const FILLED: u128 = 90;

/// Endless data over a path that they cannot fill, since a window of data is less than the
/// bandwidth-delay product: the first connection on the first link to which all flows together
/// bring too little for that reason.
pub(super) fn short(scenario: &Scenario) -> Option<Found> {
    let paths: Vec<Option<Path>> =
        (0..scenario.groups.len()).map(|index| Path::of(scenario, index)).collect();
    let capped = |path: &&Path| path.most < path.bottleneck;
    paths.iter().flatten().filter(capped).find_map(|path| {
        let passing = scenario.groups.iter().zip(&paths).filter(|(group, _)| group.route.contains(&path.link));
        let brought: u128 = passing.map(|(group, other)| brought(group, other.as_ref())).sum();
        if brought * 100 >= u128::from(path.bottleneck) * FILLED {
            return None;
        }
        let Path { window: ReceiverWindow { key, data, .. }, round_trip, most, bottleneck, group, link } = path;
        let product = (u128::from(*bottleneck) * u128::from(round_trip.ticks()))
            .div_ceil(8 * u128::from(Span::from_secs(1).ticks()));
        let product = u64::try_from(product).unwrap_or(u64::MAX);
        let message = format!(
            "`{key}` ({}) is less than the bandwidth-delay product of the path of `{}`, {}: in round trips of {} it \
             gets about {} of the {} of link {}",
            show_size(*data),
            group.name,
            show_size(rounded(product)),
            show_time(Span::from_ticks(rounded(round_trip.ticks()))),
            show_rate(rounded(*most)),
            show_rate(*bottleneck),
            scenario.links[*link].name
        );
        let help = format!("to fill the link, give its transport a `{key}` above that, and more for what is queued");
        Some((group.place, Complaint::new(message).help(help)))
    })
}

/// The path of a connection with endless data and a receiver's window.
struct Path<'s> {
    group: &'s FlowGroup,
    window: ReceiverWindow,
    /// A round trip through empty queues.
    round_trip: Span,
    /// The narrowest link of its way, and its rate in bit/s.
    link: usize,
    bottleneck: u64,
    /// The most that one connection gets, in bit/s of whole packets.
    most: u64,
}

impl<'s> Path<'s> {
    fn of(scenario: &'s Scenario, index: usize) -> Option<Path<'s>> {
        let group = &scenario.groups[index];
        // Packets that overtake others halve the window, whatever the receiver's.
        if group.paths.is_some() {
            return None;
        }
        let Source::Sender { transport, application } = &group.source else { return None };
        let size = group.sizes.iter().copied().max()?;
        let window = transport.policy.receiver_window(size).filter(|_| application.is_endless())?;
        // The flow of its answers is the next group.
        let back = scenario.groups.get(index + 1)?;
        let time = |group: &FlowGroup| {
            let largest = group.link_sizes().iter().copied().max().unwrap_or(0);
            let links = group.route.iter().map(|link| &scenario.links[*link]);
            links.fold(Span::ZERO, |sum, link| sum + link.delay + link.rate.time_for(link.charged(largest)))
        };
        let round_trip = time(group) + time(back);
        let rate = |link: &usize| {
            let link = &scenario.links[*link];
            let classes =
                scenario.classes_at(group, link).filter_map(|class| scenario.classes[class].ceiling);
            let own = group.ceiling.filter(|_| scenario.forwards(link));
            classes.chain(own).chain(link.port.ceiling).fold(link.rate_bits, u64::min)
        };
        let (bottleneck, link) = group.route.iter().map(|link| (rate(link), *link)).min()?;
        let bits = u128::from(window.packets) * 8 * u128::from(Span::from_secs(1).ticks());
        let most = bits / u128::from(round_trip.ticks().max(1));
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        Some(Path { group, window, round_trip, link, bottleneck, most })
    }
}

/// The most traffic that all flows of a group bring to a link, in bit/s, where that is known.
fn brought(group: &FlowGroup, path: Option<&Path<'_>>) -> u128 {
    let each = match (path, &group.source) {
        (Some(path), _) => path.most,
        (None, Source::Greedy { .. }) => u64::MAX,
        (None, Source::Sender { application, .. }) if application.is_endless() => u64::MAX,
        (None, source) => source.mean().unwrap_or(0),
    };
    u128::from(each) * u128::from(group.count)
}

/// The nearest number of two figures.
fn rounded(number: u64) -> u64 {
    let step = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (number + step / 2) / step * step
}
