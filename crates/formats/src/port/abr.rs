//! The control of ABR connections' rates at ports, as a file states it.

use crate::error::Report;
use crate::keys::port::PortKeys;
use crate::policy::Chosen;
use crate::stage_terms::StageTerms;

/// Reads the switch algorithm, and the coupling of the control loops before and behind the port.
pub(super) fn read(keys: PortKeys<'_>, terms: &mut StageTerms, report: &mut Report) {
    let (rate_control, vsvd) = match keys {
        PortKeys::Switch(port) => (&port.abr.rate_control, &port.abr.vsvd),
        PortKeys::Link(link) => (&link.abr.rate_control, &link.abr.vsvd),
        PortKeys::Host(_) => return,
    };
    terms.set(Chosen::read(rate_control.as_ref(), report));
    terms.set(Chosen::read(vsvd.as_ref(), report));
}
