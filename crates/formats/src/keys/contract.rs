//! The keys of the core's own declarations, as sections have them: contracts, VCs, credit.

use crate::section::Selected;
use tidegate_core::credit::params::CreditParams;
use tidegate_core::endpoint::abr::{self, AbrParams};
use tidegate_core::meter::MeterKind;
use tidegate_core::params::{CONTRACT, NamedPolicy, Param, Parameters, PolicyRecord};
use tidegate_core::scheduler::SchedulerKind;

/// Writes a selection of parameters.
macro_rules! selected {
    ($($(#[$about:meta])+ $name:ident = $params:expr;)+) => {$(
        $(#[$about])+
        #[derive(Clone, Debug)]
        pub(crate) enum $name {}

        impl Selected for $name {
            fn params() -> Vec<&'static Param> {
                $params.collect()
            }
        }
    )+};
}

selected! {
    /// The contract of a flow with the ports on its route.
    OfFlow = CONTRACT.iter();
    /// The contract of a class with the scheduler above it.
    OfClass = read_by(SchedulerKind::records());
    /// The contract of a profile, which meters read.
    OfProfile = read_by(MeterKind::records());
    /// The terms of a VC that carries the data of another transport.
    OfVc = AbrParams::PARAMS.iter().filter(|param| !abr::OF_OWN_DATA.contains(&param.name));
    /// The credit of a link.
    OfCredit = CreditParams::PARAMS.iter();
}

/// The keys of a contract that at least one of these policies reads.
fn read_by(records: Vec<&'static PolicyRecord>) -> impl Iterator<Item = &'static Param> {
    CONTRACT.iter().filter(move |param| records.iter().any(|record| record.reads.contains(&param.name)))
}
