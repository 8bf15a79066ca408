//! The flows of a gate: `[[flow]]` with its contract, its class and the packets that belong to it.

use super::lists::List;
use super::matching;
use super::terms::{DirectionTerms, GateClass};
use crate::error::{Complaint, Place, Report};
use crate::keys::gate::{Flow, Within};
use crate::port::{ContractSpec, check_promise, classes};
use crate::section::Placed;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use tidegate_core::classifier::circuits::Circuits;
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::Each;
use tidegate_core::units::Span;

/// One `[[flow]]` of a gate.
#[derive(Clone, Debug)]
pub struct GateFlow {
    /// Its name, unique among flows.
    pub name: String,
    /// The packets that belong to it.
    pub matching: Match,
    /// The unit that has a flow of its own.
    pub each: Option<Each>,
    /// The conversations that have flows of their own in the class of each host, subscriber or
    /// circuit; with [`Within::None`], each of these has one flow.
    pub within: Within,
    /// Circuits, each of which has a flow of its own.
    pub circuits: Option<Arc<Circuits>>,
    /// The indices of the classes that its network consists of.
    pub nodes: Range<usize>,
    /// Time without packets after which a flow made for one of `each` or `circuits` is removed.
    pub idle: Span,
    /// Its contract with its port, apart from the rate that it reserves there.
    pub contract: ContractSpec,
    /// Its reservation and ceiling in each direction, up first.
    pub terms: [DirectionTerms; 2],
    /// Index of the class that it belongs to.
    pub class: Option<usize>,
    /// The new DSCP of its packets; `None` leaves it unchanged.
    pub set_dscp: Option<u8>,
    /// Place of its statement in the file.
    pub place: Place,
}

/// Builds the flows, without the circuits of those that have some; `None` only once a mistake has
/// been reported.
pub(super) fn build(
    tables: &[Placed<Flow>],
    lists: &[Option<List>],
    classes: &[GateClass],
    report: &mut Report,
) -> Option<Vec<GateFlow>> {
    let by_name: BTreeMap<&str, usize> =
        classes.iter().enumerate().map(|(index, class)| (class.class.name.as_str(), index)).collect();
    let inner: Vec<usize> = classes.iter().filter_map(|class| class.class.parent).collect();
    let mut names = BTreeMap::new();
    let mut built = Vec::with_capacity(tables.len());
    for (index, (table, list)) in tables.iter().zip(lists).enumerate() {
        let Flow { name, each, within, circuits, idle, ceiling, .. } = &**table;
        if names.insert(name.as_str(), index).is_some() {
            report.add(name.place, Complaint::new(format!("there is already a flow `{name}`")));
        }
        let class = match table.class.as_deref() {
            None => Some(None),
            Some(name) => classes::leaf(&by_name, &inner, name, table.class.place, report).map(Some),
        };
        let contract = ContractSpec::read(&table.contract);
        classes::check_ceiling(ceiling, &contract, report);
        let terms = DirectionTerms::read(&table.directions, &contract, **ceiling, report);
        let reserves = circuits.given || terms.iter().any(|terms| terms.reserve.is_some());
        check_promise(&table.contract, reserves, report);
        if each.is_none() && !circuits.given && idle.given {
            let complaint = Complaint::new("a flow without `each` or `circuits` is never forgotten")
                .help("leave out `idle`");
            report.add(idle.place, complaint);
        }
        if each.is_some() && circuits.given {
            let complaint = Complaint::new("a flow has either `each` or `circuits`")
                .help("make it two flows: first those of circuits, then each of the others");
            report.add(each.place, complaint);
        }
        let has_units = circuits.given || matches!(**each, Some(Each::Host | Each::Subscriber));
        if within.given && !has_units {
            let complaint = Complaint::new("`within` divides what a host, a subscriber or a circuit has")
                .help("add `circuits`, each = \"host\" or each = \"subscriber\"");
            report.add(within.place, complaint);
        }
        let among_hosts = matches!(**within, Some(Within::HostFiveTuple | Within::TripleIsolate));
        if among_hosts && **each == Some(Each::Host) {
            let complaint = Complaint::new("with each = \"host\" there is one host in each class")
                .help("write within = \"5-tuple\"");
            report.add(within.place, complaint);
        }
        let within = within.unwrap_or(list.as_ref().map_or(Within::None, List::within));
        if **idle == Span::ZERO {
            report.add(idle.place, Complaint::new("`idle` is zero"));
        }
        let matching = matching::read(&table.r#match, report);
        built.push(class.zip(matching).map(|(class, matching)| GateFlow {
            name: name.to_string(),
            matching,
            each: **each,
            within,
            circuits: None,
            nodes: list.as_ref().map_or(0..0, List::nodes),
            idle: **idle,
            contract,
            terms,
            class,
            set_dscp: *table.set_dscp,
            place: table.place,
        }));
    }
    built.into_iter().collect()
}

/// Reports flows after one that matches everything: they get no packets.
pub(super) fn check_reachable(flows: &[GateFlow], report: &mut Report) {
    let takes_all = |flow: &GateFlow| flow.matching == Match::default() && flow.circuits.is_none();
    let Some(at) = flows.iter().position(takes_all) else { return };
    if let Some(after) = flows.get(at + 1) {
        let message = format!(
            "`{}` never gets a packet: `{}` before it matches everything",
            after.name, flows[at].name
        );
        report.add(
            after.place,
            Complaint::new(message).help("the first flow that matches is taken: put the general ones last"),
        );
    }
}
