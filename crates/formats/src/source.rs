//! Sources: the packets that a flow sends, and their times.

use crate::application::Application;
use crate::error::{Complaint, Place, Report};
use crate::input_file::file;
use crate::keys::source as keys;
use crate::policy::Chosen;
use crate::prefix::read_prefix;
use crate::record::{OneOf, Shape};
use crate::section::{Key, Placed};
use crate::suggest::brief;
use crate::units::{show_rate, show_time};
use std::path::{Path, PathBuf};
use tidegate_core::classifier::rules::{Direction, Prefix};
use tidegate_core::classifier::{FlowPattern, NotAFlow};
use tidegate_core::endpoint::TransportKind;
use tidegate_core::endpoint::open_loop::SourceKind;
use tidegate_core::units::{Rate, Span};

/// A traffic source. Rates are in bit/s and count whole packets; `times` is a factor on all of a
/// source's rates, 1 for a sender that keeps to them.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Evenly spaced packets.
    Cbr {
        /// Mean rate in bit/s.
        rate: u64,
        /// Factor on the rate.
        times: f64,
    },
    /// Independent, exponential gaps between packets.
    Poisson {
        /// Mean rate in bit/s.
        rate: u64,
        /// Factor on the rate.
        times: f64,
    },
    /// Bursts at the peak rate, separated by exponential silences.
    OnOff {
        /// Mean rate in bit/s.
        rate: u64,
        /// Rate within a burst, in bit/s; at least `rate`.
        peak: u64,
        /// Mean number of packets in a burst (geometric), at least 1.
        burst: f64,
        /// Factor on both rates.
        times: f64,
    },
    /// Trains of packets, separated by exponential gaps.
    PacketTrain {
        /// Mean rate (AR) in bit/s.
        rate: u64,
        /// Mean number of packets in a train (geometric), at least 1.
        length: f64,
        /// Time between packets of a train; `None` for half the mean spacing of packets.
        gap: Option<Span>,
        /// Factor on the rate.
        times: f64,
    },
    /// Always has packets to send.
    Greedy {
        /// Packets kept in the flow's first queue.
        window: u64,
    },
    /// The data of a connection.
    Sender {
        /// The transport that makes both ends of the connection.
        transport: Chosen<TransportKind>,
        /// The application that supplies the data.
        application: Application,
    },
    /// The answers of a connection; its data are those of the group before.
    Receiver {
        /// The transport that makes both ends of the connection.
        transport: Chosen<TransportKind>,
        /// The largest packet of data, in bytes.
        size: u32,
    },
    /// Packets of a file of times and sizes.
    Trace {
        /// The file, resolved against the scenario's folder; it could be opened.
        file: PathBuf,
        /// The flow to play, as the file names it; `None` for every flow in it.
        flow: Option<String>,
        /// Flows that are not played.
        omit: Vec<String>,
        /// Speed of playback.
        speed: f64,
        /// Number of times that it is played.
        repeat: u64,
    },
    /// The frames of a video, in a loop.
    Video {
        /// The file, resolved against the scenario's folder; it could be opened.
        file: PathBuf,
        /// Frames per second.
        fps: f64,
        /// The rate in bit/s at which the packets of a frame follow each other; `None` for evenly
        /// over the frame.
        peak: Option<u64>,
        /// The first frame, from 0; `None` for a random one.
        first: Option<u64>,
    },
    /// Packets of a capture.
    Capture {
        /// The file, resolved against the scenario's folder; it could be opened.
        file: PathBuf,
        /// The flows to play; `None` for every flow in it.
        flow: Option<FlowPattern>,
        /// Flows that are not played.
        omit: Vec<FlowPattern>,
        /// The addresses of one side; empty when all that `flow` matches is played.
        inside: Vec<Prefix>,
        /// From these addresses or to them; `None` for the flow's direction through a gate on the
        /// way.
        direction: Option<Direction>,
        /// Speed of playback.
        speed: f64,
        /// Number of times that it is played.
        repeat: u64,
    },
    /// Packets of a source that was registered, in the flow's sizes.
    Registered {
        /// The source.
        source: Chosen<SourceKind>,
    },
}

