//! May this link's sender send? Credit-based flow control of a link, by VC: no cell is lost for want of a buffer.
//!
//! The Credit Update Protocol has two ends, [`Sender`] and [`Receiver`]. They do no I/O and read no clock: a driver carries
//! cells and messages between them, and hands in the time. [`sizing`] says which buffer a VC needs for a rate.
//!
//! H. T. Kung, Traffic management for high-speed networks, fourth lecture of the International Science Lecture Series,
//! National Academy Press 1997, section "Credit-based flow control".
//!
//! # Model
//!
//! The sender counts the cells of a VC that it has sent (Tx_Cnt), the receiver those that have come (Rx_Cnt) and those that
//! have left its queue, forwarded or dropped (Fwd_Cnt). For each N2 cells that leave, the receiver sends a credit record
//! with Fwd_Cnt. The sender may send
//!
//! `Crd_Bal = Buf_Alloc − (Tx_Cnt − Fwd_Cnt)` (equation 1)
//!
//! cells more. Fwd_Cnt as the sender knows it is never ahead of the receiver's, so that the receiver never has more than
//! Buf_Alloc cells. Counts are cumulative: a credit cell that is lost is made good by the next record of its VCs, and one
//! that comes twice or late does nothing.
//!
//! While cells of a VC are outstanding, the sender sends a credit_check cell with Tx_Cnt at an interval. What the receiver
//! has not got of these cells is lost: it adds Tx_Cnt − Rx_Cnt to Fwd_Cnt and answers with a record. So one check and
//! its answer bring both ends back together, after any loss of data and of credit cells.
//!
//! # What the link must do
//!
//! It delivers the cells and the checks of a VC in order, and none of them twice. All of them, and credit cells, may be
//! lost; credit cells may also be repeated and reordered. Without checks a lost data cell takes its buffer with it for
//! ever, and a lost credit cell the credit for up to N2 cells until the next.
//!
//! # Choices where the paper is silent
//!
//! - Counters have 32 bits and begin with a count that both ends are given.
//! - The interval of checks runs for each VC from its first outstanding cell on. Any interval above zero is right; one
//!   below the RTT sends checks that tell nothing new.
//! - A receiver that finds more than Buf_Alloc cells of a VC in its memory drops the last.
//!
//! # Example
//!
//! A VC has four cells at the receiver, and a record comes for every two that leave.
//!
//! ```
//! use tidegate_core::credit::messages::Counter;
//! use tidegate_core::credit::{Arrival, Receiver, Sender};
//! use tidegate_core::units::{Span, Time};
//!
//! let mut sender = Sender::new(Some(Span::from_millis(1)))?;
//! let mut receiver = Receiver::new();
//! let vc = sender.open(4, Counter::default())?;
//! assert_eq!(receiver.open(4, 2, Counter::default())?, vc);
//!
//! // It uses all its credit; the last cell is lost on the link.
//! let mut now = Time::ORIGIN;
//! for cell in 0..4 {
//!     sender.sent(now, vc)?;
//!     if cell < 3 {
//!         assert_eq!(receiver.arrived(vc), Arrival::Stored);
//!     }
//! }
//! assert!(sender.sent(now, vc).is_err());
//!
//! // Three cells leave, and one record is due, after the second.
//! for _ in 0..3 {
//!     receiver.left(vc);
//! }
//! let credit = receiver.take_credit_cell().expect("two cells have left");
//! sender.credited(&credit, |revived| assert_eq!(revived, vc));
//! assert_eq!(sender.balance(vc), 3);
//!
//! // The check finds the lost cell, and its answer gives the credit back.
//! now = sender.next_check();
//! let check = sender.take_check(now).expect("a cell is outstanding");
//! assert_eq!(receiver.checked(&check), 1);
//! let credit = receiver.take_credit_cell().expect("a check is answered");
//! sender.credited(&credit, |_| ());
//! assert_eq!(sender.balance(vc), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod messages;
mod receiver;
mod sender;
pub mod sizing;

pub use receiver::{Arrival, Receiver};
pub use sender::{MOST_CELLS, NoCredit, Sender};

use sizing::Unsizable;
use thiserror::Error;

/// Credit records in one credit cell, at most (Kung 1997, section "Receiver-oriented adaptive buffer allocation").
pub const RECORDS_PER_CELL: usize = 6;

/// Why an end, or a VC of it, cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// Buf_Alloc and N2 do not go together.
    #[error(transparent)]
    Allocation(#[from] Unsizable),
    /// An allocation that cannot be counted.
    #[error("Buf_Alloc ({buf_alloc}) is not from 1 to {MOST_CELLS} cells")]
    BufAlloc {
        /// In cells.
        buf_alloc: u32,
    },
    /// Checks at no interval.
    #[error("credit_check cells are sent at an interval above zero")]
    NoInterval,
    /// More VCs than have numbers.
    #[error("a link has at most 2^32 VCs")]
    TooManyVcs,
}
