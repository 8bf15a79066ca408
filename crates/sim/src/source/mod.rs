//! Traffic of a flow: the times and sizes of its packets.

mod video;

pub use video::{Playing, Spread};

use crate::input::TraceFlow;
use core::any::Any;
use core::fmt;
use std::sync::Arc;
use tidegate_core::endpoint::open_loop::{PacketSource, SourceMaker};
use tidegate_core::endpoint::{Endpoint, EndpointSetup, TransferPackets};
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::PacketSizes;
use tidegate_core::units::{Rate, Span};
use tidegate_formats::Played;
use video::Player;

/// Makes endpoints: a plan's entry for an endpoint that is written outside this crate.
pub trait EndpointFactory: fmt::Debug + Send + Sync {
    /// Creates the endpoint of one flow.
    fn make(&self, setup: EndpointSetup) -> Box<dyn Endpoint>;

    /// Returns the packets of a finite transfer of this many bytes
    /// ([`Transport::packets`](tidegate_core::endpoint::Transport::packets)); `None` for endpoints
    /// without transfers.
    fn packets(&self, bytes: u64) -> Option<TransferPackets> {
        let _ = bytes;
        None
    }

    /// Returns the terms that a flow whose first link has this rate agrees on with stages on its
    /// way ([`Transport::stage_terms`](tidegate_core::endpoint::Transport::stage_terms)); `None` if
    /// it agrees on none.
    fn stage_terms(&self, link: Rate) -> Option<Box<dyn Any>> {
        let _ = link;
        None
    }
}

/// A traffic source's parameters.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Packets spaced by their own transmission time at `rate`; the first one comes at a random
    /// instant of the first spacing, so that equal flows are not synchronized.
    Cbr {
        /// Mean rate.
        rate: Rate,
        /// Packet sizes, drawn with equal chance.
        sizes: Arc<[u32]>,
    },
    /// Exponential gaps.
    Poisson {
        /// Mean rate.
        rate: Rate,
        /// Packet sizes, drawn with equal chance.
        sizes: Arc<[u32]>,
    },
    /// Trains of a geometric number of packets, spaced by `gap` within, with exponential gaps
    /// between: Zhang 1991, section 4.1.2, and the bursty sources of Pincheira 1994, section 4.1.
    /// The mean gap between trains follows from the mean rate: `length · spacing − (length − 1) ·
    /// gap`.
    Trains {
        /// Mean rate.
        rate: Rate,
        /// Mean number of packets in a train.
        length: f64,
        /// Gap between packets of a train.
        gap: Gap,
        /// Packet sizes, drawn with equal chance.
        sizes: Arc<[u32]>,
    },
    /// Always has data to send: keeps `window` packets in its first queue.
    Greedy {
        /// Packets in the first queue.
        window: u32,
        /// Packet sizes, drawn with equal chance.
        sizes: Arc<[u32]>,
    },
    /// Plays back recorded packets.
    Recorded {
        /// The recording.
        flow: Arc<TraceFlow>,
        /// Factor on the recorded speed.
        speed: f64,
        /// Number of times that it is played.
        repeat: u64,
    },
    /// Plays a video repeatedly.
    Video(Playing),
    /// Packets of a source that is written outside this repository.
    Outside(Outside),
    /// Packets from a state machine that reacts to the network, such as one end of a connection.
    Endpoint(Arc<dyn EndpointFactory>),
}

impl Traffic {
    /// Returns the sizes of its packets; `None` where its transport decides, or where it has none.
    pub fn sizes(&self) -> Option<PacketSizes> {
        match self {
            Traffic::Cbr { sizes, .. }
            | Traffic::Poisson { sizes, .. }
            | Traffic::Trains { sizes, .. }
            | Traffic::Greedy { sizes, .. } => PacketSizes::of(sizes.iter().copied()),
            Traffic::Recorded { flow, .. } => PacketSizes::of(flow.packets.iter().map(|(_, len)| *len)),
            // It may send any length up to the largest.
            Traffic::Outside(outside) => PacketSizes::of(outside.sizes.iter().copied())
                .map(|sizes| PacketSizes { smallest: 1, ..sizes }),
            Traffic::Video(playing) => playing.sizes(),
            Traffic::Endpoint(_) => None,
        }
    }

    /// Returns the mean rate, where it is stated.
    pub fn mean_bits_per_second(&self) -> Option<f64> {
        match self {
            Traffic::Cbr { rate, .. } | Traffic::Poisson { rate, .. } | Traffic::Trains { rate, .. } => {
                Some(rate.bits_per_second())
            }
            Traffic::Greedy { .. }
            | Traffic::Recorded { .. }
            | Traffic::Video(_)
            | Traffic::Outside(_)
            | Traffic::Endpoint(_) => None,
        }
    }

    /// Returns the mean rate of a recording and its playing time; `None` without a recording, or
    /// for packets of one time.
    pub(crate) fn played(&self) -> Option<Played> {
        match self {
            Traffic::Recorded { flow, speed, repeat } => {
                let seconds = flow.period.as_secs_f64() / speed;
                (seconds > 0.0).then(|| Played {
                    rate: (flow.bytes() as f64 * 8.0 / seconds).round() as u64,
                    lasts: Span::from_secs_f64(seconds * *repeat as f64),
                })
            }
            Traffic::Video(playing) => {
                Some(Played { rate: playing.mean().round() as u64, lasts: Span::from_ticks(u64::MAX) })
            }
            _ => None,
        }
    }

