//! The examples of switch algorithms and couplings.

use crate::{examples, rate};
use tidegate_core::abr::coupling::BuiltInCoupling;
use tidegate_core::abr::{BuiltInRateControl, PortTerms};
use tidegate_core::params::NamedPolicy;
use tidegate_core::units::Time;

pub fn check_examples() {
    let terms = PortTerms { link: rate(1_000_000), start: Time::ORIGIN, measures: false };
    examples(|kind: &BuiltInRateControl| kind.build(&terms).is_ok());
    let algorithm = &BuiltInRateControl::examples()[0];
    examples(|kind: &BuiltInCoupling| kind.build(algorithm, terms.link, terms.start).is_ok());
}
