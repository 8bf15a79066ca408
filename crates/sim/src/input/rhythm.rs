//! Steady rhythm of the frames of a flow, as in calls, videos and games.
//!
//! Packets that follow each other closely are one frame. Several distances are tried as the limit,
//! because a sender may spread the packets of a frame; the distance with the most regular gaps
//! between frames is used.

use tidegate_core::units::{Span, TICKS_PER_SECOND};

/// Distances below which two packets belong to one frame.
const CLOSE: [Span; 4] =
    [Span::from_micros(500), Span::from_millis(2), Span::from_millis(4), Span::from_millis(8)];
/// Gaps between frames that a rhythm of a call, a video or a game has: 4 to 200 frames a second.
const GAPS: std::ops::RangeInclusive<Span> = Span::from_millis(5)..=Span::from_millis(250);
/// Percent by which a gap may differ from the median and still be regular.
const TOLERANCE: u64 = 30;

/// The rhythm of a flow's frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// The median gap between the starts of two frames.
    pub gap: Span,
    /// Share of the gaps that are within 30 % of it, 0 to 1.
    pub regular: f64,
    /// Mean number of packets in a frame.
    pub packets: f64,
}

/// Returns the rhythm of packets in the order of time; `None` when there are fewer than three
/// frames, or the median gap between them is not within 5 to 250 ms.
pub fn rhythm(packets: &[(Span, u32)]) -> Option<Rhythm> {
    CLOSE.into_iter().filter_map(|close| with(packets, close)).max_by(|a, b| {
        // The first among equals: the smallest distance.
        a.regular.total_cmp(&b.regular).then(b.packets.total_cmp(&a.packets))
    })
}

fn with(packets: &[(Span, u32)], close: Span) -> Option<Rhythm> {
    let mut starts: Vec<Span> = Vec::new();
    let mut before = None;
    for (time, _) in packets {
        if before.is_none_or(|before| *time - before > close) {
            starts.push(*time);
        }
        before = Some(*time);
    }
    let mut gaps: Vec<u64> = starts.windows(2).map(|pair| (pair[1] - pair[0]).ticks()).collect();
    if gaps.len() < 2 {
        return None;
    }
    let half = gaps.len() / 2;
    let middle = *gaps.select_nth_unstable(half).1;
    if !GAPS.contains(&Span::from_ticks(middle)) {
        return None;
    }
    let off = middle / 100 * TOLERANCE;
    let regular = gaps.iter().filter(|gap| gap.abs_diff(middle) <= off).count();
    let (frames, packets) = (starts.len() as f64, packets.len() as f64);
    Some(Rhythm {
        gap: Span::from_ticks(middle),
        regular: regular as f64 / gaps.len() as f64,
        packets: packets / frames,
    })
}

/// Returns the share of the quarter seconds from its first packet to its last in which a flow
/// sends.
pub fn present(packets: &[(Span, u32)]) -> f64 {
    const QUARTER: u64 = TICKS_PER_SECOND / 4;
    let (Some(first), Some(last)) = (packets.first(), packets.last()) else { return 0.0 };
    let quarter = |packet: &(Span, u32)| (packet.0 - first.0).ticks() / QUARTER;
    let (mut count, mut latest) = (0, None);
    for packet in packets {
        let quarter = quarter(packet);
        count += u64::from(latest != Some(quarter));
        latest = Some(quarter);
    }
    count as f64 / (quarter(last) + 1) as f64
}
