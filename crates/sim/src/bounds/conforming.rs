//! Bounds on the traffic of a flow, from what its source and its envelope guarantee.

use crate::network::{FlowSetup, Network};
use crate::source::Traffic;
use tidegate_core::curves::{ArrivalCurve, Exact, bytes_per_second, seconds, whole};
use tidegate_core::shaper::{Excess, ShaperPlan};

/// Returns the bound on the traffic of a flow at its first port, or the reason for which there is
/// none.
pub(super) fn arrivals(network: &Network, flow: &FlowSetup) -> Result<ArrivalCurve, &'static str> {
    let life = &flow.life;
    match () {
        () if !flow.depths.is_empty() => return Err("it has several destinations"),
        () if flow.paths.is_some() => return Err("its packets take several paths"),
        () if life.set_up => return Err("it is set up by signalling"),
        () if !life.changes.is_empty() => return Err("it changes its contract"),
        () if flow.aal5 => return Err("its packets are sent as cells"),
        () if !flow.stage_terms.is_empty() => return Err("stages on its way change its traffic"),
        () => {}
    }
    let largest = flow.traffic.sizes().map(|sizes| whole(sizes.largest));
    match flow.envelope.filter(|_| network.is_enveloped(flow)) {
        Some(envelope) if envelope.excess != Excess::Mark => {
            return Ok(of_envelope(&envelope, &largest.ok_or("the sizes of its packets are not known")?));
        }
        _ => {}
    }
    match &flow.traffic {
        // Each packet is followed by its own time at the rate.
        Traffic::Cbr { rate, .. } => {
            let largest = largest.ok_or("the sizes of its packets are not known")?;
            Ok(ArrivalCurve::bucket(largest, bytes_per_second(*rate)))
        }
        Traffic::Recorded { .. } => of_recording(flow),
        Traffic::Endpoint(_) => Err("its traffic depends on the network, and it has no envelope"),
        Traffic::Greedy { .. } => Err("it sends as fast as the network lets it, and it has no envelope"),
        Traffic::Outside(_) => Err("its source is of the user's own, and it has no envelope"),
        Traffic::Poisson { .. } | Traffic::Trains { .. } | Traffic::Video(_) => {
            Err("its source is random or a video, and it has no envelope")
        }
    }
}

/// The curve of a token bucket with a peak rate. Departures from a calendar of buckets of time are
/// later by up to the width of one.
fn of_envelope(envelope: &ShaperPlan, largest: &Exact) -> ArrivalCurve {
    let bucket = ArrivalCurve::bucket(whole(envelope.burst), bytes_per_second(envelope.rate));
    let peak = envelope.peak.map(|peak| ArrivalCurve::bucket(largest.clone(), bytes_per_second(peak)));
    let curve = peak.map_or_else(|| bucket.clone(), |peak| bucket.and_at_most(&peak));
    match envelope.calendar {
        Some(width) => curve.behind(&seconds(width)),
        None => curve,
    }
}

/// The bucket at the reserved rate that a recording keeps: the greatest excess over the rate of any
/// of its packets in a row. Of a recording that is repeated twice or more, no interval has a greater
/// excess than one within two repetitions, if a repetition has no more than the rate allows.
fn of_recording(flow: &FlowSetup) -> Result<ArrivalCurve, &'static str> {
    let Traffic::Recorded { flow: recording, speed, repeat } = &flow.traffic else {
        return Err("it plays no recording");
    };
    let reserve = flow.plans.first().and_then(|plan| plan.contract.reserve);
    let reserve = reserve.ok_or("it plays a recording, and neither reserves a rate nor has an envelope")?;
    let rate = bytes_per_second(reserve);
    let period = seconds(recording.period);
    if *repeat > 1 && (*speed != 1.0 || &rate * period < whole(recording.bytes())) {
        return Err("it plays a recording repeatedly, and sends more than it reserves");
    }
    let (mut excess, mut least, mut sent) = (whole(0), None::<Exact>, whole(0));
    let mut index = 0;
    while let Some((at, len)) = recording.packet_at(index, *speed, (*repeat).min(2)) {
        let before = &sent - &rate * seconds(at);
        let lowest = least.map_or_else(|| before.clone(), |least| least.min(before.clone()));
        sent += whole(len);
        excess = excess.max(before + whole(len) - &lowest);
        least = Some(lowest);
        index += 1;
    }
    Ok(ArrivalCurve::bucket(excess, rate))
}
