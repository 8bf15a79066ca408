//! The square law of RFC 9332, section 2.1: with sources that do not respond, the share of L4S
//! packets that are marked is k times the root of the share of Classic packets that are dropped.

use super::world;
use crate::common::lines::Lines;
use crate::common::rate;
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::Value;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

/// Shares of L4S packets marked and of Classic packets dropped, beyond the first seconds, while
/// Classic packets come at a rate of which `excess` must be dropped, a tenth sooner or later than
/// regularly: the base probability then stays near its mean, of which the square is taken. Few L4S
/// packets come: their own queue marks none.
fn shares(k: f64, excess: f64, seed: u64) -> (f64, f64) {
    let link = rate(50_000_000);
    let mut lines = Lines::new(world(&[("k", Value::Number(k))]), &[link]);
    lines.world.audited = false;
    let (classic, l4s) =
        (lines.world.open(0, &FlowPlan::default()), lines.world.open(0, &FlowPlan::default()));
    let mut rng = Rng::named(seed, "square law");
    let (warm, end) = (Time::ORIGIN + Span::from_secs(20), Time::ORIGIN + Span::from_secs(140));
    let mean = |len: u32, load: f64| Span::from_ticks((link.time_for(len).ticks() as f64 / load) as u64);
    let gaps = [mean(1000, 0.97 / (1.0 - excess)), mean(100, 0.03)];
    let gap = |rng: &mut Rng, which: usize| {
        Span::from_ticks((gaps[which].ticks() as f64 * (0.9 + 0.2 * rng.unit())) as u64)
    };
    let mut next = [0, 1].map(|which| lines.world.now + gap(&mut rng, which));
    let mut body = 0;
    let mut came = [0.0; 2];
    while next[0].min(next[1]) < end {
        let which = usize::from(next[1] < next[0]);
        lines.run(next[which]);
        let mut packet = Packet::new(BodyId(body), [1000, 100][which]);
        packet.mark = Mark::from_ip(0, which as u8);
        packet.note = u8::from(lines.world.now >= warm);
        came[which] += f64::from(packet.note);
        lines.world.arrive_packet(&[[classic, l4s][which]], packet);
        lines.kick();
        next[which] = lines.world.now + gap(&mut rng, which);
        body += 1;
    }
    lines.drain();
    let marked =
        lines.sent.iter().filter(|sent| sent.packet.note == 1 && sent.packet.mark.ecn() == 3).count();
    let dropped = lines.dropped.iter().filter(|(_, packet, _)| packet.note == 1).count();
    (marked as f64 / came[1], dropped as f64 / came[0])
}

#[test]
fn marks_are_k_times_the_root_of_drops() {
    for (k, excess) in [(2.0, 0.01), (2.0, 0.05), (2.0, 0.2), (1.0, 0.1), (3.0, 0.06)] {
        let (marked, dropped) = shares(k, excess, 1);
        let law = k * dropped.sqrt();
        println!("k {k}: dropped {dropped:.4}, marked {marked:.4}, k √dropped {law:.4}");
        assert!((dropped / excess - 1.0).abs() < 0.05, "{dropped} of {excess}");
        assert!((marked / law - 1.0).abs() < 0.05, "k {k}: marked {marked}, {law} by the law");
    }
}
