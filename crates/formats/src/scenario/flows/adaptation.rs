//! Checks that the packets of a flow can be sent as ATM cells, if they are.

use crate::error::{Complaint, Report};
use crate::keys::connection::Connection;
use crate::keys::flow::{Adaptation, Cells, Flow};
use crate::keys::source::Source;
use crate::policy::Chosen;
use crate::scenario::network::Link;
use crate::section::Placed;
use tidegate_core::endpoint::TransportKind;
use tidegate_core::units::Span;

/// Returns true if a flow over the links `route` is sent as cells. Conflicts are reported.
pub(super) fn of_flow(flow: &Flow, route: &[usize], links: &[Link], report: &mut Report) -> bool {
    if *flow.cells.adaptation == Adaptation::None {
        return false;
    }
    let refused = if flow.to.as_ref().is_some_and(|to| to.len() > 1) {
        Some(("a packet to several nodes is put together at none of them", "name one node in `to`"))
    } else if flow.headers.given || matches!(*flow.source, Source::Capture(_)) {
        Some(("a gate and a capture have whole packets", "leave out `adaptation`"))
    } else if matches!(*flow.source, Source::Greedy(_)) {
        Some((
            "a greedy source counts what it has in its first queue, and would count cells",
            "leave out `adaptation`, and let `size` be that of a cell",
        ))
    } else {
        None
    };
    if let Some((why, help)) = refused {
        report.add(flow.cells.adaptation.place, Complaint::new(why).help(help));
    }
    check_order(&flow.cells, route, links, report);
    true
}

/// Returns true if both flows of a connection over the links `routes` are sent as cells. Conflicts
/// are reported.
pub(super) fn of_connection(
    connection: &Connection,
    transport: &Chosen<TransportKind>,
    routes: [&[usize]; 2],
    links: &[Link],
    report: &mut Report,
) -> bool {
    let Connection { cells, headers, .. } = connection;
    if *cells.adaptation == Adaptation::None {
        return false;
    }
    let [there, back] = routes;
    if transport.policy.build().is_ok_and(|made| made.sends_cells()) {
        let message = format!("`{}` sends cells, which are not cut again", transport.record().name);
        report.add(
            cells.adaptation.place,
            Complaint::new(message).help("leave out `adaptation`, and let `size` be that of a cell"),
        );
    }
    if headers.given {
        let complaint = Complaint::new("a gate has whole packets").help("leave out `adaptation`");
        report.add(cells.adaptation.place, complaint);
    }
    check_order(cells, there, links, report);
    check_order(cells, back, links, report);
    true
}

/// Time that the sending host takes for each packet before its cells. Conflicts are reported.
pub(super) fn preparation(stated: &Placed<Span>, aal5: bool, report: &mut Report) -> Span {
    if **stated > Span::ZERO && !aal5 {
        let complaint =
            Complaint::new("a host prepares packets that it cuts into cells, and these are not cut");
        report.add(stated.place, complaint.help("add `adaptation = \"aal5\"`"));
    }
    **stated
}

/// Reports a link that reorders packets: the cells of a VC arrive in order.
fn check_order(cells: &Cells, route: &[usize], links: &[Link], report: &mut Report) {
    if let Some(link) = route.iter().map(|link| &links[*link]).find(|link| link.reorders()) {
        let message = format!("cells come in order, and link {} on the way reorders packets", link.name);
        report.add(cells.adaptation.place, Complaint::new(message).help("leave out its `reorder`"));
    }
}
