//! RIO (Clark and Fang 1998, Figure 6): two REDs over one queue, one for packets in profile (*in*,
//! green), one for packets out of profile (*out*, red and yellow).
//!
//! An *in* packet is judged by the average number of *in* packets, which *in* packets alone update.
//! A setting chooses the average that judges an *out* packet: that of all packets, as in the paper,
//! which all packets update; of *out* packets, which *out* packets update; of *in* packets; or
//! *both*, the greater of the last two.
//!
//! Choices where the paper leaves one:
//! - Each average decays while there is no packet in the queue that it counts.
//! - Drops of *in* and of *out* packets are spaced apart, each by a count of its own.
//! - Packets that were queued before the dropper was there count in no average of one colour.

use super::early_detection::{
    Average, DropSpacing, Server, Settings, Signal, Slope, ThresholdArgs, Thresholds, check,
};
use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Verdict};
use crate::contract::Refused;
use crate::packet::{Colour, Packet};
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words,
};
use crate::stats::Count;
use crate::units::{Rate, Time};
use alloc::boxed::Box;

words! {
    /// The average by which packets out of profile are judged.
    pub enum Governs {
        /// Average of all packets.
        Total = "total",
        /// Average of packets out of profile.
        Out = "out",
        /// Average of packets in profile.
        In = "in",
        /// The greater of the averages of packets in and out of profile.
        Both = "both",
    }
}

parameters! {
    /// Parameters of RIO.
    #[derive(Copy)]
    pub struct RioParams {
        /// Average queue of *in* packets at or above which they are chosen at random; thresholds in
        /// bytes select byte mode
        min_in: Limit,
        /// Average queue of *in* packets at or above which every one is chosen
        max_in: Limit,
        /// Probability that an *in* packet is chosen as the average approaches `max_in`, above 0
        max_p_in: f64 = 0.02,
        /// Average queue at or above which *out* packets are chosen at random
        min_out: Limit,
        /// Average queue at or above which every *out* packet is chosen
        max_out: Limit,
        /// Probability that an *out* packet is chosen as the average approaches `max_out`, above 0
        max_p_out: f64 = 0.1,
        /// Average by which *out* packets are judged: of all packets, of *out* packets, of *in*
        /// packets, or the greater of the last two
        governs: Governs = Governs::Total,
        /// Weight of one arrival in an average queue (w_q), above 0
        weight: f64 = 0.002,
        /// Longest queue, the packet in service included
        limit: Limit,
        /// Above `max_in` and `max_out`: every packet is chosen, or with a probability that rises
        /// to 1 at twice the threshold
        slope: Slope = Slope::Step,
        /// Congestion signal: drops only; marks of ECN-capable packets where the choice is random,
        /// and drops above (RFC 3168); or marks of ECN-capable packets until the queue is at its
        /// limit
        signal: Signal = Signal::MarkThenDrop,
        /// Length of a typical packet, in which the capacity of an idle link is counted and by
        /// which byte mode scales
        mean_packet: u32 as Size = 500,
    }
}

impl PolicyParams for RioParams {
    // Boxed: a dropper of each flow takes as much as the largest.
    type Policy = Box<Rio>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "rio",
        title: "RIO",
        role: Role::Dropper,
        help: "RED with in and out: drops or marks packets out of profile, which are red or yellow, at shorter average \
               queues than packets in profile, which are green.",
        source: "Clark and Fang 1998, Figure 6",
        params: RioParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Box<Rio>, Refused> {
        let average = Average::new(self.weight);
        Ok(Box::new(Rio {
            settings: Settings::new(Some(self.limit), self.signal, self.mean_packet, self.min_in),
            within: ColourState::new(self.min_in, self.max_in, self.max_p_in, self),
            beyond: ColourState::new(self.min_out, self.max_out, self.max_p_out, self),
            total: average,
            governs: self.governs,
            server: Server::new(self.mean_packet),
        }))
    }

