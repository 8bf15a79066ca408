//! Sources: the packets that a flow sends, and their times.

use crate::application::Application;
use crate::error::{Complaint, Report};
use crate::input_file::file;
use crate::policy::Chosen;
use crate::prefix::read_prefix;
use crate::suggest::brief;
use crate::units::{show_rate, show_time};
use crate::values::Values;
use std::path::{Path, PathBuf};
use tidegate_core::classifier::rules::{Direction, Prefix};
use tidegate_core::classifier::{FlowPattern, NotAFlow};
use tidegate_core::endpoint::BuiltInTransport;
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
        transport: Chosen<BuiltInTransport>,
        /// The application that supplies the data.
        application: Application,
    },
    /// The answers of a connection; its data are those of the group before.
    Receiver {
        /// The transport that makes both ends of the connection.
        transport: Chosen<BuiltInTransport>,
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

/// Returns true if the source has packet sizes of its own.
pub(crate) fn brings_sizes(values: &Values) -> bool {
    matches!(values.section.name, "trace" | "capture")
}

/// Builds the source of a flow with this peak rate for packets of these sizes; `None` after a
/// report.
pub(crate) fn build(
    values: &Values,
    sizes: &[u32],
    peak: Option<u64>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Source> {
    let source = match values.section.name {
        "cbr" => Source::Cbr { rate: mean_rate(values, report)?, times: values.number("times")? },
        "poisson" => Source::Poisson { rate: mean_rate(values, report)?, times: values.number("times")? },
        "on-off" => on_off(values, report)?,
        "packet-train" => packet_train(values, sizes, report)?,
        "greedy" => Source::Greedy { window: values.count("window")? },
        "trace" => Source::Trace {
            file: file(values, base_dir, report)?,
            flow: values.text("flow").map(str::to_owned),
            omit: values.several_texts("omit").into_iter().map(str::to_owned).collect(),
            speed: values.number("speed")?,
            repeat: values.count("repeat")?,
        },
        "video" => video(values, sizes, peak, base_dir, report)?,
        "capture" => Source::Capture {
            file: file(values, base_dir, report)?,
            flow: values
                .text("flow")
                .map(|text| flow_pattern("flow", text, values, report))
                .transpose()
                .ok()?,
            omit: omit(values, report)?,
            inside: inside(values, report)?,
            direction: values.text("direction").map(|way| match way {
                "up" => Direction::Up,
                _ => Direction::Down,
            }),
            speed: values.number("speed")?,
            repeat: values.count("repeat")?,
        },
        _ => return None,
    };
    Some(source)
}

fn video(
    values: &Values,
    sizes: &[u32],
    peak: Option<u64>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Source> {
    let file = file(values, base_dir, report)?;
    if sizes.len() > 1 {
        let complaint =
            Complaint::new("the packets of a video have one `size`; the last packet of a frame has the rest");
        report.add(values.place_of("kind"), complaint);
        return None;
    }
    let at_peak = values.text("spread")? == "peak";
    let own = values.rate("peak");
    if !at_peak && own.is_some() {
        let complaint = Complaint::new("`peak` has no effect on packets that are spread over the frame");
        report.add(values.place_of("peak"), complaint.help("leave it out, or say `spread = \"peak\"`"));
        return None;
    }
    if at_peak && own.or(peak).is_none() {
        let complaint =
            Complaint::new("neither this source nor its flow has the `peak` rate at which frames are sent");
        report.add(values.place_of("spread"), complaint.help("give it a `peak`, as in peak = \"10mbit\""));
        return None;
    }
    let first = values.given("first").then(|| values.count("first"));
    let peak = own.or(peak).filter(|_| at_peak);
    Some(Source::Video { file, fps: values.number("fps")?, peak, first: first.flatten() })
}

fn mean_rate(values: &Values, report: &mut Report) -> Option<u64> {
    let rate = values.rate("rate")?;
    check_times("rate", rate, values, report)?;
    Some(rate)
}

/// Checks that a rate, multiplied by its factor, stays within the range of rates.
fn check_times(name: &str, rate: u64, values: &Values, report: &mut Report) -> Option<()> {
    let times = values.number("times")?;
    if rate as f64 * times <= Rate::MAX_BITS_PER_SECOND as f64 {
        return Some(());
    }
    let message = format!(
        "{times} times the `{name}` of {} is more than {}",
        show_rate(rate),
        show_rate(Rate::MAX_BITS_PER_SECOND)
    );
    report.add(values.place_of("times"), Complaint::new(message));
    None
}

fn on_off(values: &Values, report: &mut Report) -> Option<Source> {
    let (rate, peak) = (values.rate("rate")?, values.rate("peak")?);
    check_times("peak", peak, values, report)?;
    if peak < rate {
        let message = format!("`peak` ({}) is below the mean `rate` ({})", show_rate(peak), show_rate(rate));
        report.add(values.place_of("peak"), Complaint::new(message));
        return None;
    }
    Some(Source::OnOff { rate, peak, burst: values.number("burst")?, times: values.number("times")? })
}

fn packet_train(values: &Values, sizes: &[u32], report: &mut Report) -> Option<Source> {
    let (rate, length) = (mean_rate(values, report)?, values.number("length")?);
    let (gap, times) = (values.time("gap"), values.number("times")?);
    if let Some(gap) = gap {
        let mean_size = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / sizes.len() as f64;
        let spacing = mean_size * 8.0 / (rate as f64 * times);
        if gap.as_secs_f64() * (length - 1.0) > spacing * length {
            let message = format!(
                "trains of {length} packets with `gap` {} between them take longer than {} allows",
                show_time(gap),
                show_rate(rate)
            );
            let complaint = Complaint::new(message).help("shorten the gap, or leave it out");
            report.add(values.place_of("gap"), complaint);
            return None;
        }
    }
    Some(Source::PacketTrain { rate, length, gap, times })
}

fn inside(values: &Values, report: &mut Report) -> Option<Vec<Prefix>> {
    let place = values.place_of("inside");
    values
        .several_texts("inside")
        .into_iter()
        .map(|text| read_prefix("inside", text, place, report))
        .collect()
}

fn omit(values: &Values, report: &mut Report) -> Option<Vec<FlowPattern>> {
    let texts = values.several_texts("omit");
    texts.into_iter().map(|text| flow_pattern("omit", text, values, report).ok()).collect()
}

/// Reads a pattern of flows; an error after a report.
fn flow_pattern(key: &str, text: &str, values: &Values, report: &mut Report) -> Result<FlowPattern, ()> {
    text.parse().map_err(|expected: NotAFlow| {
        let complaint = Complaint::new(format!("`{}` is not a flow of a capture", brief(text)));
        report.add(values.place_of(key), complaint.help(expected.to_string()));
    })
}