    /// Returns the size of every packet; 0 when they have several.
    fn only_size(&self) -> u32 {
        match self {
            Traffic::Cbr { sizes, .. }
            | Traffic::Poisson { sizes, .. }
            | Traffic::Trains { sizes, .. }
            | Traffic::Greedy { sizes, .. } => match sizes[..] {
                [one] => one,
                _ => 0,
            },
            Traffic::Recorded { .. } | Traffic::Video(_) | Traffic::Outside(_) | Traffic::Endpoint(_) => 0,
        }
    }
}

/// A source that is written outside this repository, of one flow.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The source.
    pub maker: Arc<dyn SourceMaker + Send + Sync>,
    /// Name of the flow.
    pub flow: Arc<str>,
    /// Packet sizes of the flow, at least one.
    pub sizes: Arc<[u32]>,
}

/// State of a source that has a type of its own.
enum Running {
    /// Playback position of a video.
    Video(Player),
    Outside(Box<dyn PacketSource>),
}

/// Spacing of the packets in a train.
#[derive(Clone, Copy, Debug)]
pub enum Gap {
    /// By a fixed span.
    Fixed(Span),
    /// By a packet's transmission time at this rate.
    AtRate(Rate),
}

/// A running source: a stream of (time since the previous packet, size). What a Poisson source
/// touches comes first.
#[repr(C)]
pub struct Emission {
    rng: Rng,
    /// Mean silence between trains, or mean gap of a Poisson source, in ticks.
    mean: f64,
    /// The size of every packet; 0 when they have several.
    size: u32,
    traffic: Traffic,
    /// Packets left in the current train, or played from the recording.
    position: u64,
    /// Cbr: the size of the previous packet. Recorded: ticks at which it was played.
    last: u64,
    running: Option<Box<Running>>,
}

impl Emission {
    /// Creates the source with this random stream.
    pub fn new(traffic: Traffic, mut rng: Rng) -> Emission {
        let mean = match &traffic {
            Traffic::Poisson { rate, sizes } => mean_time(*rate, sizes),
            Traffic::Trains { rate, length, gap, sizes } => {
                let within = match gap {
                    Gap::Fixed(span) => *span,
                    Gap::AtRate(rate) => mean_time(*rate, sizes),
                };
                //= zhang1991 4.1.2
                let train = mean_time(*rate, sizes).as_secs_f64() * length;
                Span::from_secs_f64(train - within.as_secs_f64() * (length - 1.0))
            }
            _ => Span::ZERO,
        };
        let running = match &traffic {
            Traffic::Video(playing) => Some(Running::Video(Player::new(playing, &mut rng))),
            Traffic::Outside(Outside { maker, flow, sizes }) => {
                Some(Running::Outside(maker.make(flow, sizes, rng.clone())))
            }
            _ => None,
        };
        let (size, mean) = (traffic.only_size(), mean.ticks() as f64);
        Emission { size, traffic, rng, position: 0, last: 0, mean, running: running.map(Box::new) }
    }

    /// Returns the next packet: the time since the previous one (for the first: since the start),
    /// and its size. `None` when there is none, and for traffic without a pattern.
    #[inline(always)]
    pub fn next_packet(&mut self) -> Option<(Span, u32)> {
        if let Traffic::Poisson { sizes, .. } = &self.traffic {
            let gap = self.rng.exponential_of(self.mean);
            let len = if self.size > 0 { self.size } else { draw_size(sizes, &mut self.rng) };
            return Some((gap, len));
        }
        self.next_of_others()
    }

    #[inline(never)]
    fn next_of_others(&mut self) -> Option<(Span, u32)> {
        match &self.traffic {
            Traffic::Cbr { rate, sizes } => {
                let len = draw_size(sizes, &mut self.rng);
                let gap = match self.last {
                    0 => Span::from_ticks(self.rng.below(time_for(*rate, len).ticks())),
                    before => time_for(*rate, before as u32),
                };
                self.last = u64::from(len);
                Some((gap, len))
            }
            Traffic::Trains { length, gap, sizes, .. } => {
                let len = draw_size(sizes, &mut self.rng);
                let gap = if self.position > 0 {
                    self.position -= 1;
                    match gap {
                        Gap::Fixed(span) => *span,
                        Gap::AtRate(rate) => time_for(*rate, self.last as u32),
                    }
                } else {
                    self.position = self.rng.geometric(*length) - 1;
                    self.rng.exponential_of(self.mean)
                };
                self.last = u64::from(len);
                Some((gap, len))
            }
            Traffic::Recorded { flow, speed, repeat } => {
                let (at, len) = flow.packet_at(self.position, *speed, *repeat)?;
                self.position += 1;
                let gap = at - Span::from_ticks(self.last);
                self.last = at.ticks();
                Some((gap, len))
            }
            traffic => match (self.running.as_deref_mut()?, traffic) {
                (Running::Video(player), Traffic::Video(playing)) => player.next_packet(playing),
                (Running::Outside(source), _) => source.next_packet(),
                _ => None,
            },
        }
    }
}

/// Draws one of the sizes, with equal chance.
#[inline]
pub(crate) fn draw_size(sizes: &[u32], rng: &mut Rng) -> u32 {
    match sizes {
        [one] => *one,
        sizes => sizes[rng.below(sizes.len() as u64) as usize],
    }
}

/// Returns a packet's transmission time, at least a tick, so that time advances.
fn time_for(rate: Rate, len: u32) -> Span {
    rate.time_for(len).max(Span::TICK)
}

/// Returns the mean transmission time of packets of these sizes.
fn mean_time(rate: Rate, sizes: &[u32]) -> Span {
    let total: f64 = sizes.iter().map(|len| time_for(rate, *len).as_secs_f64()).sum();
    Span::from_secs_f64(total / sizes.len() as f64)
}