    fn example() -> RioParams {
        RioParams {
            min_in: Limit::Packets(10),
            max_in: Limit::Packets(20),
            max_p_in: 0.02,
            min_out: Limit::Packets(3),
            max_out: Limit::Packets(12),
            max_p_out: 0.2,
            governs: Governs::Both,
            weight: 0.02,
            limit: Limit::Packets(40),
            slope: Slope::Gentle,
            signal: Signal::Mark,
            mean_packet: 1_000,
        }
    }

    fn reads_colours(&self) -> bool {
        true
    }

    fn marking(&self) -> Marking {
        self.signal.marking("signal")
    }

    fn check(&self) -> Result<(), Fault> {
        let stated = [
            ThresholdArgs {
                min: ("min_in", self.min_in),
                max: ("max_in", self.max_in),
                max_p: ("max_p_in", self.max_p_in),
            },
            ThresholdArgs {
                min: ("min_out", self.min_out),
                max: ("max_out", self.max_out),
                max_p: ("max_p_out", self.max_p_out),
            },
        ];
        check(&stated, self.weight, Some(self.limit))
    }
}

/// One of the two REDs.
struct ColourState {
    thresholds: Thresholds,
    average: Average,
    spacing: DropSpacing,
    /// Packets of this profile in the queue.
    queued: Count,
}

impl ColourState {
    fn new(min: Limit, max: Limit, max_p: f64, params: &RioParams) -> ColourState {
        ColourState {
            thresholds: Thresholds::new(min, max, max_p, params.slope),
            average: Average::new(params.weight),
            spacing: DropSpacing::default(),
            queued: Count::default(),
        }
    }
}

/// RIO over one queue.
pub struct Rio {
    settings: Settings,
    /// RED for packets in profile.
    within: ColourState,
    /// RED for packets out of profile.
    beyond: ColourState,
    /// Average of all packets.
    total: Average,
    governs: Governs,
    server: Server,
}

impl Rio {
    fn state_of(&mut self, packet: &Packet) -> &mut ColourState {
        if packet.mark.colour() == Colour::Green { &mut self.within } else { &mut self.beyond }
    }

    /// The average by which packets out of profile are judged.
    fn governing(&self) -> f64 {
        let (within, beyond) = (self.within.average.value(), self.beyond.average.value());
        match self.governs {
            //= clark1998 III.B
            Governs::Total => self.total.value(),
            Governs::Out => beyond,
            Governs::In => within,
            //= clark1998 III.B
            Governs::Both => within.max(beyond),
        }
    }
}

impl Dropper for Rio {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        for average in [&mut self.total, &mut self.within.average, &mut self.beyond.average] {
            average.pass_idle(now, &self.server);
        }
        self.server.set_rate(rate);
    }

    fn looks_at_head(&self) -> bool {
        false
    }

    #[inline]
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let (settings, server) = (self.settings, self.server);
        self.total.arrive(cx.now, settings.length(at.queue), &server);
        let state = self.state_of(packet);
        //= clark1998 A
        let own = state.average.arrive(cx.now, settings.length(state.queued), &server);
        //= clark1998 A
        let average = if packet.mark.colour() == Colour::Green { own } else { self.governing() };
        let state = self.state_of(packet);
        let verdict =
            settings.judge(&state.thresholds, &mut state.spacing, average, (packet.len, at), cx.rng);
        if verdict.on(packet.mark).is_ok() {
            state.queued.add(packet.len);
        }
        verdict
    }

    #[inline]
    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy, _: Left) {
        let state = self.state_of(packet);
        // A packet may have been queued before the dropper was there.
        state.queued.packets = state.queued.packets.saturating_sub(1);
        state.queued.bytes = state.queued.bytes.saturating_sub(u64::from(packet.len));
        if state.queued.packets == 0 {
            state.average.emptied(cx.now);
        }
        if at.queue.packets == 0 {
            self.total.emptied(cx.now);
            (self.within.queued, self.beyond.queued) = (Count::default(), Count::default());
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let (within, governing) = (self.within.average.value(), self.governing());
        show("average_queue", self.total.value());
        show("average_queue_in", within);
        show("average_queue_out", self.beyond.average.value());
        show("drop_probability_in", self.within.thresholds.probability(within));
        show("drop_probability_out", self.beyond.thresholds.probability(governing));
    }
}
