//! Credit-based flow control of a link, per VC: no cell is lost for lack of a buffer.
//!
//! The Credit Update Protocol has two ends, [`Sender`] and [`Receiver`]. They do no I/O and read no
//! clock: a driver carries cells and messages between them, and hands in the time. [`sizing`]
//! computes the buffer that a VC needs for a rate, [`params`] has the settings of a link and what
//! follows from them, and [`stall`] finds a VC that is blocked permanently.
//!
//! H. T. Kung, Traffic management for high-speed networks, fourth lecture of the International
//! Science Lecture Series, National Academy Press 1997, section "Credit-based flow control".
//!
//! # Model
//!
//! The sender counts the cells of a VC that it has sent (Tx_Cnt). The receiver counts those that
//! have arrived (Rx_Cnt) and those that have left its queue, forwarded or dropped (Fwd_Cnt). For
//! each N2 cells that leave, the receiver sends a credit record with Fwd_Cnt. The sender may send
//! up to
//!
//! `Crd_Bal = Buf_Alloc − (Tx_Cnt − Fwd_Cnt)` (equation 1)
//!
//! more cells. The sender's copy of Fwd_Cnt is never ahead of the receiver's, so the receiver never
//! has more than Buf_Alloc cells. Counts are cumulative: the next record of its VCs replaces a lost
//! credit cell, and one that arrives twice or late has no effect.
//!
//! While cells of a VC are outstanding, the sender sends a credit_check cell with Tx_Cnt at an
//! interval. Sent cells that have not reached the receiver by then are lost: it adds Tx_Cnt −
//! Rx_Cnt to Fwd_Cnt and answers with a record. One check and its answer thus synchronise both ends
//! after any loss of data and of credit cells.
//!
//! If many credit cells are lost on the return link, the receiver may repeat each record with the
//! current count ([`Receiver::repeating`]): in places of credit cells that would be empty, and
//! while the return link is idle.
//!
//! # Incremental credits
//!
//! With [`Protocol::Incremental`](params::Protocol) a record holds the number of cells that have
//! left since the previous record, and the sender adds them up. Without loss the result is the
//! same. The credit of a lost credit cell is lost permanently, and a repeated credit cell lets the
//! sender overrun the receiver.
//!
//! # Adaptive allocation
//!
//! At an interval of at least the largest RTT a pool of M cells is divided anew among the VCs, by
//! what each has used since ([`allocation`]). No VC gets less than one cell.
//!
//! - The receiver divides M/2 − TQ − N cells ([`Receiver::allocate`], equations 3 and 4). The cells
//!   that may come after an allocation are bounded by it and by the previous one, so there are
//!   never more than M.
//! - The sender divides what no outstanding cell takes up ([`Sender::allocate`]). It knows its
//!   allocations at once, so nothing has to be kept for the previous allocation.
//!
//! VCs that come from several upstream nodes may share [one pool](output_pool) at the output port by
//! which they leave.
//!
//! The receiver polices a smaller allocation from the time at which the sender has learned of it:
//! after the delay of the control loop, or, where credit cells may be lost, once a credit_check
//! cell says so. Until then it also counts the larger one when it divides the pool.
//!
//! # What the link must do
//!
//! It delivers the cells and the checks of a VC in order, and none of them twice. All of them, and
//! credit cells, may be lost; credit cells may also be repeated and reordered. Without checks the
//! buffer of a lost data cell is lost permanently, and the credit of a lost credit cell, for up to
//! N2 cells, until the next.
//!
//! # Choices where the paper is silent
//!
//! - Counters have 32 bits and begin with a count that both ends know.
//! - The interval of checks runs for each VC from its first outstanding cell. Any interval above
//!   zero is correct; one below the RTT sends checks without new information.
//! - A receiver that finds more than Buf_Alloc cells of a VC in its memory, or more than the pool,
//!   drops the last.
//! - The paper has a formula for the receiver's allocations alone. The sender's are the same with M
//!   − N in place of M/2 − TQ − N, less what outstanding cells take up beyond their new
//!   allocations. A VC's least allocation is then N2, because it would be blocked with less.
//! - M/2 is taken to be the sum of all allocations of one time, at most M/2 − TQ; N is subtracted
//!   because shares are rounded up.
//! - Without checks, credit cells must come within the computed time: a link that may lose them or
//!   be late, and whose receiver allocates, has checks, or is refused ([`params`]).
//! - Where credit cells may be lost, equation (3) has no bound. There the receiver divides only as
//!   many cells as leave each VC room for the largest allocation that its sender may still keep to.
//!
//! # Example
//!
//! A VC has an allocation of four cells at the receiver, and a record is sent for every two that
//! leave.
//!
//! ```
//! use tidegate_core::credit::messages::Counter;
//! use tidegate_core::credit::params::Protocol;
//! use tidegate_core::credit::{Arrival, Receiver, Sender};
//! use tidegate_core::units::{Span, Time};
//!
//! let mut sender = Sender::new(Some(Span::from_millis(1)))?;
//! let mut receiver = Receiver::new(Protocol::Cup, None);
//! let vc = sender.open(4, Counter::default())?;
//! assert_eq!(receiver.open(4, 2, Counter::default())?, vc);
//!
//! // The VC uses all its credit; the last cell is lost on the link.
//! let mut now = Time::ORIGIN;
//! for cell in 0..4 {
//!     sender.sent(now, vc)?;
//!     if cell < 3 {
//!         assert_eq!(receiver.arrived(now, vc), Arrival::Stored);
//!     }
//! }
//! assert!(sender.sent(now, vc).is_err());
//!
//! // Three cells leave, and one record is due, after the second.
//! for _ in 0..3 {
//!     receiver.left(vc);
//! }
//! let credit = receiver.take_credit_cell().expect("two cells have left");
//! sender.credited(now, &credit, |revived, has| assert_eq!((revived, has), (vc, true)));
//! assert_eq!(sender.balance(vc), 3);
//!
//! // The check finds the lost cell, and the answer restores the credit.
//! now = sender.next_check();
//! let check = sender.take_check(now).expect("a cell is outstanding");
//! assert_eq!(receiver.checked(now, &check), 1);
//! let credit = receiver.take_credit_cell().expect("a check is answered");
//! sender.credited(now, &credit, |_, _| ());
//! assert_eq!(sender.balance(vc), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adaptation;
pub mod allocation;
mod choices;
mod link_properties;
pub mod messages;
pub mod output_pool;
pub mod params;
mod receiver;
mod sender;
pub mod sizing;
pub mod stall;

pub use adaptation::{Adaptation, Confirmation};
pub use receiver::{Arrival, Receiver};
pub use sender::{MAX_CELLS, NoCredit, Sender};

use sizing::Unsizable;
use thiserror::Error;

/// Credit records in one credit cell, at most (Kung 1997, section "Receiver-oriented adaptive
/// buffer allocation").
//= kung1997 3.4
pub const RECORDS_PER_CELL: usize = 6;

/// The reason for which an end, or a VC of it, cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// Buf_Alloc and N2 are incompatible.
    #[error(transparent)]
    Allocation(#[from] Unsizable),
    /// Buf_Alloc is out of range.
    #[error("Buf_Alloc ({buf_alloc}) is not from 1 to {MAX_CELLS} cells")]
    BufAlloc {
        /// The allocation in cells.
        buf_alloc: u32,
    },
    /// The interval of checks is zero.
    #[error("credit_check cells are sent at an interval above zero")]
    NoInterval,
    /// There are more VCs than VC numbers.
    #[error("a link has at most 2^32 VCs")]
    TooManyVcs,
}