impl Source {
    /// The mean rate in bit/s, `times` included; `None` where none is stated.
    pub fn mean(&self) -> Option<u64> {
        match self {
            Source::Cbr { rate, times }
            | Source::Poisson { rate, times }
            | Source::OnOff { rate, times, .. }
            | Source::PacketTrain { rate, times, .. } => Some((*rate as f64 * times).round() as u64),
            _ => None,
        }
    }

    /// The source with so many times its rates; it has a [mean](Self::mean).
    pub(crate) fn scaled(mut self, by: f64) -> Source {
        if let Source::Cbr { times, .. }
        | Source::Poisson { times, .. }
        | Source::OnOff { times, .. }
        | Source::PacketTrain { times, .. } = &mut self
        {
            *times *= by;
        }
        self
    }

    /// The rate in bit/s at which its packets follow each other at their closest, as far as that is
    /// stated.
    pub(crate) fn fastest(&self) -> Option<u64> {
        match self {
            Source::OnOff { peak, times, .. } => Some((*peak as f64 * times).round() as u64),
            Source::Video { peak, .. } => *peak,
            source => source.mean(),
        }
    }
}

/// The names of the sources that need no registration.
pub fn built_in_sources() -> Vec<&'static str> {
    let Shape::OneOf(OneOf { options, .. }) = <keys::Source as Key>::shape() else { return Vec::new() };
    options.iter().filter(|option| option.policy.is_none()).map(|option| option.name).collect()
}

/// Returns true if the source has packet sizes of its own.
pub(crate) fn brings_sizes(source: &keys::Source) -> bool {
    matches!(source, keys::Source::Trace(_) | keys::Source::Capture(_))
}

