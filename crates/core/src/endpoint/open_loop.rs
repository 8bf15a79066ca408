//! Sources that send whatever the network does with their packets, and are written outside this
//! crate. The built-in ones belong to the simulator, which draws their packets without a call.

use crate::contract::Refused;
use crate::params::{NoBuiltIn, PolicyKind};
use crate::rng::Rng;
use crate::units::Span;
use alloc::boxed::Box;
use core::fmt;

/// Kind of a source, as a plan holds it; see [`policies`](crate::policies) for its name in files.
pub type SourceKind = PolicyKind<NoBuiltIn, dyn SourceMaker + Send + Sync>;

/// The packets of one flow.
pub trait PacketSource: Send {
    /// Returns the next packet: the time since the previous one (for the first: since the start of
    /// the flow), and its length in bytes, at least 1 and at most the largest of the flow's sizes.
    /// `None` once there are no more.
    fn next_packet(&mut self) -> Option<(Span, u32)>;
}

/// Makes the source of each flow that names it.
pub trait SourceMaker: fmt::Debug {
    /// Makes the source of a flow of this name with these packet sizes, of which there is at least
    /// one, and its own random stream.
    fn make(&self, flow: &str, sizes: &[u32], rng: Rng) -> Box<dyn PacketSource>;
}

impl SourceKind {
    /// Makes a source of this kind.
    ///
    /// # Errors
    /// When a value is beyond its range.
    pub fn build(&self) -> Result<Box<dyn SourceMaker + Send + Sync>, Refused> {
        self.make_with(|none| match *none {}, |source| source)
    }
}
