//! VCs of the ABR service that carry the cells of other connections.

use crate::error::{Complaint, Report};
use crate::keys::abr::Vc;
use crate::keys::connection::Connection;
use crate::section::Placed;
use crate::stage_terms::StageTerms;
use tidegate_core::aal5;
use tidegate_core::abr::{BackwardVc, SourceTerms};
use tidegate_core::contract::Contract;
use tidegate_core::endpoint::abr::AbrParams;
use tidegate_core::params::{Key, Member, NodeContext, Parameters, PolicyParams, Supply};
use tidegate_core::units::Rate;

/// Reads the VC of a connection whose first link has the rate `first`; `aal5` is true if its
/// packets are sent as cells.
pub(super) fn read(
    keys: &Connection,
    (aal5, first): (bool, Option<Rate>),
    terms: &mut StageTerms,
    report: &mut Report,
) {
    terms.set(first.and_then(|first| vc(&keys.abr.vc, aal5, first, report)));
    terms.set(keys.abr.backward.as_ref().map(|name| BackwardVc(name.to_string())));
}

/// The terms agreed for the VC that carries the cells of a connection whose first link has this
/// rate; `None` for none, or once a mistake has been reported.
fn vc(stated: &Placed<Option<Vc>>, aal5: bool, first: Rate, report: &mut Report) -> Option<SourceTerms> {
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