/// Builds the source of a flow with this peak rate for packets of these sizes; `None` after a
/// report.
pub(crate) fn build(
    source: &Placed<keys::Source>,
    sizes: &[u32],
    peak: Option<u64>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Source> {
    Some(match &**source {
        keys::Source::Cbr(keys::Cbr { mean: keys::MeanRate { rate }, factor }) => {
            check_times(rate, factor, report)?;
            Source::Cbr { rate: **rate, times: *factor.times }
        }
        keys::Source::Poisson(keys::Poisson { mean: keys::MeanRate { rate }, factor }) => {
            check_times(rate, factor, report)?;
            Source::Poisson { rate: **rate, times: *factor.times }
        }
        keys::Source::OnOff(keys) => on_off(keys, report)?,
        keys::Source::PacketTrain(keys) => packet_train(keys, sizes, report)?,
        keys::Source::Greedy(keys::Greedy { window }) => Source::Greedy { window: **window },
        keys::Source::Trace(keys::Trace { file: named, flow, omit, playback }) => Source::Trace {
            file: file(named, named.place, base_dir, report)?,
            flow: flow.value.clone(),
            omit: omit.to_vec(),
            speed: *playback.speed,
            repeat: *playback.repeat,
        },
        keys::Source::Video(keys) => video(keys, source.place, sizes, peak, base_dir, report)?,
        keys::Source::Capture(keys::Capture { file: named, flow, omit, inside, direction, playback }) => {
            Source::Capture {
                file: file(named, named.place, base_dir, report)?,
                flow: match flow.as_ref() {
                    Some(text) => Some(flow_pattern(text, flow.place, report)?),
                    None => None,
                },
                omit: omit
                    .iter()
                    .map(|text| flow_pattern(text, omit.place, report))
                    .collect::<Option<_>>()?,
                inside: inside
                    .iter()
                    .map(|text| read_prefix(inside.key, text, inside.place, report))
                    .collect::<Option<_>>()?,
                direction: **direction,
                speed: *playback.speed,
                repeat: *playback.repeat,
            }
        }
        keys::Source::Registered(named) => Source::Registered { source: Chosen::read(Some(named), report)? },
    })
}

fn video(
    keys: &keys::Video,
    place: Place,
    sizes: &[u32],
    flow_peak: Option<u64>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Source> {
    let keys::Video { file: named, fps, spread, peak, first } = keys;
    let file = file(named, named.place, base_dir, report)?;
    if sizes.len() > 1 {
        let complaint =
            Complaint::new("the packets of a video have one `size`; the last packet of a frame has the rest");
        report.add(place, complaint);
        return None;
    }
    let at_peak = **spread == keys::Spread::Peak;
    if !at_peak && peak.is_some() {
        let complaint = Complaint::new("`peak` has no effect on packets that are spread over the frame");
        report.add(peak.place, complaint.help("leave it out, or say `spread = \"peak\"`"));
        return None;
    }
    let rate = peak.or(flow_peak);
    if at_peak && rate.is_none() {
        let complaint =
            Complaint::new("neither this source nor its flow has the `peak` rate at which frames are sent");
        report.add(spread.place, complaint.help("give it a `peak`, as in peak = \"10mbit\""));
        return None;
    }
    Some(Source::Video { file, fps: **fps, peak: rate.filter(|_| at_peak), first: **first })
}

/// Checks that a rate, multiplied by its factor, stays within the range of rates.
fn check_times(rate: &Placed<u64>, factor: &keys::Factor, report: &mut Report) -> Option<()> {
    let keys::Factor { times } = factor;
    if **rate as f64 * **times <= Rate::MAX_BITS_PER_SECOND as f64 {
        return Some(());
    }
    let message = format!(
        "{} times the `{}` of {} is more than {}",
        **times,
        rate.key,
        show_rate(**rate),
        show_rate(Rate::MAX_BITS_PER_SECOND)
    );
    report.add(times.place, Complaint::new(message));
    None
}

fn on_off(keys: &keys::OnOff, report: &mut Report) -> Option<Source> {
    let keys::OnOff { mean: keys::MeanRate { rate }, peak, burst, factor } = keys;
    check_times(peak, factor, report)?;
    if **peak < **rate {
        let message =
            format!("`peak` ({}) is below the mean `rate` ({})", show_rate(**peak), show_rate(**rate));
        report.add(peak.place, Complaint::new(message));
        return None;
    }
    Some(Source::OnOff { rate: **rate, peak: **peak, burst: **burst, times: *factor.times })
}

fn packet_train(keys: &keys::PacketTrain, sizes: &[u32], report: &mut Report) -> Option<Source> {
    let keys::PacketTrain { mean: keys::MeanRate { rate }, length, gap, factor } = keys;
    check_times(rate, factor, report)?;
    let (rate, length, times) = (**rate, **length, *factor.times);
    if let Some(between) = **gap {
        let mean_size = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / sizes.len() as f64;
        let spacing = mean_size * 8.0 / (rate as f64 * times);
        if between.as_secs_f64() * (length - 1.0) > spacing * length {
            let message = format!(
                "trains of {length} packets with `gap` {} between them take longer than {} allows",
                show_time(between),
                show_rate(rate)
            );
            let complaint = Complaint::new(message).help("shorten the gap, or leave it out");
            report.add(gap.place, complaint);
            return None;
        }
    }
    Some(Source::PacketTrain { rate, length, gap: **gap, times })
}

/// Reads a pattern of flows; `None` after a report.
fn flow_pattern(text: &str, place: Place, report: &mut Report) -> Option<FlowPattern> {
    let wrong = |expected: NotAFlow| {
        let complaint = Complaint::new(format!("`{}` is not a flow of a capture", brief(text)));
        report.add(place, complaint.help(expected.to_string()));
    };
    text.parse().map_err(wrong).ok()
}
