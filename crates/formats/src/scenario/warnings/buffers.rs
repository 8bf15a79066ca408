//! Queues that are shorter than a packet, so that no packet passes.

use super::found::{Found, and_more};
use crate::error::{Complaint, Place};
use crate::scenario::network::Link;
use crate::scenario::{Load, Scenario};
use crate::units::show_size;
use tidegate_core::params::{Limit, Value};

/// The first flow with packets that are larger than a queue on its way may be, which are all lost
/// there.
pub(super) fn too_small(scenario: &Scenario, loads: &[Load]) -> Option<Found> {
    let mut short = loads.iter().filter_map(|load| Some((load, shortest(scenario, load)?)));
    let (load, Shortest { link, bytes, whose, place }) = short.next()?;
    let more = short.filter(|(other, _)| other.group != load.group).count();
    let group = &scenario.groups[load.group];
    let all =
        group.link_sizes().iter().all(|size| u64::from(link.charged(*size)) > bytes) && load.played.is_none();
    let message = format!(
        "{whose} holds {}, and {}packets of {} have {}: they are all lost there",
        show_size(bytes),
        if all { "" } else { "the largest " },
        and_more(&group.name, more, "flow"),
        show_size(u64::from(link.charged(load.largest))),
    );
    Some((
        place.unwrap_or(group.place),
        Complaint::new(message).help("let it hold several packets, as in \"100p\""),
    ))
}

/// A limit in bytes on a flow's way.
struct Shortest<'s> {
    link: &'s Link,
    bytes: u64,
    whose: String,
    place: Option<Place>,
}

/// The first limit in bytes on the way of these flows that is below their largest packet.
fn shortest<'s>(scenario: &'s Scenario, load: &Load) -> Option<Shortest<'s>> {
    let group = &scenario.groups[load.group];
    let below = |limit: Option<Limit>, link: &Link| match limit? {
        Limit::Bytes(bytes) if bytes < u64::from(link.charged(load.largest)) => Some(bytes),
        _ => None,
    };
    group.route.iter().map(|link| &scenario.links[*link]).filter(|link| link.gate.is_none()).find_map(
        |link| {
            let node = &scenario.nodes[link.from];
            let of_node = below(node.buffer, link).map(|bytes| Shortest {
                link,
                bytes,
                whose: format!("the buffer of `{}`", node.name),
                place: None,
            });
            let of_droppers = || {
                scenario.droppers_at(group, link).find_map(|dropper| {
                    let chosen = &dropper.chosen;
                    let (key, limit) =
                        chosen.policy.values().into_iter().find_map(|(key, value)| match value {
                            Value::Limit(limit) if key == LIMIT => Some((key, limit)),
                            _ => None,
                        })?;
                    let whose = format!("the queue of {} on link {}", chosen.record().title, link.name);
                    let place = Some(chosen.place_of(key));
                    Some(Shortest { link, bytes: below(Some(limit), link)?, whose, place })
                })
            };
            of_node.or_else(of_droppers)
        },
    )
}

/// The parameter of a dropper that limits its queue.
const LIMIT: &str = "limit";
