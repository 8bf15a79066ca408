//! Gate files: their source, the changes that a running gate can follow, and the plan that the
//! engine carries out.

pub(crate) mod default_gate;
pub(crate) mod last_good;
pub(crate) mod link_speed;
pub(crate) mod losses;
pub(crate) mod oversubscription;
pub(crate) mod plan;
pub(crate) mod promises;
pub(crate) mod source;
pub(crate) mod unmatched;
