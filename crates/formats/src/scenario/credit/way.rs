//! Virtual links: the path from a sender with credit over switches without credit to the receiver.

use crate::error::{Complaint, Place};
use crate::port::CreditSpec;
use crate::scenario::flows::FlowGroup;
use crate::scenario::network::{Link, Node};
use crate::scenario::own_cells;
use crate::suggest::nearest_and_all;
use tidegate_core::credit::params::Per;

/// The links after `first` up to the node `to`, by their indexes: those that every flow over
/// `first` passes. `None` where no flow does.
pub(super) fn further(
    first: usize,
    to: &str,
    credit: &CreditSpec,
    links: &[Link],
    nodes: &[Node],
    groups: &[FlowGroup],
) -> Result<Option<Vec<usize>>, (Place, Complaint)> {
    let name = &links[first].name;
    let mistake = |key: &str, message: String, help: Option<String>| {
        let mut complaint = Complaint::new(message);
        complaint.help = help;
        Err((credit.place_of(key), complaint))
    };
    let Some(receiver) = nodes.iter().position(|node| node.name == to) else {
        let help = nearest_and_all(to, nodes.iter().map(|node| node.name.as_str()));
        return mistake("to", format!("there is no node `{to}`"), help);
    };
    let mut way: Option<(&FlowGroup, Vec<usize>)> = None;
    for group in groups {
        let Some(place) = group.route.iter().position(|link| *link == first) else { continue };
        if !group.depths.is_empty() {
            let message = format!("`{}` is a multicast flow, and link {name} a virtual link", group.name);
            return mistake("to", message, None);
        }
        let rest = &group.route[place..];
        let Some(last) = rest.iter().position(|link| links[*link].to == receiver) else {
            let message = format!("`{}` does not pass node `{to}` after link {name}", group.name);
            let help = "every flow on a virtual link passes its receiver; make the two directions links of \
                        their own (`duplex = false`) where only one has credit";
            return mistake("to", message, Some(help.to_owned()));
        };
        let further = rest[1..=last].to_vec();
        match &way {
            Some((other, way)) if *way != further => {
                let message = format!(
                    "`{}` and `{}` reach node `{to}` from link {name} by different links",
                    other.name, group.name
                );
                return mistake(
                    "to",
                    message,
                    Some("the flows on a virtual link share its links".to_owned()),
                );
            }
            Some(_) => {}
            None => way = Some((group, further)),
        }
    }
    let Some((_, further)) = way else { return Ok(None) };
    if further.is_empty() {
        return mistake(
            "to",
            format!("link {name} itself ends at node `{to}`"),
            Some("leave out `to`".to_owned()),
        );
    }
    if credit.params.per == Per::Link {
        let message =
            format!("link {name} has one VC for all flows, and they do not keep their order over switches");
        return mistake(
            "per",
            message,
            Some("leave out `per`: on a virtual link each flow is a VC".to_owned()),
        );
    }
    for link in further.iter().map(|link| &links[*link]) {
        if link.port.stage_terms.get::<CreditSpec>().is_some() {
            let message =
                format!("link {} has credit, and is part of the virtual link from {name}", link.name);
            return mistake(
                "to",
                message,
                Some(format!("let the virtual link end at `{}`", nodes[link.from].name)),
            );
        }
        if let Some(maker) = links.iter().filter(|other| other.from == link.from).find_map(own_cells::maker) {
            let message = format!(
                "`{}` has {maker}, which makes cells of its own, on the virtual link from {name}",
                nodes[link.from].name
            );
            return mistake("to", message, None);
        }
    }
    Ok(Some(further))
}
