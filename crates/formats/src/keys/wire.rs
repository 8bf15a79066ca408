//! The keys of a line that is more than a rate and a delay: of a link, or of a gate's emulation.

use super::loss::Loss;
use crate::section::{Placed, kinds, section, words};
use std::path::PathBuf;
use tidegate_core::link::Framing;
use tidegate_core::units::Span;

section! {
    /// The rate of a link that was recorded.
    pub(crate) struct Recorded {
        /// File of delivery opportunities in place of a rate: one line with the millisecond of
        /// each, plain or gzip, in the format of mahimahi. Each delivers up to 1500 bytes; after
        /// the last one the file starts again
        trace: Option<PathBuf>,
    }
}

section! {
    /// The length that a packet is charged.
    pub(crate) struct Framed {
        /// Bytes that the link adds to each packet, or a gate's line to each Ethernet frame; below
        /// zero for a link that carries less of it
        overhead: i32 as Integer(-i64::from(Framing::MAX_OVERHEAD), i64::from(Framing::MAX_OVERHEAD)) = "0",
        /// Bytes that a packet or frame takes at least, its overhead included
        mpu: u32 as Integer(0, i64::from(Framing::MAX_MPU)) = "0",
        #[doc = "Whether the link carries ATM cells: 53 bytes for every 48, after the overhead"]
        atm: bool = "false",
    }
}

impl Framed {
    /// Returns the framing.
    pub(crate) fn framing(&self) -> Option<Framing> {
        Framing::new(*self.overhead, *self.mpu, *self.atm).ok()
    }
}

section! {
    /// The conduct of a line beside its rate and its delay.
    pub(crate) struct Wire {
        /// Delay of each packet about `delay`, independently of others; without it, all take the
        /// same
        jitter: Option<Jitter>,
        /// Probability that a packet is lost after it was sent, independently of others; or a model
        /// of loss in bursts
        loss: Loss = "0",
        /// Probability that a packet takes `reorder_delay` longer, so that packets behind it
        /// overtake it
        reorder: f64 = "0",
        /// Extra delay of a packet that is overtaken; required with `reorder`
        reorder_delay: Option<Span>,
        /// Changes of its rate and delay, and outages, in order of time
        change: Vec<Placed<Change>>,
        /// Period of the changes: at the end of each, the link is as at the start, and the changes
        /// come again. Without it, they come once
        repeat: Option<Span>,
    }
}

section! {
    /// A change of a link while packets are sent. What it does not state stays as it is.
    pub(crate) struct Change = "link_change", "Link change" {
        /// When it comes, from the start of the run, of a gate or of a period; later than the change
        /// before it
        at: Span,
        /// Rate from then on, also for the rest of a packet that is being sent
        rate: Option<u64> as Rate,
        /// Propagation delay from then on, of packets whose last bit is sent
        delay: Option<Span>,
        /// State of the link from then on: up or down. While it is down, nothing is sent: packets
        /// wait, and the rest of the one that is being sent follows when it is up again
        state: Option<LinkState>,
    }
}

words! {
    /// State of a link.
    pub enum LinkState {
        /// It sends.
        Up = "up",
        /// It does not.
        Down = "down",
    }
}

kinds! {
    /// The distribution of a delay that differs from packet to packet.
    pub(crate) enum Jitter = "jitter" {
        Uniform,
        Normal,
        Exponential,
        Pareto,
    }
}

section! {
    /// As likely anywhere between `spread` less than the delay and `spread` more, but not below zero.
    pub(crate) struct Uniform = "uniform", "Uniform jitter" {
        /// Largest difference from the delay
        spread: Span,
        order: Order,
    }
}

section! {
    /// Normal about the delay, but not below zero.
    pub(crate) struct Normal = "normal", "Normal jitter" {
        /// Standard deviation
        deviation: Span,
        order: Order,
    }
}

section! {
    /// Exponential beyond the delay.
    pub(crate) struct Exponential = "exponential", "Exponential jitter" {
        /// Mean of what is added to the delay
        mean: Span,
        order: Order,
    }
}

section! {
    /// Pareto beyond the delay, at least mean · (shape - 1) / shape: few packets take much longer.
    pub(crate) struct Pareto = "pareto", "Pareto jitter" {
        /// Mean of what is added to the delay
        mean: Span,
        /// Shape, above 1; up to 2 the variance is infinite
        shape: f64 as Number(1.0, 1000.0) = "2.5",
        order: Order,
    }
}

section! {
    /// The order of packets with jitter.
    pub(crate) struct Order {
        #[doc = "Whether a packet may overtake those in front of it; otherwise it arrives with them at the earliest"]
        reorders: bool = "false",
    }
}
