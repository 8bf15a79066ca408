//! Weighted fair queueing, or packet-by-packet generalized processor sharing (Demers, Keshav and
//! Shenker 1989; Parekh and Gallager 1993): packets are served in the order in which a fluid server
//! would finish them.
//!
//! The fluid server serves all backlogged flows at once, in proportion to their weights. Virtual
//! time advances at the rate of the server over the sum of the weights of the flows that are
//! backlogged **there**. A packet's finish tag is `max(its flow's previous finish tag, virtual time
//! at its arrival) + len / weight`, and no packet leaves later than it would leave the fluid server
//! by more than the transmission time of the longest packet.
//!
//! An arrival takes O(log n), as does each departure from the fluid server.
//!
//! Choices where the papers are silent, in addition to those of fair queueing in general
//! (`fair_queueing.rs`):
//! - A packet gets its finish tag when it arrives, and keeps it. A change of the weight applies to
//!   packets that arrive later; the fluid server serves each packet at the weight that its flow had
//!   on its arrival.
//! - The unserved part of a packet that is pushed out leaves the fluid server, unless the flow's
//!   weight has changed in the meantime. A packet that is dropped at the head stays in the fluid
//!   server: clocks keep the advance.
//! - At a port, the fluid server never pauses. It serves the fluid left by a closed flow, and
//!   continues while packets are held back for another reason than a ceiling.
//! - The queued packets of a flow that is held or absent leave the fluid server, and rejoin it with
//!   the flow. Packets that were sent ahead of the fluid server stay in it.
//! - A change of the server's rate applies from then on. When the rate is no longer known, the last
//!   known rate stays.
//!
//! **Trees.** A class receives its service from its parent. The fluid server of a class therefore
//! works by the bytes that the class sends, each packet when its service begins, and pauses with
//! the class (the reference time of Bennett and Zhang 1997, section 4.1). Measured in the bytes
//! that the class has sent, it is a server of constant rate, so theorem 1 of Parekh and Gallager
//! holds there: a packet of a flow of the class has left before the class has sent another longest
//! packet after the fluid server is done with it.
//!
//! A member that is a class has only its token here. While the token waits and takes part, more may
//! be behind it: the class stays backlogged in the fluid system, and its next token begins where
//! this one ends, also when virtual time has passed that. If nothing is behind it, the fluid server
//! serves the others for that time again.

use super::fair_queueing::FairQueueing;
use super::fair_rule::{FairRule, Order, Tags};
use super::fluid::{Fluid, FluidServer};
use super::traits::ASK_AGAIN;
use super::virtual_time::{UNRESERVED, VirtualTime};
use super::weights::share;
use crate::contract::Refused;
use crate::packet::{BodyId, FlowIx, Packet};
use crate::params::{
    Carry, Fault, FixedPort, KeepsRates, Line, NoLine, NodeContext, Parameters, PolicyParams, PolicyRecord,
    Role, Service, Stamps, Supply, parameters,
};
use crate::units::{Rate, Span, Time};

parameters! {
    /// Parameters of weighted fair queueing.
    #[derive(Copy, Eq)]
    pub struct WfqParams {
        /// Weight of a flow without a reservation, as a rate
        unreserved: Rate = UNRESERVED,
    }
}

impl PolicyParams for WfqParams {
    type Policy = FairQueueing<Wfq>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "wfq",
        title: "Weighted fair queueing",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Shares the link in proportion to the flows' reservations: serves packets in the order in \
               which a fluid server that serves all flows at once (generalized processor sharing) would \
               finish them.",
        source: "Parekh and Gallager 1993, section III; Demers, Keshav and Shenker 1989",
        params: WfqParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: true,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<FairQueueing<Wfq>, Refused> {
        Ok(FairQueueing::new(Wfq::default(), self.unreserved))
    }

    /// Parekh and Gallager 1993, theorem 1.
    fn keeps_rates(&self) -> Option<KeepsRates> {
        Some(KeepsRates { in_classes: false, longest_packet: None })
    }

