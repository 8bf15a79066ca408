//! Checks that the packets of a flow can be sent as ATM cells, if they are.

use crate::error::{Complaint, Report};
use crate::keys::connection::{Connection, Vc};
use crate::keys::flow::{Adaptation, Cells, Flow};
use crate::keys::source::Source;
use crate::policy::Chosen;
use crate::scenario::network::Link;
use crate::section::Placed;
use tidegate_core::aal5;
use tidegate_core::abr::SourceTerms;
use tidegate_core::contract::Contract;
use tidegate_core::endpoint::abr::AbrParams;
use tidegate_core::endpoint::{Transport, TransportKind};
use tidegate_core::params::{Key, Member, NodeContext, Parameters, PolicyParams, Supply};
use tidegate_core::units::{Rate, Span};

/// Returns true if a flow over the links `route` is sent as cells. Conflicts are reported.
pub(super) fn of_flow(flow: &Flow, route: &[usize], links: &[Link], report: &mut Report) -> bool {
    if *flow.cells.adaptation == Adaptation::None {
        return false;
    }
    let refused = if flow.to.len() > 1 {
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
    let made = transport.policy.build();
    let [there, back] = routes;
    let sends_cells = |made: &dyn Transport| {
        there.first().is_some_and(|first| made.source_terms(links[*first].rate, 1).is_some())
    };
    if made.is_ok_and(|made| sends_cells(made.as_ref())) {
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

/// The terms agreed for the VC that carries the cells of a connection whose first link has this
/// rate; `None` for none, or once a mistake has been reported.
pub(super) fn vc(
    stated: &Placed<Option<Vc>>,
    aal5: bool,
    first: Rate,
    report: &mut Report,
) -> Option<SourceTerms> {
    let Vc { params } = stated.as_ref()?;
    if !aal5 {
        let complaint = Complaint::new("a VC carries ATM cells, and the packets are not cut into cells");
        report.add(stated.place, complaint.help("add `adaptation = \"aal5\"`"));
    }
    let contract = Contract::default();
    let cells = Member { count: 1, contract, largest: aal5::CELL, traffic: None, signalled: false };
    let node =
        NodeContext { link: first, steady: true, reservable: None, supply: Supply::Link, members: &[cells] };
    let read = AbrParams::read(&params.values());
    let checked = read.and_then(|params| {
        params.check()?;
        params.check_at(&node)?;
        Ok(params.terms(first, aal5::CELL))
    });
    match checked {
        Ok(terms) => Some(terms),
        Err(fault) => {
            let (Key::Param(key) | Key::Member { key, .. }) = fault.key;
            report.add(params.place_of(key), Complaint::new(fault.message));
            None
        }
    }
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
    if let Some(link) = route.iter().map(|link| &links[*link]).find(|link| link.reordering.happens()) {
        let message = format!("cells come in order, and link {} on the way reorders packets", link.name);
        report.add(cells.adaptation.place, Complaint::new(message).help("leave out its `reorder`"));
    }
}
