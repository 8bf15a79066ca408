//! Packets whose length changes while they wait: the tokens of classes.

use super::Queues;
use crate::packet::FlowIx;
use crate::stats::wrapping_count;

impl Queues {
    /// Gives the flow's first packet, a token, another length.
    pub(crate) fn resize_first(&mut self, flow: FlowIx, len: u32) {
        let queue = &mut self.flows[flow.ix()];
        if let Some(first) = self.slab.get_mut(queue.first as usize) {
            queue.bytes = queue.bytes.wrapping_sub(first.packet.len.into());
            wrapping_count(&mut queue.bytes, len.into());
            first.packet.len = len;
        }
    }
}
