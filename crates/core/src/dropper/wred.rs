//! WRED: RED over one average queue, with thresholds and a probability for each of the three drop
//! precedences of assured forwarding (RFC 2597, section 4), which are a packet's colours.
//!
//! All packets count in the average and update it, as in deployed routers; colours differ in how
//! long the average queue may be. Drops of each colour are spaced by a count of its own. The
//! choices of RED hold.

use super::early_detection::{
    Average, DropSpacing, Server, Settings, Signal, Slope, ThresholdArgs, Thresholds, check,
};
use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Rate, Time};
use alloc::boxed::Box;

parameters! {
    /// Parameters of WRED.
    #[derive(Copy)]
    pub struct WredParams {
        /// Average queue at or above which green packets are chosen at random; thresholds in bytes
        /// select byte mode
        min_green: Limit,
        /// Average queue at or above which every green packet is chosen
        max_green: Limit,
        /// Probability that a green packet is chosen as the average approaches `max_green`, above 0
        max_p_green: f64 = 0.02,
        /// Average queue at or above which yellow packets are chosen at random
        min_yellow: Limit,
        /// Average queue at or above which every yellow packet is chosen
        max_yellow: Limit,
        /// Probability that a yellow packet is chosen as the average approaches `max_yellow`, above
        /// 0
        max_p_yellow: f64 = 0.05,
        /// Average queue at or above which red packets are chosen at random
        min_red: Limit,
        /// Average queue at or above which every red packet is chosen
        max_red: Limit,
        /// Probability that a red packet is chosen as the average approaches `max_red`, above 0
        max_p_red: f64 = 0.1,
        /// Weight of one arrival in the average queue (w_q), above 0
        weight: f64 = 0.002,
        /// Longest queue, the packet in service included
        limit: Limit,
        /// Above an upper threshold: every packet is chosen, or with a probability that rises to 1
        /// at twice the threshold
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

impl PolicyParams for WredParams {
    // Boxed: a dropper of each flow takes as much as the largest.
    type Policy = Box<Wred>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "wred",
        title: "WRED",
        role: Role::Dropper,
        help: "Weighted RED: drops or marks packets at random by one average queue, with thresholds and a probability for \
               each colour.",
        source: "RFC 2597, section 4; Floyd and Jacobson 1993",
        params: WredParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Box<Wred>, Refused> {
        let thresholds = |min, max, max_p| Thresholds::new(min, max, max_p, self.slope);
        Ok(Box::new(Wred {
            settings: Settings::new(Some(self.limit), self.signal, self.mean_packet, self.min_green),
            thresholds: [
                thresholds(self.min_green, self.max_green, self.max_p_green),
                thresholds(self.min_yellow, self.max_yellow, self.max_p_yellow),
                thresholds(self.min_red, self.max_red, self.max_p_red),
            ],
            server: Server::new(self.mean_packet),
            average: Average::new(self.weight),
            spacings: [DropSpacing::default(); 3],
        }))
    }

    fn example() -> WredParams {
        WredParams {
            min_green: Limit::Packets(12),
            max_green: Limit::Packets(20),
            max_p_green: 0.02,
            min_yellow: Limit::Packets(8),
            max_yellow: Limit::Packets(16),
            max_p_yellow: 0.05,
            min_red: Limit::Packets(4),
            max_red: Limit::Packets(12),
            max_p_red: 0.2,
            weight: 0.02,
            limit: Limit::Packets(40),
            slope: Slope::Gentle,
            signal: Signal::Mark,
            mean_packet: 1_000,
        }
    }

    fn reads_colours(&self) -> bool {
        let green = (self.min_green, self.max_green, self.max_p_green);
        let yellow = (self.min_yellow, self.max_yellow, self.max_p_yellow);
        let red = (self.min_red, self.max_red, self.max_p_red);
        green != yellow || yellow != red
    }

    fn marking(&self) -> Marking {
        self.signal.marking("signal")
    }

    fn check(&self) -> Result<(), Fault> {
        let stated = [
            ThresholdArgs {
                min: ("min_green", self.min_green),
                max: ("max_green", self.max_green),
                max_p: ("max_p_green", self.max_p_green),
            },
            ThresholdArgs {
                min: ("min_yellow", self.min_yellow),
                max: ("max_yellow", self.max_yellow),
                max_p: ("max_p_yellow", self.max_p_yellow),
            },
            ThresholdArgs {
                min: ("min_red", self.min_red),
                max: ("max_red", self.max_red),
                max_p: ("max_p_red", self.max_p_red),
            },
        ];
        check(&stated, self.weight, Some(self.limit))
    }
}

/// WRED over one queue.
pub struct Wred {
    settings: Settings,
    /// By colour.
    thresholds: [Thresholds; 3],
    server: Server,
    average: Average,
    /// By colour.
    spacings: [DropSpacing; 3],
}

impl Dropper for Wred {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.average.pass_idle(now, &self.server);
        self.server.set_rate(rate);
    }

    fn looks_at_head(&self) -> bool {
        false
    }

    #[inline]
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let colour = packet.mark.colour() as usize;
        let average = self.average.arrive(cx.now, self.settings.length(at.queue), &self.server);
        let (thresholds, spacing) = (&self.thresholds[colour], &mut self.spacings[colour]);
        self.settings.judge(thresholds, spacing, average, (packet.len, at), cx.rng)
    }

    #[inline]
    fn left(&mut self, cx: &mut Ctx<'_>, _: &Packet, at: &Occupancy, _: Left) {
        if at.queue.packets == 0 {
            self.average.emptied(cx.now);
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let average = self.average.value();
        show("average_queue", average);
        let names = ["drop_probability_green", "drop_probability_yellow", "drop_probability_red"];
        for (name, thresholds) in names.into_iter().zip(&self.thresholds) {
            show(name, thresholds.probability(average));
        }
    }
}
