//! The kinds of traffic source.

use crate::section::{OneOrMore, kinds, section, words};
use std::path::PathBuf;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::endpoint::open_loop::SourceKind;
use tidegate_core::units::Span;

kinds! {
    /// The packets that a flow sends, and their times.
    pub(crate) enum Source = "source" or Registered(SourceKind) {
        Cbr,
        Poisson,
        OnOff,
        PacketTrain,
        Greedy,
        Trace,
        Video,
        Capture,
    }
}

section! {
    /// Packets evenly spaced at the rate.
    pub(crate) struct Cbr = "cbr", "Constant rate" {
        mean: MeanRate,
        factor: Factor,
    }
}

section! {
    /// Packets at the rate with independent, exponential gaps.
    pub(crate) struct Poisson = "poisson", "Poisson" {
        mean: MeanRate,
        factor: Factor,
    }
}

section! {
    /// Bursts at the peak rate, of a geometric number of packets, separated by exponential silences
    /// that give the mean rate.
    #[source = "Pincheira 1994, section 4.1"]
    pub(crate) struct OnOff = "on-off", "On-off" {
        mean: MeanRate,
        /// Rate within a burst, at least `rate`
        peak: u64 as Rate,
        /// Mean number of packets in a burst
        burst: f64 as Number(1.0, 1e6),
        factor: Factor,
    }
}

section! {
    /// Trains of a geometric number of packets, separated by exponential gaps that give the mean
    /// rate (AR).
    #[source = "Zhang 1991, section 4.1.2"]
    pub(crate) struct PacketTrain = "packet-train", "Packet train" {
        mean: MeanRate,
        /// Mean number of packets in a train
        length: f64 as Number(1.0, 1e6) = "5",
        /// Time between packets of a train; without it 1/(2·AR), half the mean spacing
        gap: Option<Span>,
        factor: Factor,
    }
}

section! {
    /// Always has packets to send: keeps a fixed number of packets in its first queue.
    #[responsive = true]
    pub(crate) struct Greedy = "greedy", "Greedy" {
        /// Packets kept in its first queue
        window: u64 as Integer(1, 1_000_000) = "4",
    }
}

section! {
    /// Packets at the times and with the sizes of a file: lines of a time in seconds and a size in
    /// bytes, separated by blanks or a comma. Times count from the first packet, which comes at the
    /// flow's `start`.
    pub(crate) struct Trace = "trace", "Trace" {
        /// File to play
        file: PathBuf,
        /// Flow of a CSV file, as its column `flow` names it; without it, all. Several become flows
        /// NAME/voice and so on
        flow: Option<String>,
        /// Flows of the file that are not played, as its column `flow` names them
        omit: OneOrMore<String>,
        playback: Playback,
    }
}

section! {
    /// Frames of a video in packets of the flow's `size`, the last of a frame shorter; at the end
    /// of the file it starts again. Each flow starts with a random frame at a random phase of the
    /// frame interval.
    #[source = "Pincheira 1994, section 1 (variable bit-rate video)"]
    pub(crate) struct Video = "video", "Video" {
        /// Frame sizes in the order of transmission: lines of a number of bytes, or of columns of
        /// which the third is the type (I, P or B) and the fourth the bytes
        file: PathBuf,
        /// Frames in a second
        fps: f64 as Number(0.001, 1e6),
        /// Times of a frame's packets: evenly over the frame interval, or at the peak rate from its
        /// beginning
        spread: Spread = "frame",
        /// Rate at which the packets of a frame follow each other with `spread = "peak"`; without
        /// it, the flow's `peak`
        peak: Option<u64> as Rate,
        /// Frame with which every flow starts at its `start`, from 0; without it, frame and phase
        /// are random
        first: Option<u64> as Integer(0, 1_000_000_000),
    }
}

section! {
    /// Packets at the times and with the sizes of a packet capture. Times count from its first
    /// packet, which comes at the flow's `start`.
    pub(crate) struct Capture = "capture", "Capture" {
        /// Capture to play
        file: PathBuf,
        /// Flow of it, as `10.0.0.1:5004>10.0.0.2:5004/udp`, or several, with `*` for an address, a
        /// port, an end or the protocol: `10.0.0.1:80>*/tcp`; without it, all. Several become flows
        /// NAME/10.0.0.1:80>10.0.0.2:5004/tcp and so on, each with the given reservation
        flow: Option<String>,
        /// Flows of it that are not played, each written as `flow`
        omit: OneOrMore<String>,
        /// Addresses and prefixes of one side, as `10.0.0.0/8`: only packets in one direction are
        /// played, from one of these addresses to none of them, or the reverse; without it, all
        /// packets that `flow` selects
        inside: OneOrMore<String>,
        /// Direction of the packets that are played: `up` from the addresses of `inside`, `down` to
        /// them. On a route through a gate it is the flow's direction there
        direction: Option<Direction>,
        playback: Playback,
    }
}

section! {
    /// The rate of a source that has one.
    pub(crate) struct MeanRate {
        /// Mean rate, counted in whole packets
        rate: u64 as Rate,
    }
}

section! {
    /// The factor on the rates of a source that has one.
    pub(crate) struct Factor {
        /// Factor on the rates of this source: above 1 it misbehaves and sends that many times its
        /// declared rate
        times: f64 as Number(1.0, 1000.0) = "1",
    }
}

section! {
    /// The playback of a recording.
    pub(crate) struct Playback {
        /// Speed of playback: at 2, gaps are half as long
        speed: f64 as Number(0.001, 1000.0) = "1",
        /// Number of times that it is played, one after another
        repeat: u64 as Integer(1, 1_000_000) = "1",
    }
}

words! {
    /// The times of the packets of a video's frame.
    pub enum Spread {
        /// Evenly over the frame interval.
        Frame = "frame",
        /// At the peak rate from its beginning.
        Peak = "peak",
    }
}
