//! The keys of the ABR service: the control of rates at ports, and VCs that carry the cells of
//! other connections.

use super::policies::offered;
use crate::section::{Name, ParamsOf, PolicyOf, Selected, section};
use tidegate_core::abr::BuiltInRateControl;
use tidegate_core::abr::coupling::{self, BuiltInCoupling};
use tidegate_core::endpoint::abr::{self, AbrParams};
use tidegate_core::params::{Param, Parameters};

type RateControl = PolicyOf<BuiltInRateControl>;
type Coupling = PolicyOf<BuiltInCoupling>;

offered! {
    BuiltInRateControl: "rate_control", tidegate_core::abr::RECORDS;
    BuiltInCoupling: "vsvd" = coupling::DEFAULT.name, coupling::RECORDS;
}

section! {
    /// The control of rates at the ports of switches.
    pub(crate) struct PortAbr {
        /// Switch algorithm that assigns rates to ABR connections; without it, none
        rate_control: Option<RateControl>,
        /// Virtual source and destination: the port ends the control loops of ABR connections and
        /// starts new ones, which needs `rate_control`; without it, loops pass through
        vsvd: Option<Coupling>,
    }
}

section! {
    /// The control of rates at the ports of a link.
    pub(crate) struct LinkAbr {
        /// Switch algorithm of its ports; without it, that of `port`
        rate_control: Option<RateControl>,
        /// Coupling of control loops at its ports; without it, that of `port`
        vsvd: Option<Coupling>,
    }
}

section! {
    /// The VC of a connection.
    pub(crate) struct ConnectionAbr {
        /// ABR VC that carries the cells of the data, `{}` with all defaults; needs `adaptation`.
        /// Without it, the cells of a packet reach the first port together
        vc: Option<Vc>,
        /// Connection in the other direction whose VC is one with this one's: each direction's RM
        /// cells are turned round into the other's order of cells, at its ACR. Both need `vc`, and
        /// one of them names the other; without it, RM cells go back at once
        backward: Option<Name>,
    }
}

section! {
    /// A VC of the ABR service: the cells of the data wait in a queue of the VC at the sender's
    /// first port, and are sent at the rate that the network allows. One cell in every `nrm` is an
    /// RM cell, which requests that rate. The ports on the route need a switch algorithm, or the
    /// rate never changes.
    #[source = "ATM TM 4.0, sections 5.10.2 to 5.10.5"]
    pub(crate) struct Vc = "vc", "VC" {
        params: ParamsOf<OfVc>,
    }
}

/// The terms of a VC that carries the data of another transport.
#[derive(Clone, Debug)]
pub(crate) enum OfVc {}

impl Selected for OfVc {
    fn params() -> Vec<&'static Param> {
        AbrParams::PARAMS.iter().filter(|param| !abr::OF_OWN_DATA.contains(&param.name)).collect()
    }
}
