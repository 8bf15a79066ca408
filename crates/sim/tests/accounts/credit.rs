//! Links with credit.

use super::random::check_shares;
use super::{defect, ledger, run};
use std::fmt::Write;
use tidegate_core::rng::Rng;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::results::Table;
use tidegate_sim::world::World;

/// The cells of credit that were lost.
pub fn lost_cells(world: &World<Calendar>) -> u64 {
    world.credit_links().iter().map(|link| link.lost_cells).sum()
}

/// No VC is without credit for more than all of the time, and every cell has a place.
pub fn check<'t>(table: impl Fn(&str) -> &'t Table, world: &World<Calendar>) -> Result<(), String> {
    check_shares(table("credit_vcs"), "without_credit")?;
    let links = world.credit_links();
    let overrun = links.iter().find(|link| link.dropped > 0 && link.duplicated_cells == 0);
    overrun.map_or(Ok(()), |link| Err(format!("cells without a place: {link:?}")))
}

/// Credit of a link, for some of them.
pub fn of_link(rng: &mut Rng, text: &mut String) {
    if rng.chance(0.2) {
        let check = ["", ", check = \"0s\""][rng.below(2) as usize];
        writeln!(text, "credit = {{ buffer = {}{check} }}", 2 + rng.below(20)).unwrap();
    }
}

/// Drops at a switch whose memory is shared with credit count for the flow, both before and behind
/// its envelope.
#[test]
fn a_packet_refused_before_its_envelope_counts_as_dropped() {
    let network = defect("credit-envelope-drops-uncounted.toml");
    let world = run(&network, 1, u64::MAX).unwrap();
    let (record, link) = (&world.records()[0], world.link(0));
    assert!(link.dropped > 100);
    assert_eq!(record.dropped, link.dropped);
    ledger::check(&network, &world).unwrap();
}

/// A VC that has no credit from before the warm-up to the end has none for all of the measured
/// time, and no more.
#[test]
fn a_vc_is_without_credit_for_at_most_all_of_the_time() {
    let network = defect("without-credit-above-1.toml");
    let world = run(&network, 1, u64::MAX).unwrap();
    let without: Vec<_> = world.credit_vcs().iter().map(|vc| vc.without_credit).collect();
    assert_eq!(without.iter().max(), Some(&world.measured()));
}
