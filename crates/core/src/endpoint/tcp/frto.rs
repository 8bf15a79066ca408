//! F-RTO (RFC 5682): detection of timeouts that were needless, in the form for SACK (section 3.1).
//!
//! The first acknowledgement after a timeout is answered by new data. If segments that were sent once,
//! before the timeout, arrive after all, nothing was lost: the windows are restored. If the next
//! acknowledgement shows a gap before the new data instead, all that counts as lost is sent again.

use super::congestion::Congestion;

/// A timeout that may have been needless.
#[derive(Debug)]
pub(super) struct Detection {
    /// Windows before the timeout.
    before: Congestion,
    /// End of the data sent before the timeout.
    sent: u64,
    progress: Progress,
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// The first segment was sent again (step 1).
    SentAgain,
    /// New data have followed (step 2b).
    SentNew,
}

/// An acknowledgement after the timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// SND.UNA has moved.
    pub(super) moved: bool,
    /// All data sent before the timeout are acknowledged.
    pub(super) is_full: bool,
    /// It is a duplicate, or reports segments behind a gap.
    pub(super) shows_gap: bool,
    /// The least end of a segment that it reports and that was sent once.
    pub(super) original: Option<u64>,
}

/// The response to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// The timeout was needless (step 3b).
    Undo,
    /// New data are sent, if there are any and the receiver has room (step 2b).
    SendNew,
    /// Nothing is known yet.
    Wait,
    /// Data were lost (steps 2a and 3a).
    SendLost,
}

impl Detection {
    /// A timeout with the windows `before` it, and of the data sent before the byte `sent`.
    pub(super) fn new(before: Congestion, sent: u64) -> Detection {
        Detection { before, sent, progress: Progress::SentAgain }
    }

    /// The windows before the timeout.
    pub(super) fn before(self) -> Congestion {
        self.before
    }

    /// Judges an acknowledgement.
    pub(super) fn acknowledged(&mut self, answer: Answer) -> Response {
        if answer.original.is_some_and(|end| end <= self.sent) {
            return Response::Undo;
        }
        match self.progress {
            _ if answer.is_full => Response::SendLost,
            Progress::SentAgain if answer.moved => {
                self.progress = Progress::SentNew;
                Response::SendNew
            }
            Progress::SentNew if answer.shows_gap => Response::SendLost,
            Progress::SentAgain | Progress::SentNew => Response::Wait,
        }
    }
}