    fn returns_as_newcomers(&self) -> bool {
        true
    }

    /// A packet leaves by the time at which a server of the flow's share would have finished it, and
    /// L / C, L being the largest packet of any flow (Parekh and Gallager 1993, theorem 1).
    fn line(&self, port: &FixedPort<'_>, index: usize) -> Result<Line, NoLine> {
        let rule = port.has_whole_link().map(|()| {
            let (share, late) = (share(port, index, self.unreserved), port.largest(|_| true));
            port.own_line(index, share, &late, "WFQ (Parekh and Gallager 1993, theorem 1)")
        });
        port.or_arbitrary(index, rule)
    }

    fn example() -> WfqParams {
        WfqParams { unreserved: UNRESERVED }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        match node.steady || node.supply != Supply::Link {
            true => Ok(()),
            false => Err(Fault::at("unreserved", NO_RATE)),
        }
    }
}

/// The error where the rate of the fluid server is unknown: at a port.
const NO_RATE: &str = "wfq needs a rate that is known at all times, and there is none";

/// The rule of weighted fair queueing: the fluid system.
#[derive(Default)]
pub struct Wfq {
    fluid: FluidServer,
    /// The server's rate as a weight; 0 when it was never known.
    rate: u64,
    /// True if the fluid server works by the packets served; false if it works by the time that
    /// passes.
    follows_service: bool,
    as_of: Option<Time>,
}

impl Wfq {
    /// A time, in ticks, in which no server does more work than fits in 128 bits.
    const SHORT: u64 = 1 << 40;

    /// Returns the longest such time at the server's rate.
    fn longest(&self) -> u64 {
        let most = u128::MAX >> (Rate::FRACTION_BITS + 1);
        u64::try_from(most / u128::from(self.rate.max(1))).unwrap_or(u64::MAX)
    }
}

impl FairRule for Wfq {
    const ORDER: Order = Order::Finish;

    fn set_rate(&mut self, _: Time, rate: Option<Rate>) {
        self.rate = rate.map_or(self.rate, Rate::weight);
    }

    fn set_weight(&mut self, flow: FlowIx, before: Option<Rate>, _: Rate) -> Result<(), Refused> {
        if self.rate == 0 && !self.follows_service {
            return Err(Refused(NO_RATE.into()));
        }
        self.fluid.grow_to(flow);
        if before.is_none() {
            self.fluid.flows[flow.ix()] = Fluid::default();
        }
        Ok(())
    }

    /// Releases the flow; its fluid stays in the fluid system.
    fn release(&mut self, flow: FlowIx, _: Rate) {
        self.fluid.disown(flow);
    }

    fn follow_service(&mut self) {
        self.follows_service = true;
    }

    fn waits(&mut self, flow: FlowIx, waits: bool) {
        self.fluid.waits(flow, waits);
    }

    #[inline]
    fn pass(&mut self, now: Time) {
        if self.follows_service {
            return;
        }
        let mut ticks = now.since(self.as_of.replace(now).unwrap_or(now)).ticks();
        while ticks > 0 && self.fluid.is_backlogged() {
            let step = if ticks <= Wfq::SHORT { ticks } else { ticks.min(self.longest()) };
            self.fluid.work((u128::from(step) << Rate::FRACTION_BITS) * u128::from(self.rate));
            ticks -= step;
        }
    }

    #[inline]
    fn virtual_time(&self) -> VirtualTime {
        self.fluid.virtual_time
    }

    /// The tag of a packet is its finish time in the fluid server less that of the packet before
    /// it, in ticks.
    fn stamp(&mut self, packet: &mut Packet, tags: &mut Tags, queued: bool) {
        let start = self.fluid.start(packet.flow, packet.body == BodyId::TOKEN, queued);
        let end = start.after(packet.len, tags.weight);
        self.fluid.extend(packet.flow, end, tags.weight.weight());
        let before = if queued { tags.last.ticks() } else { end.ticks() };
        debug_assert!(end.ticks() >= before);
        packet.tag = u64::try_from(end.ticks().saturating_sub(before)).unwrap_or(u64::MAX);
        tags.last = VirtualTime::from_ticks(before + u128::from(packet.tag));
        if !queued {
            (tags.start, tags.finish) = (start, tags.last);
        }
    }

