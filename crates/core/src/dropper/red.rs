//! RED (Floyd and Jacobson 1993): packets are dropped or marked at random, with a probability that
//! rises with the average queue.
//!
//! Choices where the paper leaves one:
//! - The queue is the one that an arriving packet finds, the packet in service included.
//! - `count` is the number of packets since the last one that was chosen, as the paper's text
//!   defines it. Distances are then uniform over 1, 2, …, 1/p_b, as its section VII shows. (Its
//!   Figure 2 increments `count` before it is used, also at the first packet after one that was
//!   chosen: distances then end at 1/p_b − 1.)
//! - Thresholds in bytes are byte mode: the average is in bytes, and p_b is scaled by the packet's
//!   length over `mean_packet`.
//! - m is the idle time over the transmission time of `mean_packet` and not rounded.
//! - The thresholds by default are those of Floyd, "RED: Discussions of Setting Parameters" (1997):
//!   5 packets, and three times as many.
//! - A packet that the queue's limit does not admit updates the average and restarts `count`.
//!
//! `form = "linux"` is the kernel's RED below a shaper (`red_linux.rs`).

use super::early_detection::{
    Average, DropSpacing, Server, Settings, Signal, Slope, ThresholdArgs, Thresholds, check,
};
use super::red_linux::DrawnDistance;
use super::{Dropper, Left, Occupancy};
use crate::context::{Ctx, Verdict};
use crate::contract::Refused;
use crate::packet::Packet;
use crate::params::{
    Carry, Fault, Limit, Marking, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words,
};
use crate::units::{Rate, Time};

parameters! {
    /// Parameters of RED.
    #[derive(Copy)]
    pub struct RedParams {
        /// Average queue at or above which packets are chosen at random; in bytes for byte mode
        min_th: Limit = Limit::Packets(5),
        /// Average queue at or above which every packet is chosen, or a growing share with
        /// `slope = "gentle"`
        max_th: Limit = Limit::Packets(15),
        /// Probability that a packet is chosen as the average queue approaches `max_th`, above 0
        max_p: f64 = 0.1,
        /// Weight of one arrival in the average queue (w_q), above 0
        weight: f64 = 0.002,
        /// Longest queue, the packet in service included; without it, limited only by the switch's
        /// memory
        limit: Option<Limit>,
        /// Above `max_th`: every packet is chosen, or with a probability that rises to 1 at twice
        /// `max_th`
        slope: Slope = Slope::Step,
        /// Congestion signal: drops only; marks of ECN-capable packets where the choice is random,
        /// and drops above (RFC 3168); or marks of ECN-capable packets until the queue is at its
        /// limit
        signal: Signal = Signal::MarkThenDrop,
        /// Length of a typical packet, in which the capacity of an idle link is counted and by
        /// which byte mode scales
        mean_packet: u32 as Size = 500,
        /// Details of the algorithm: those of the paper, or those of Linux below a shaper
        form: Form = Form::Paper,
    }
}

words! {
    /// Details of the algorithm.
    #[derive(Default)]
    pub enum Form {
        /// Those of Floyd and Jacobson.
        #[default]
        Paper = "paper",
        /// Those of Linux below a shaper.
        Linux = "linux",
    }
}

impl PolicyParams for RedParams {
    type Policy = Red;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "red",
        title: "RED",
        role: Role::Dropper,
        help: "Random early detection: drops or marks arriving packets at random, with a probability that rises with the \
               average queue.",
        source: "Floyd and Jacobson 1993",
        params: RedParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Red, Refused> {
        let mut settings = Settings::new(self.limit, self.signal, self.mean_packet, self.min_th);
        let spacing = match self.form {
            Form::Paper => Spacing::Paper(DropSpacing::default()),
            Form::Linux => {
                settings.mean = None;
                Spacing::Linux(DrawnDistance::default())
            }
        };
        Ok(Red {
            settings,
            thresholds: Thresholds::new(self.min_th, self.max_th, self.max_p, self.slope),
            server: Server::new(self.mean_packet),
            average: Average::new(self.weight),
            spacing,
        })
    }

    fn example() -> RedParams {
        RedParams {
            min_th: Limit::Packets(5),
            max_th: Limit::Packets(15),
            max_p: 0.1,
            weight: 0.02,
            limit: Some(Limit::Packets(40)),
            slope: Slope::Gentle,
            signal: Signal::Mark,
            mean_packet: 1_000,
            form: Form::Paper,
        }
    }

    fn marking(&self) -> Marking {
        self.signal.marking("signal")
    }

    fn check(&self) -> Result<(), Fault> {
        let stated = ThresholdArgs {
            min: ("min_th", self.min_th),
            max: ("max_th", self.max_th),
            max_p: ("max_p", self.max_p),
        };
        check(&[stated], self.weight, self.limit)
    }
}

/// The spacing of drops, by the form.
enum Spacing {
    Paper(DropSpacing),
    Linux(DrawnDistance),
}

/// RED over one queue.
pub struct Red {
    settings: Settings,
    thresholds: Thresholds,
    server: Server,
    average: Average,
    spacing: Spacing,
}

impl Dropper for Red {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.average.pass_idle(now, &self.server);
        self.server.set_rate(rate);
    }

    fn looks_at_head(&self) -> bool {
        false
    }

    #[inline]
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let queue = self.settings.length(at.queue);
        let Red { settings, thresholds, average, .. } = self;
        match &mut self.spacing {
            Spacing::Paper(spacing) => {
                let average = average.arrive(cx.now, queue, &self.server);
                settings.judge(thresholds, spacing, average, (packet.len, at), cx.rng)
            }
            Spacing::Linux(spacing) => {
                settings.judge(thresholds, spacing, average.sample(queue), (packet.len, at), cx.rng)
            }
        }
    }

    #[inline]
    fn left(&mut self, cx: &mut Ctx<'_>, _: &Packet, at: &Occupancy, _: Left) {
        if at.queue.packets == 0 {
            self.average.emptied(cx.now);
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("average_queue", self.average.value());
        show("drop_probability", self.thresholds.probability(self.average.value()));
    }
}
