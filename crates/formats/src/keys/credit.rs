//! The keys of credit-based flow control.

use crate::section::{Name, ParamsOf, Selected, section};
use tidegate_core::credit::params::CreditParams;
use tidegate_core::params::{Param, Parameters};

section! {
    /// The credit of a port.
    pub(crate) struct PortCredit {
        /// Credit-based flow control from the port to the node at the link's end, `{}` with all
        /// defaults; without it, none
        credit: Option<Credit>,
    }
}

section! {
    /// Credit-based flow control of a link: a packet is sent only when the node at the link's end
    /// has a place for it. Packets without credit wait, hop by hop back to the hosts. Every packet
    /// takes one place. The reverse link carries the credit cells, ahead of its queue.
    #[source = "Kung 1997, section \"Credit-based flow control\""]
    pub(crate) struct Credit = "credit", "Credit" {
        /// Node with the receiver's memory, further along the route of every flow on the link: a
        /// virtual link over switches without credit; without it, the node at the link's end
        to: Option<Name>,
        params: ParamsOf<OfCredit>,
    }
}

/// The credit of a link.
#[derive(Clone, Debug)]
pub(crate) enum OfCredit {}

impl Selected for OfCredit {
    fn params() -> Vec<&'static Param> {
        CreditParams::PARAMS.iter().collect()
    }
}
