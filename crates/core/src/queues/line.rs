//! One line for all packets, where they are served in the order in which they arrived.

use super::{NONE, Queued, Queues};
use crate::packet::{FlowIx, Packet};

impl Queues {
    /// Returns true while one line holds all packets.
    #[inline(always)]
    pub(crate) fn is_line(&self) -> bool {
        self.in_line
    }

    /// Holds all packets in one line from now on. Nothing is queued.
    pub(crate) fn form_line(&mut self) {
        debug_assert!(self.is_empty() && self.all_take_part());
        self.in_line = true;
    }

    /// Gives every flow its own queue again; `next` receives each packet in the order of service.
    pub(crate) fn split_line(&mut self, mut next: impl FnMut(&Queued)) {
        self.in_line = false;
        self.packets = 0;
        let latest = self.latest;
        while let Some(queued) = self.line.pop() {
            self.arriving = queued.order;
            self.push(&queued.packet);
            next(&queued);
        }
        (self.arriving, self.latest) = (latest, latest);
    }

    /// Adds a packet to the end of the line, in the order that was announced, which becomes its tag.
    #[inline(always)]
    pub(crate) fn push_in_line(&mut self, packet: &mut Packet) {
        packet.tag = self.arriving;
        let order = self.arriving;
        self.line.push_with(|| Queued { packet: *packet, order, next: NONE, prev: NONE });
        self.packets = self.packets.wrapping_add(1);
    }

    /// Moves the first packet of the line to `packet`. Returns false if there is none.
    #[inline(always)]
    pub(crate) fn pop_in_line(&mut self, packet: &mut Packet) -> bool {
        let Some(first) = self.line.first() else { return false };
        *packet = first.packet;
        self.line.skip();
        self.packets = self.packets.wrapping_sub(1);
        true
    }

    /// The flow of the first packet of the line.
    pub(crate) fn first_in_line(&self) -> Option<FlowIx> {
        self.line.first().map(|first| first.packet.flow)
    }

    /// The flow's packets in the line, first to last.
    pub(super) fn in_line_of(&self, flow: FlowIx) -> impl Iterator<Item = &Queued> {
        self.line.iter().filter(move |queued| queued.packet.flow == flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::BodyId;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const FLOWS: u32 = 4;

    /// The packets in the queues, in the order of arrival: flow, length and order.
    type Model = VecDeque<(FlowIx, u32, u64)>;

    fn check(queues: &Queues, model: &Model) -> Result<(), TestCaseError> {
        for flow in (0..FLOWS).map(FlowIx) {
            let own: Vec<_> = model.iter().filter(|one| one.0 == flow).map(|one| (one.1, one.2)).collect();
            let seen: Vec<_> = queues.of(flow).map(|queued| (queued.packet.len, queued.order)).collect();
            prop_assert_eq!(&seen, &own);
            prop_assert_eq!(queues.packets_of(flow) as usize, own.len());
            prop_assert_eq!(queues.bytes_of(flow), own.iter().map(|one| u64::from(one.0)).sum::<u64>());
            if !queues.is_line() {
                prop_assert_eq!(queues.len(flow) as usize, own.len());
                prop_assert_eq!(queues.first(flow).map(|queued| queued.order), own.first().map(|one| one.1));
                prop_assert_eq!(queues.last(flow).map(|queued| queued.order), own.last().map(|one| one.1));
            }
        }
        prop_assert_eq!(queues.packets() as usize, model.len());
        prop_assert_eq!(queues.bytes(), model.iter().map(|one| u64::from(one.1)).sum::<u64>());
        prop_assert_eq!(queues.is_empty(), model.is_empty());
        Ok(())
    }

    proptest! {
        /// The packets are the same in one line as in queues of flows.
        #[test]
        fn a_line_holds_what_queues_of_flows_hold(
            steps in prop::collection::vec((0..FLOWS, 0u8..8, 1u32..2000), 1..400)
        ) {
            let mut queues = Queues::default();
            queues.grow_to(FLOWS);
            let mut model = Model::new();
            for (order, (flow, what, len)) in steps.into_iter().enumerate() {
                let (flow, order) = (FlowIx(flow), order as u64);
                let mut packet = Packet::new(BodyId(0), len);
                packet.flow = flow;
                match what {
                    0..=3 => {
                        queues.announce(order);
                        if queues.is_line() { queues.push_in_line(&mut packet) } else { queues.push(&packet) }
                        model.push_back((flow, len, order));
                    }
                    4..=5 if queues.is_line() => {
                        prop_assert_eq!(queues.first_in_line(), model.front().map(|one| one.0));
                        let popped = queues.pop_in_line(&mut packet);
                        let expected = model.pop_front();
                        prop_assert_eq!(popped.then_some((packet.flow, packet.len, packet.tag)), expected);
                    }
                    4..=5 => {
                        let first = model.iter().position(|one| one.0 == flow);
                        let popped = queues.pop_first(flow).map(|queued| queued.order);
                        prop_assert_eq!(popped, first.and_then(|at| model.remove(at)).map(|one| one.2));
                    }
                    6 if queues.is_line() => {
                        let mut told = Vec::new();
                        queues.split_line(|queued| told.push((queued.packet.flow, queued.packet.len, queued.order)));
                        prop_assert!(model.iter().eq(&told));
                    }
                    _ if queues.is_empty() => queues.form_line(),
                    _ => {}
                }
                check(&queues, &model)?;
            }
        }
    }
}
