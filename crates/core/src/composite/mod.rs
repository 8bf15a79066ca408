//! Which scheduler and which dropper are known by one name?
//!
//! The name of a composite policy stands for everything that its source describes. Its record names
//! its parts ([`Role::Composite`](crate::params::Role)); a plan holds only the parts.

pub mod fq_codel;

use crate::contract::Refused;
use crate::dropper::BuiltInDropper;
use crate::dropper::codel::CodelParams;
use crate::params::{Consists, PolicyParams, Scope, registry};
use crate::scheduler::BuiltInScheduler;
use crate::scheduler::wf2q_plus::Wf2qPlusParams;

/// The parts of a composite policy, with their parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Orders the flows.
    pub scheduler: BuiltInScheduler,
    /// Drops and marks packets.
    pub dropper: BuiltInDropper,
    /// The queues that the dropper guards.
    pub scope: Scope,
}

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
    FqCodel(fq_codel::FqCodelParams),
}

/// The policy of a port that names none, where users share a real link: fair at once, whatever
/// flows have sent before, and with short queues.
pub const FAIR_DEFAULT: Consists = Consists {
    scheduler: Wf2qPlusParams::RECORD.name,
    dropper: CodelParams::RECORD.name,
    scope: Scope::Flow,
};
