//! Credit-based flow control of a link, as a file states it.

use crate::error::{Complaint, Place, Report};
use crate::keys::credit::Credit;
use crate::keys::port::PortKeys;
use crate::section::Placed;
use crate::stage_terms::StageTerms;
use tidegate_core::credit::params::CreditParams;
use tidegate_core::params::{Fault, Key, Parameters};

/// The credit of a link, as a file states it.
#[derive(Clone, Debug, PartialEq)]
pub struct CreditSpec {
    /// The parameters that were set.
    pub params: CreditParams,
    /// The name of the node with the receiver's memory; `None` for the one at the link's end.
    pub to: Option<String>,
    place: Place,
    places: Vec<(&'static str, Place)>,
}

/// Reads the credit that a table states.
pub(super) fn read(keys: PortKeys<'_>, terms: &mut StageTerms, report: &mut Report) {
    let stated = match keys {
        PortKeys::Switch(port) => &port.credit.credit,
        PortKeys::Host(host) => &host.credit.credit,
        PortKeys::Link(link) => &link.credit.credit,
    };
    terms.set(CreditSpec::read(stated, report));
}

impl CreditSpec {
    /// The credit that a file states. `None` when there is none, or once a mistake has been
    /// reported.
    fn read(stated: &Placed<Option<Credit>>, report: &mut Report) -> Option<CreditSpec> {
        let Credit { to, params: settings } = stated.as_ref()?;
        let values = settings.values();
        let params = values.iter().map(|(name, _)| (*name, settings.place_of(name)));
        let places = params.chain([(to.key, to.place)]).collect();
        let to = to.as_ref().map(|name| name.to_string());
        let read = CreditParams::read(&values).and_then(|params| params.check().map(|()| params));
        match read {
            Ok(params) => Some(CreditSpec { params, to, place: stated.place, places }),
            Err(fault) => {
                let Fault { key: Key::Param(key) | Key::Member { key, .. }, message } = fault;
                report.add(settings.place_of(key), Complaint::new(message));
                None
            }
        }
    }

    /// Place of a key; that of the credit when the key was not written.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.places.iter().find(|(name, _)| *name == key).map_or(self.place, |(_, place)| *place)
    }
}
