//! Credit-based flow control of a link, as a file states it.

use crate::error::{Complaint, Place, Report};
use crate::values::Values;
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

impl CreditSpec {
    /// The credit under the key `credit`. `None` when there is none, or once a mistake has been
    /// reported.
    pub(crate) fn read(values: &Values, report: &mut Report) -> Option<CreditSpec> {
        let table = values.table("credit")?;
        let settings = table.settings();
        let keys = settings.iter().map(|(name, _)| *name).chain(["to"]);
        let places = keys.map(|name| (name, table.place_of(name))).collect();
        let to = table.text("to").map(str::to_owned);
        let read = CreditParams::read(&settings).and_then(|params| params.check().map(|()| params));
        match read {
            Ok(params) => Some(CreditSpec { params, to, place: values.place_of("credit"), places }),
            Err(fault) => {
                let Fault { key: Key::Param(key) | Key::Member { key, .. }, message } = fault;
                report.add(table.place_of(key), Complaint::new(message));
                None
            }
        }
    }

    /// Place of a key; that of the credit when the key was not written.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.places.iter().find(|(name, _)| *name == key).map_or(self.place, |(_, place)| *place)
    }
}
