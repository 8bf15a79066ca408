//! The registry of built-in switch algorithms.

use super::control::{PortTerms, RateControl};
use crate::contract::Refused;
use crate::params::{PolicyParams, registry};
use alloc::boxed::Box;

macro_rules! algorithms {
    ($($variant:ident($params:path),)+) => {
        registry! {
            /// A built-in switch algorithm with its parameters.
            pub enum BuiltInRateControl {
                $($variant($params),)+
            }
        }

        impl BuiltInRateControl {
            /// Makes a new algorithm at a port, without VCs.
            ///
            /// # Errors
            /// When a value is out of the algorithm's range.
            pub fn build(&self, terms: &PortTerms) -> Result<Box<dyn RateControl>, Refused> {
                match self {
                    $(BuiltInRateControl::$variant(params) => {
                        params.make().map(|made| Box::new(made) as Box<dyn RateControl>)
                    })+
                }
                .map(|mut made| {
                    made.begin(terms);
                    made
                })
            }
        }
    };
}

// The registry: one line per switch algorithm.
algorithms! {
    Efci(super::efci::EfciParams),
    RelativeRate(super::relative_rate::RelativeRateParams),
    Eprca(super::eprca::EprcaParams),
    Aprc(super::aprc::AprcParams),
    Erica(super::erica::EricaParams),
    Ucsc(super::ucsc::UcscParams),
    Phantom(super::phantom::PhantomParams),
}
