//! The keys of contracts, as sections have them.

use crate::section::Selected;
use tidegate_core::meter::MeterKind;
use tidegate_core::params::{CONTRACT, NamedPolicy, Param, PolicyRecord};
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
}

/// The keys of a contract that at least one of these policies reads.
fn read_by(records: Vec<&'static PolicyRecord>) -> impl Iterator<Item = &'static Param> {
    CONTRACT.iter().filter(move |param| records.iter().any(|record| record.reads.contains(&param.name)))
}
