//! What a packet carries from one endpoint or relay to another, beside its length and its mark.

/// The content of a packet, as far as somebody on its way reads it.
///
/// It stands beside the packet's body and takes no memory until a packet has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Nothing that anybody reads: data.
    #[default]
    None,
    /// Three words whose meaning the two ends agree on: a sequence number, a rate, a count of credits.
    Words([u64; 3]),
}