    fn served(&mut self, _: &Tags, len: u32) {
        if self.follows_service {
            self.fluid.work(u128::from(len) * Rate::WEIGHT_SCALE);
        }
    }

    /// In a class, which works by the packets served; at a port, the fluid server has gone on.
    fn advance_to(&mut self, start: VirtualTime) {
        if self.follows_service {
            self.fluid.advance_to(start);
        }
    }

    /// Empties the fluid server of a class: it still holds the fluid of packets that were not sent.
    fn end_busy_period(&mut self, _: VirtualTime) {
        if self.follows_service {
            self.fluid.finish();
        }
    }

    fn follow(&self, tags: &mut Tags, next: &Packet) {
        tags.finish = VirtualTime::from_ticks(tags.finish.ticks() + u128::from(next.tag));
        tags.start = tags.finish.before(next.len.into(), tags.weight);
    }

    fn drop_first(&self, tags: &mut Tags, _: &Packet, next: Option<&Packet>) {
        if let Some(next) = next {
            self.follow(tags, next);
        }
    }

    fn drop_last(&mut self, tags: &mut Tags, gone: &Packet, queued: bool) {
        tags.last = VirtualTime::from_ticks(tags.last.ticks() - u128::from(gone.tag));
        self.fluid.shorten(gone.flow, gone.len, tags.weight, queued.then_some(tags.last));
    }

    /// The fluid server may have served a part of the token.
    fn resize(&self, _: &mut Tags, _: u32) -> bool {
        false
    }

    fn weigh(&self, _: &mut Tags, _: impl Iterator<Item = u32>) {}

    fn leave(&mut self, flow: FlowIx, tags: &Tags, bytes: u64) {
        self.fluid.leave(flow, bytes, tags.weight);
    }

    /// In whole ticks, as the tags of queued packets are.
    fn late(&self, tags: &Tags, first: &Packet) -> u128 {
        let least = self.fluid.virtual_time.after(first.len, tags.weight).ticks();
        VirtualTime::from_ticks(least).since(tags.finish)
    }

    fn rejoin(&mut self, flow: FlowIx, tags: &Tags, late: Option<u128>) {
        self.fluid.rejoin(flow, late, tags.weight);
    }

    fn resume(&mut self, flow: FlowIx, tags: &Tags) {
        self.fluid.flows[flow.ix()].last = tags.finish;
    }

    /// Its fluid is still in the fluid server.
    fn resume_ahead(&mut self, flow: FlowIx, tags: &Tags) {
        self.fluid.extend(flow, tags.finish, tags.weight.weight());
    }

    fn resumed(&mut self, at: VirtualTime, _: Option<u32>) {
        self.fluid.advance_to(at);
    }

    fn end(&self, flow: FlowIx, _: &Tags) -> VirtualTime {
        self.fluid.flows[flow.ix()].last
    }

    /// The time at which the fluid server is done with the flow, if no packet arrives; an upper
    /// bound while weights change.
    fn caught_up_at(&self, now: Time, flow: FlowIx, end: VirtualTime, over: Option<Time>) -> Time {
        if self.follows_service {
            return over.unwrap_or_else(|| now + end.span_since(self.fluid.virtual_time).max(ASK_AGAIN));
        }
        let Some(as_of) = self.as_of.filter(|_| self.fluid.flows[flow.ix()].weight > 0) else {
            return now + ASK_AGAIN;
        };
        let work = self.fluid.work_until(end);
        let ticks = work.div_ceil(u128::from(self.rate.max(1)) << Rate::FRACTION_BITS);
        as_of + Span::from_ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    fn memory(&self) -> usize {
        self.fluid.memory()
    }
}
