//! Corrections to a capture, and records left out of it.

use super::error::TracePlace;
use std::fmt;

/// Differences between a trace and its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Packets longer than a link carries, as segmentation offload hands them to a capture.
    pub super_packets: u64,
    /// Segments that they were cut into.
    pub segments: u64,
    /// Bytes of the longest of them.
    pub longest: u32,
    /// Bytes of the longest segment.
    pub longest_segment: u32,
    /// Packets that were in the file more than once: their copies, which were removed.
    pub copies: u64,
    /// Steps of the clock, in the order of the file.
    pub steps: Vec<ClockStep>,
    /// Steps beyond the listed ones.
    pub more_steps: u64,
    /// Records that are not read.
    pub left_out: LeftOut,
}

/// The clock of a capture was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// The first packet after the step.
    pub place: TracePlace,
    /// Size of the step in milliseconds: above zero for forward.
    pub milliseconds: i64,
    /// True if its seconds wrapped to zero after 2³².
    pub wrapped: bool,
}

/// Records of a capture that are not read, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Packets of no bytes.
    pub empty: u64,
    /// Packets of an interface that the file does not describe.
    pub interface: u64,
    /// Packets of a link type that is not supported.
    pub link_type: u64,
    /// Packets without a time, or with one that cannot be read.
    pub timeless: u64,
    /// Places where the file is damaged.
    pub damaged: u64,
}

/// Steps that are listed one by one.
pub(super) const MAX_STEPS: usize = 100;
/// Steps that a sentence lists.
const NAMED: usize = 3;

impl Mended {
    /// Returns notes for readers on the file's packets: one sentence for each kind of correction.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.left_out.total() > 0 {
            said.push(self.left_out.to_string());
        }
        if self.copies > 0 {
            said.push(format!(
                "{} in the file more than once, as in captures of `any` and of mirror ports: the copies were removed",
                counted(self.copies, "packet is", "packets are")
            ));
        }
        if self.super_packets > 0 {
            said.push(format!(
                "{} of up to {} B (segmentation offload: no link carries them) {} cut into {} packets of up to {} B, \
                 the headers repeated",
                counted(self.super_packets, "super-packet", "super-packets"),
                self.longest,
                if self.super_packets == 1 { "was" } else { "were" },
                self.segments,
                self.longest_segment
            ));
        }
        let (wraps, steps): (Vec<&ClockStep>, Vec<&ClockStep>) =
            self.steps.iter().partition(|step| step.wrapped);
        if let Some(first) = wraps.first() {
            said.push(format!(
                "the clock of the capture starts again from zero, after 2³² s, at {}: its seconds were counted on",
                first.place
            ));
        }
        if !steps.is_empty() {
            let mut shown: Vec<String> = steps.iter().take(NAMED).map(|step| step.to_string()).collect();
            let more = steps.len() as u64 + self.more_steps - shown.len() as u64;
            if more > 0 {
                shown.push(format!("{more} more"));
            }
            said.push(format!(
                "the clock of the capture steps: {}; what follows was put one mean gap behind the packet before",
                shown.join("; ")
            ));
        }
        said
    }
}

impl fmt::Display for ClockStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place;
        let way = if self.milliseconds < 0 { "back" } else { "forward" };
        let seconds = self.milliseconds.unsigned_abs() as f64 / 1000.0;
        let (amount, unit) = match seconds {
            0.0..600.0 => (seconds, "s"),
            600.0..7200.0 => (seconds / 60.0, "min"),
            7200.0..172_800.0 => (seconds / 3600.0, "h"),
            172_800.0..63_115_200.0 => (seconds / 86_400.0, "days"),
            _ => (seconds / 31_557_600.0, "years"),
        };
        let amount = (amount * 1000.0).round() / 1000.0;
        write!(f, "{way} by {amount} {unit} at {place}")
    }
}

impl LeftOut {
    /// Returns the number of all of them.
    pub fn total(&self) -> u64 {
        self.empty + self.interface + self.link_type + self.timeless + self.damaged
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            (self.empty, "of no bytes"),
            (self.interface, "of an interface that the file does not describe"),
            (self.link_type, "of a link type that is not supported"),
            (self.timeless, "without a readable time"),
            (self.damaged, "damaged"),
        ];
        let kinds: Vec<String> = kinds
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        let is = counted(self.total(), "record of the file is", "records of the file are");
        write!(f, "{is} left out: {}", kinds.join(", "))
    }
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
