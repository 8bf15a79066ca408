//! Outcomes of requests, as the sources of flows learn of them.

use tidegate_core::admission::Refusal;
use tidegate_core::units::Time;

/// Outcome of a message about a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was set up.
    Granted,
    /// It was refused at this link of the network, for this reason.
    Refused(usize, Refusal),
    /// Its (AR, AI) changed.
    Changed,
    /// The change was refused at this link, for this reason.
    ChangeRefused(usize, Refusal),
    /// A change was due while none could be requested: not set up, or another change under way.
    ChangeMissed,
    /// It was torn down by its source.
    TornDown,
    /// It was torn down by its destination.
    HungUp,
}

impl Answer {
    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Granted => "granted",
            Answer::Refused(..) => "refused",
            Answer::Changed => "changed",
            Answer::ChangeRefused(..) => "change refused",
            Answer::ChangeMissed => "change missed",
            Answer::TornDown => "torn down",
            Answer::HungUp => "hung up",
        }
    }
}

/// An answer, with the time at which the flow's source learned of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Time at which the flow's source learned of it.
    pub at: Time,
    /// Index of the flow.
    pub flow: u32,
    /// The answer.
    pub answer: Answer,
}
