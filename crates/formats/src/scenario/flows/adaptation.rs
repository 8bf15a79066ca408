//! Checks that the packets of a flow can be sent as ATM cells, if they are.

use crate::error::{Complaint, Report};
use crate::policy::Chosen;
use crate::scenario::network::Link;
use crate::values::Values;
use tidegate_core::aal5;
use tidegate_core::abr::SourceTerms;
use tidegate_core::contract::Contract;
use tidegate_core::endpoint::abr::AbrParams;
use tidegate_core::endpoint::{BuiltInTransport, Transport, TransportKind};
use tidegate_core::params::{Key, Member, NodeContext, Parameters, PolicyParams, Supply};
use tidegate_core::units::{Rate, Span};

/// Returns true if a flow over the links `route` is sent as cells. Conflicts are reported.
pub(super) fn of_flow(values: &Values, route: &[usize], links: &[Link], report: &mut Report) -> bool {
    if !wanted(values) {
        return false;
    }
    let several = values.texts("to").is_some_and(|to| to.len() > 1);
    let source = values.table("source").map_or("", |source| source.section.name);
    let refused = if several {
        Some(("a packet to several nodes is put together at none of them", "name one node in `to`"))
    } else if values.given("headers") || source == "capture" {
        Some(("a gate and a capture have whole packets", "leave out `adaptation`"))
    } else if source == "greedy" {
        Some((
            "a greedy source counts what it has in its first queue, and would count cells",
            "leave out `adaptation`, and let `size` be that of a cell",
        ))
    } else {
        None
    };
    if let Some((why, help)) = refused {
        report.add(values.place_of("adaptation"), Complaint::new(why).help(help));
    }
    check_order(values, route, links, report);
    true
}

/// Returns true if both flows of a connection over the links `routes` are sent as cells. Conflicts
/// are reported.
pub(super) fn of_connection(
    values: &Values,
    transport: &Chosen<BuiltInTransport>,
    routes: [&[usize]; 2],
    links: &[Link],
    report: &mut Report,
) -> bool {
    if !wanted(values) {
        return false;
    }
    let made = TransportKind::BuiltIn(transport.policy.clone()).build();
    let [there, back] = routes;
    let sends_cells = |made: &dyn Transport| {
        there.first().is_some_and(|first| made.source_terms(links[*first].rate, 1).is_some())
    };
    if made.is_ok_and(|made| sends_cells(made.as_ref())) {
        let message = format!("`{}` sends cells, which are not cut again", transport.record().name);
        report.add(
            values.place_of("adaptation"),
            Complaint::new(message).help("leave out `adaptation`, and let `size` be that of a cell"),
        );
    }
    if values.given("headers") {
        let complaint = Complaint::new("a gate has whole packets").help("leave out `adaptation`");
        report.add(values.place_of("adaptation"), complaint);
    }
    check_order(values, there, links, report);
    check_order(values, back, links, report);
    true
}

/// The terms agreed for the VC that carries the cells of a connection whose first link has this
/// rate; `None` for none, or once a mistake has been reported.
pub(super) fn vc(values: &Values, aal5: bool, first: Rate, report: &mut Report) -> Option<SourceTerms> {
    let table = values.table("vc")?;
    if !aal5 {
        let complaint = Complaint::new("a VC carries ATM cells, and the packets are not cut into cells");
        report.add(values.place_of("vc"), complaint.help("add `adaptation = \"aal5\"`"));
    }
    let contract = Contract::default();
    let cells = Member { count: 1, contract, largest: aal5::CELL, traffic: None, signalled: false };
    let node =
        NodeContext { link: first, steady: true, reservable: None, supply: Supply::Link, members: &[cells] };
    let read = AbrParams::read(&table.settings());
    let checked = read.and_then(|params| {
        params.check()?;
        params.check_at(&node)?;
        Ok(params.terms(first, aal5::CELL))
    });
    match checked {
        Ok(terms) => Some(terms),
        Err(fault) => {
            let (Key::Param(key) | Key::Member { key, .. }) = fault.key;
            report.add(table.place_of(key), Complaint::new(fault.message));
            None
        }
    }
}

/// Time that the sending host takes for each packet before its cells. Conflicts are reported.
pub(super) fn preparation(values: &Values, aal5: bool, report: &mut Report) -> Span {
    let preparation = values.time("preparation").unwrap_or(Span::ZERO);
    if preparation > Span::ZERO && !aal5 {
        let complaint =
            Complaint::new("a host prepares packets that it cuts into cells, and these are not cut");
        report.add(values.place_of("preparation"), complaint.help("add `adaptation = \"aal5\"`"));
    }
    preparation
}

fn wanted(values: &Values) -> bool {
    values.text("adaptation") == Some("aal5")
}

/// Reports a link that reorders packets: the cells of a VC arrive in order.
fn check_order(values: &Values, route: &[usize], links: &[Link], report: &mut Report) {
    if let Some(link) = route.iter().map(|link| &links[*link]).find(|link| link.reordering.happens()) {
        let message = format!("cells come in order, and link {} on the way reorders packets", link.name);
        report.add(values.place_of("adaptation"), Complaint::new(message).help("leave out its `reorder`"));
    }
}
