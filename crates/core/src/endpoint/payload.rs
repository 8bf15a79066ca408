//! The registry of the contents of packets.

/// The content of a packet, as far as stages and endpoints read it.
///
/// It is kept apart from the packet's body and takes no memory until a packet has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// No content that a stage or an endpoint reads: data.
    #[default]
    None,
    /// Three words whose meaning the two ends agree on: a sequence number, a rate, a count.
    Words([u64; 3]),
    /// A TCP segment's header.
    #[cfg(feature = "tcp")]
    Tcp(super::tcp::Segment),
    /// An RM cell of the ABR service.
    #[cfg(feature = "atm")]
    Rm(crate::abr::cell::RmCell),
    /// A cell of credit in the priority lane of a link, by the number that its maker gave it.
    #[cfg(feature = "atm")]
    Credit(u32),
    /// A credit_check cell on a virtual link, among the packets of its VC.
    #[cfg(feature = "atm")]
    Check(crate::credit::messages::CreditCheck),
}
