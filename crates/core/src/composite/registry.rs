//! The registry of built-in composite policies.

use super::parts::Parts;
use crate::contract::Refused;
use crate::dropper::codel::CodelParams;
use crate::params::{Consists, PolicyParams, Scope, registry};
use crate::scheduler::host_drr_plus_plus::HostDrrPlusPlusParams;
use crate::scheduler::triple_isolate::TripleIsolateParams;
use crate::scheduler::wf2q_plus::Wf2qPlusParams;

/// Writes the registry, and the division of each composite policy into its parts.
macro_rules! composites {
    ($($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in composite policy with its parameters.
            pub enum BuiltInComposite { $($variant($params),)* }
        }

        impl BuiltInComposite {
            /// The parts of the composite policy.
            ///
            /// # Errors
            /// When a value is out of a part's range.
            pub fn parts(&self) -> Result<Parts, Refused> {
                match self {
                    $(BuiltInComposite::$variant(params) => params.make(),)*
                }
            }
        }
    };
}

// The registry: one line per composite policy.
composites! {
    FqCodel(super::fq_codel::FqCodelParams),
    FqPie(super::fq_pie::FqPieParams),
    DualPi2(super::dualpi2::DualPi2Params),
}

/// The policy among the conversations of a host, a subscriber or a circuit: fair to each, sparse
/// ones first, with a short queue for each.
pub const WITHIN_DEFAULT: &str = super::fq_codel::FqCodelParams::RECORD.name;

/// The scheduler in its place where it is fair to hosts first, and then to the conversations of
/// each.
pub const WITHIN_BY_HOST: &str = HostDrrPlusPlusParams::RECORD.name;

/// The scheduler in its place where it is fair to the hosts of both sides.
pub const WITHIN_BY_BOTH: &str = TripleIsolateParams::RECORD.name;

/// The policy of a port that names none, where users share a real link: fair at once, whatever
/// flows have sent before, and with short queues.
pub const FAIR_DEFAULT: Consists = Consists {
    scheduler: Wf2qPlusParams::RECORD.name,
    dropper: CodelParams::RECORD.name,
    scope: Scope::Flow,
    sets: &[],
};
